// SPDX-License-Identifier: Apache-2.0
// Random actions, clicks, keys, drags and wheels in the window of the sample, in every workspace. Whatever is done, the
// window lives, has a run, and its state is the one that the timeline says; and it may
// be taken down in whatever state it is. Four windows, or as many as fit in RETRO_MONKEY_SECONDS (`./dev sanitize`:
// 60); RETRO_MONKEY_SEED repeats one sequence.
#include <QtTest>

#include "app/gui/window/mainwindow.h"
#include "tests/app/gui/settles.h"

#include <QRandomGenerator>
#include <QTemporaryDir>

using namespace retro;
using tests::kPatience;

namespace
{

constexpr int kActions = 200; ///< in each window
constexpr quint32 kWindows = 4;
constexpr int kCheckEvery = 50;

/// Actions that end the window or leave the program.
bool isLeaving(const QAction& action) { return action.objectName() == QLatin1String("file.quit"); }

/// Closes what an action has opened over the window: menus, dialogs.
void closeOverlays()
{
    for (int i = 0; i < 8 && QApplication::activePopupWidget() != nullptr; ++i) {
        QApplication::activePopupWidget()->close();
    }
    for (int i = 0; i < 8 && QApplication::activeModalWidget() != nullptr; ++i) {
        QApplication::activeModalWidget()->close();
    }
}

class Monkey
{
public:
    Monkey(app::MainWindow& window, quint32 seed) : m_window(window), m_random(seed) {}

    void act()
    {
        switch (below(7)) {
        case 0:
        case 1:
            trigger();
            break;
        case 2:
            click();
            break;
        case 3:
            drag();
            break;
        case 4:
            wheel();
            break;
        case 5:
            key();
            break;
        default:
            other();
        }
    }

private:
    int below(int limit) { return static_cast<int>(m_random.bounded(static_cast<quint32>(limit))); }

    void trigger()
    {
        const std::vector<QAction*>& all = m_window.actions().all();
        QAction* action = all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
        if (!isLeaving(*action) && action->isEnabled()) {
            action->trigger();
        }
    }

    QWidget* target()
    {
        QList<QWidget*> visible;
        for (QWidget* child : m_window.findChildren<QWidget*>()) {
            if (child->isVisible() && !child->isWindow() && !child->size().isEmpty()) {
                visible.append(child);
            }
        }
        return visible.isEmpty() ? &m_window : visible[below(static_cast<int>(visible.size()))];
    }

    QPoint placeIn(const QWidget& widget) { return {below(widget.width()), below(widget.height())}; }

    void click()
    {
        QPointer<QWidget> widget = target();
        const QPoint at = placeIn(*widget);
        const Qt::MouseButton button = below(5) == 0 ? Qt::RightButton : Qt::LeftButton;
        if (below(4) == 0) {
            QTest::mouseDClick(widget, button, {}, at);
        } else {
            QTest::mouseClick(widget, button, below(4) == 0 ? Qt::ControlModifier : Qt::NoModifier, at);
        }
    }

    void drag()
    {
        QPointer<QWidget> widget = target();
        QTest::mousePress(widget, Qt::LeftButton, {}, placeIn(*widget));
        for (int i = 0; i < 4 && widget != nullptr; ++i) {
            QTest::mouseMove(widget, placeIn(*widget));
        }
        if (widget != nullptr) {
            QTest::mouseRelease(widget, Qt::LeftButton, {}, placeIn(*widget));
        }
    }

