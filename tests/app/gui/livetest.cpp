// SPDX-License-Identifier: Apache-2.0
// Runs that a Python session sends to an open window: nothing listens unasked, the list grows, a run is opened,
// compared and diagnosed, and what is no run of the listener's folder is refused.
#include <QtTest>

#include "app/gui/controllers/diagnosecontroller.h"
#include "app/gui/facts/rundifference.h"
#include "app/gui/live/livecontroller.h"
#include "app/gui/live/liverunsdialog.h"
#include "app/gui/window/mainwindow.h"
#include "core/trace/runfile.h"
#include "tests/app/gui/settles.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/style.h"

#include <QAbstractEventDispatcher>
#include <QCheckBox>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTreeView>

#include <array>
#include <cstring>
#include <memory>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

using namespace retro;
using tests::kPatience;

namespace
{

/// The other end of the socket, as a Python session has it.
class Sender
{
public:
    explicit Sender(const QString& place) : m_socket(::socket(AF_UNIX, SOCK_STREAM, 0))
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const QByteArray name = QFile::encodeName(place);
        std::memcpy(address.sun_path, name.constData(), static_cast<std::size_t>(name.size()));
        m_isConnected = ::connect(m_socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    ~Sender() { ::close(m_socket); }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    [[nodiscard]] bool isConnected() const { return m_isConnected; }
    void say(const QByteArray& text) const
    {
        QCOMPARE(::send(m_socket, text.constData(), static_cast<std::size_t>(text.size()), MSG_NOSIGNAL),
                 static_cast<ssize_t>(text.size()));
    }
    /// The next line; an empty object when the connection ended.
    [[nodiscard]] QJsonObject hear()
    {
        bool isOver = false;
        const bool isThere = QTest::qWaitFor(
            [&] {
                pollfd ready{m_socket, POLLIN, 0};
                while (!isOver && !m_heard.contains('\n') && ::poll(&ready, 1, 0) > 0) {
                    std::array<char, 1024> buffer{};
                    const ssize_t got = ::recv(m_socket, buffer.data(), buffer.size(), 0);
                    isOver = got <= 0;
                    m_heard.append(buffer.data(), std::max<ssize_t>(got, 0));
                }
                return isOver || m_heard.contains('\n');
            },
            kPatience);
        const qsizetype end = m_heard.indexOf('\n');
        if (!isThere || end < 0) {
            return {};
        }
        const QJsonObject said = QJsonDocument::fromJson(m_heard.left(end)).object();
        m_heard.remove(0, end + 1);
        return said;
    }

private:
    int m_socket;
    bool m_isConnected = false;
    QByteArray m_heard;
};

QByteArray runLine(const QString& path)
{
    return QJsonDocument(
               QJsonObject{{"run", path}, {"model", "tiny.onnx"}, {"composite", "epsilon"}, {"target", "out 3"}})
               .toJson(QJsonDocument::Compact) +
           '\n';
}

QPushButton* buttonOf(const app::LiveRunsDialog& dialog, const QString& text)
{
    for (QPushButton* button : dialog.findChildren<QPushButton*>()) {
        if (button->text().remove('&') == text) {
            return button;
        }
    }
    return nullptr;
}

} // namespace

class LiveTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        qputenv("XDG_RUNTIME_DIR", QFile::encodeName(m_session.path()));
        views::Style::install(*qApp);
    }

    void nothingListensUnasked()
    {
        app::MainWindow window;
        QVERIFY(!window.findChild<app::LiveController*>()->listener().isListening());
        window.actions().at("file.live").trigger(); // the list alone
        QVERIFY(!window.findChild<app::LiveController*>()->listener().isListening());
        QVERIFY(!QFileInfo::exists(app::liveFolder()));
    }

    void theListGrowsAndEachRunCanBeOpenedComparedAndDiagnosed()
    {
        app::MainWindow window;
        window.show();
        window.actions().at("file.live").trigger();
        auto* live = window.findChild<app::LiveController*>();
        app::LiveRunsDialog& dialog = *live->dialog();
        dialog.findChild<QCheckBox*>()->click();
        QVERIFY(live->listener().isListening());
        const QString place = live->listener().place();
        struct stat found
        {};
        QCOMPARE(::stat(QFile::encodeName(app::liveFolder()).constData(), &found), 0);
        QCOMPARE(found.st_mode & 0777U, 0700U);

        Sender sender(place);
        QVERIFY(sender.isConnected());
        const QJsonObject greeting = sender.hear();
        QCOMPARE(greeting.value("retrograde").toInt(), 1);
        const QString folder = greeting.value("folder").toString();
        QVERIFY(QFileInfo(folder).isDir());
        QCOMPARE(live->listener().senders(), 1U);
        for (int i = 0; i < 2; ++i) {
            const QString path = QStringLiteral("%1/%2.retro").arg(folder).arg(i);
            QVERIFY(trace::writeRun(path.toStdString(), *tests::makeTinyRun().run).ok());
            sender.say(runLine(path));
            QCOMPARE(sender.hear().value("taken").toString(), QStringLiteral("%1.retro").arg(i));
            QCOMPARE(live->runs().rowCount(), i + 1);
        }
        QCOMPARE(live->runs().index(1, app::LiveRuns::ModelName).data().toString(), QStringLiteral("tiny.onnx"));
        auto* list = dialog.findChild<QTreeView*>();
        QCOMPARE(list->currentIndex().row(), 1); // the newest

        QVERIFY(!buttonOf(dialog, "Compare")->isEnabled()); // there is no run on screen yet
        QSignalSpy settled(&window, &app::MainWindow::settled);
        buttonOf(dialog, "Open")->click();
        QTRY_COMPARE_WITH_TIMEOUT(settled.count(), 1, kPatience);
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        QVERIFY(window.model().hasRun());
        QCOMPARE(window.model().run().eventCount(), tests::makeTinyRun().run->eventCount());
        // It is stepped like any other run, both ways.
        window.actions().at(QStringLiteral("go.first")).trigger();
        const auto first = window.model().position();
        window.actions().at(QStringLiteral("go.forward")).trigger();
        const auto next = window.model().position();
        QVERIFY(next > first);
        window.actions().at(QStringLiteral("go.back")).trigger();
        QCOMPARE(window.model().position(), first);

        QVERIFY(buttonOf(dialog, "Compare")->isEnabled());
        list->setCurrentIndex(live->runs().index(0, 0));
        buttonOf(dialog, "Compare")->click();
        QTRY_VERIFY_WITH_TIMEOUT(window.findChild<app::RunDifferenceDialog*>() != nullptr, kPatience);

        buttonOf(dialog, "Diagnose")->click();
        QTRY_VERIFY_WITH_TIMEOUT(static_cast<bool>(window.diagnosis().state().diagnosis), kPatience);

        dialog.findChild<QCheckBox*>()->click(); // off again
        QVERIFY(!QFileInfo::exists(place));
        QVERIFY(sender.hear().isEmpty());
        QCOMPARE(live->runs().rowCount(), 2); // what came stays
        QVERIFY(QFileInfo::exists(live->runs().pathOf(0)));
    }

    void whatIsNoRunOfTheFolderIsRefused()
    {
        QString folder;
        {
            app::LiveListener listener;
            QVERIFY(listener.start().ok());
            QSignalSpy sent(&listener, &app::LiveListener::sent);
            Sender sender(listener.place());
            folder = sender.hear().value("folder").toString();
            const QString elsewhere = m_session.filePath("elsewhere.retro");
            QVERIFY(trace::writeRun(elsewhere.toStdString(), *tests::makeTinyRun().run).ok());
            QVERIFY(QFile::link(elsewhere, folder + "/link.retro"));
            for (const QByteArray& line :
                 {runLine(elsewhere), runLine(folder + "/../elsewhere.retro"), runLine(folder + "/missing.retro"),
                  runLine(folder), runLine(folder + "/link.retro"), QByteArray("no json\n"), QByteArray("[]\n")}) {
                sender.say(line);
                QVERIFY2(sender.hear().contains("refused"), line.constData());
            }
            QCOMPARE(sent.count(), 0);
            sender.say(QByteArray(200'000, 'x')); // a line without an end
            QVERIFY(sender.hear().isEmpty());
            QTRY_COMPARE(listener.senders(), 0U);
        }
        QVERIFY(!QFileInfo::exists(folder)); // gone with the window
    }

    void hostileSendersEndAndOthersAreHeard()
    {
        app::LiveListener listener;
        QVERIFY(listener.start().ok());
        QSignalSpy sent(&listener, &app::LiveListener::sent);
        Sender patient(listener.place());
        const QString folder = patient.hear().value("folder").toString();
        const QString path = folder + "/good.retro";
        QVERIFY(trace::writeRun(path.toStdString(), *tests::makeTinyRun().run).ok());

        QByteArray noise;
        for (int i = 0; i < 4000; ++i) {
            noise += static_cast<char>(i * 37 % 256);
        }
        const QByteArray deep = QByteArray(30000, '[') + '\n';
        const QByteArray wide = R"({"run":{"run":["x",1e999,null]},"model":)" + QByteArray(20000, '9') + "}\n";
        for (const QByteArray& text : {QByteArray(10'000, '\n'), noise, deep, wide, QByteArray(1000, '\0'),
                                       runLine(path).chopped(5), QByteArray("1000000000\n")}) {
            Sender hostile(listener.place());
            QVERIFY(!hostile.hear().isEmpty());
            hostile.say(text);
            patient.say(runLine(path).chopped(3)); // half a message, and the rest
            patient.say(runLine(path).right(3));
            QVERIFY2(patient.hear().contains("taken"), text.left(40).toPercentEncoding().constData());
        }
        QTRY_COMPARE(listener.senders(), 1U); // those that are gone are seen to be
        QCOMPARE(sent.count(), 7);

        Sender stubborn(listener.place()); // refused too often
        QVERIFY(!stubborn.hear().isEmpty());
        stubborn.say(QByteArray(500, '\n'));
        QTRY_COMPARE(listener.senders(), 1U);

        std::vector<std::unique_ptr<Sender>> many;
        for (int i = 0; i < 40; ++i) {
            many.push_back(std::make_unique<Sender>(listener.place()));
            QCoreApplication::processEvents();
        }
        QTRY_COMPARE(listener.senders(), 16U);
        many.clear();
        QTRY_COMPARE(listener.senders(), 1U);
        patient.say(runLine(path));
        QVERIFY(patient.hear().contains("taken"));
    }

    void withoutDescriptorsItWaits()
    {
        app::LiveListener listener;
        QVERIFY(listener.start().ok());
        const Sender waiting(listener.place());
        rlimit before{};
        QCOMPARE(::getrlimit(RLIMIT_NOFILE, &before), 0);
        const int next = ::dup(0);
        QVERIFY(next > 0);
        ::close(next);
        const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &none), 0);
        int rounds = 0;
        const QMetaObject::Connection counted =
            connect(QAbstractEventDispatcher::instance(), &QAbstractEventDispatcher::awake, this, [&] { ++rounds; });
        QTest::qWait(500);
        disconnect(counted);
        const auto heard = listener.senders();
        QCOMPARE(::setrlimit(RLIMIT_NOFILE, &before), 0);
        QCOMPARE(heard, 0U);
        QVERIFY2(rounds < 500, qPrintable(QString::number(rounds))); // a loop without rest has many thousands
        QTRY_COMPARE_WITH_TIMEOUT(listener.senders(), 1U, kPatience);
    }

    void afterManyRunsTheOldestGo()
    {
        const QTemporaryDir folder;
        app::LiveRuns runs;
        for (int i = 0; i < app::LiveRuns::kMost + 3; ++i) {
            QFile file(folder.filePath(QStringLiteral("%1.retro").arg(i)));
            QVERIFY(file.open(QIODevice::WriteOnly));
            runs.add({file.fileName(), "m", "c", "t"});
        }
        QCOMPARE(runs.rowCount(), app::LiveRuns::kMost);
        QVERIFY(!QFileInfo::exists(folder.filePath("2.retro")));
        QVERIFY(QFileInfo::exists(folder.filePath("3.retro")));
        QCOMPARE(runs.pathOf(0), folder.filePath("3.retro"));
        runs.add({folder.filePath("9.retro"), "m", "c", "t"}); // written once more
        QCOMPARE(runs.rowCount(), app::LiveRuns::kMost);
        QCOMPARE(runs.pathOf(app::LiveRuns::kMost - 1), folder.filePath("9.retro"));
        QVERIFY(QFileInfo::exists(folder.filePath("3.retro")));
    }

    void aFolderThatOthersMayEnterIsNotUsed()
    {
        const QString own = m_session.filePath("open");
        QVERIFY(QDir().mkpath(own + "/retrograde"));
        QVERIFY(::chmod(QFile::encodeName(own + "/retrograde").constData(), 0777) == 0);
        qputenv("XDG_RUNTIME_DIR", QFile::encodeName(own));
        app::LiveListener listener;
        RETRO_REFUSED(listener.start(), base::ErrorCode::Output);
        qputenv("XDG_RUNTIME_DIR", QFile::encodeName(m_session.path()));
    }

private:
    QTemporaryDir m_session;
};

QTEST_MAIN(LiveTest)
#include "livetest.moc"