    void wheel()
    {
        QWidget* widget = target();
        const QPointF at(placeIn(*widget));
        QWheelEvent event(at, widget->mapToGlobal(at), {}, QPoint(0, below(2) == 0 ? 120 : -120), Qt::NoButton,
                          below(3) == 0 ? Qt::ControlModifier : Qt::NoModifier, Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(widget, &event);
    }

    void key()
    {
        static constexpr std::array kKeys{Qt::Key_Left, Qt::Key_Right, Qt::Key_Up,    Qt::Key_Down,   Qt::Key_Tab,
                                          Qt::Key_Home, Qt::Key_End,   Qt::Key_Space, Qt::Key_Enter,  Qt::Key_E,
                                          Qt::Key_C,    Qt::Key_F,     Qt::Key_W,     Qt::Key_S,      Qt::Key_U,
                                          Qt::Key_N,    Qt::Key_0,     Qt::Key_Plus,  Qt::Key_Escape, Qt::Key_Asterisk};
        QWidget* widget =
            QApplication::focusWidget() != nullptr && below(2) == 0 ? QApplication::focusWidget() : target();
        QTest::keyClick(widget, kKeys[static_cast<std::size_t>(below(static_cast<int>(kKeys.size())))],
                        below(4) == 0 ? Qt::ShiftModifier : Qt::NoModifier);
    }

    QString anyOf(const QStringList& names) { return names.at(below(static_cast<int>(names.size()))); }

    void other()
    {
        switch (below(4)) {
        case 0:
            m_window.resize(700 + below(900), 500 + below(500));
            break;
        case 1:
            m_window.showWorkspace(anyOf(app::MainWindow::workspaceIds()));
            break;
        case 2:
            if (m_window.model().hasRun()) {
                m_window.cursor().moveTo(
                    static_cast<std::uint64_t>(below(static_cast<int>(m_window.model().run().eventCount() + 1))));
            }
            break;
        default:
            QTest::qWait(10);
        }
    }

    app::MainWindow& m_window;
    QRandomGenerator m_random;
};

} // namespace

class MonkeyTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::keepSettingsIn(m_settings); }

    void theWindowSurvivesAMonkey()
    {
        bool isSeeded = false;
        const auto seed = static_cast<quint32>(qEnvironmentVariableIntValue("RETRO_MONKEY_SEED", &isSeeded));
        const qint64 asked = 1000LL * qEnvironmentVariableIntValue("RETRO_MONKEY_SECONDS");
        const QString folder = QDir::currentPath();
        QVERIFY(QDir::setCurrent(m_settings.path())); // what is written without a folder lands here
        QElapsedTimer timer;
        timer.start();
        // The short run does the same every time; the long one looks for what nobody thought of.
        for (quint32 window = 1; asked > 0 ? timer.elapsed() < asked : window <= kWindows; ++window) {
            const quint32 other = asked > 0 ? QRandomGenerator::global()->generate() : window;
            play(isSeeded ? seed : other);
            if (QTest::currentTestFailed()) {
                break;
            }
        }
        QDir::setCurrent(folder);
    }

private:
    /// One window, opened, played with, asked for its work, and taken down.
    static void play(quint32 seed)
    {
        qInfo("RETRO_MONKEY_SEED=%u repeats this", seed);
        app::MainWindow window;
        window.resize(1400, 900);
        window.show();
        window.open({});
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        act(window, seed);
        window.actions().at(QStringLiteral("run.stop")).trigger();
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        if (seed % 2 == 0) {
            return; // it must also go just as it is now
        }
        window.show();
        window.open({});
        QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        QVERIFY(window.model().hasRun());
    }

    static void act(app::MainWindow& window, quint32 seed)
    {
        QTimer closer; // of menus and dialogs that wait for an answer
        QObject::connect(&closer, &QTimer::timeout, &closeOverlays);
        closer.start(20);
        Monkey monkey(window, seed);
        for (int i = 1; i <= kActions; ++i) {
            monkey.act();
            QCoreApplication::processEvents();
            closeOverlays();
            if (i % kCheckEvery == 0) {
                window.show();
                window.flush();
                QVERIFY(!window.model().hasRun() || window.model().position() == window.cursor().position());
            }
        }
        closeOverlays();
    }

    QTemporaryDir m_settings;
};

QTEST_MAIN(MonkeyTest)
#include "monkeytest.moc"
