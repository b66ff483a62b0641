// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphrefiner.h"

#include "core/layout/exchange.h"
#include "core/layout/layoutkey.h"
#include "views/common/numbertext.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>
#include <QTimer>

#include <string_view>
#include <utility>

namespace retro::views
{

namespace
{

constexpr int kMostReason = 120; // characters of what the program said

QString findProgram()
{
    const QString name = QStringLiteral("retrograde-layout");
    const QString beside = QDir(QCoreApplication::applicationDirPath()).filePath(name);
    return QFileInfo(beside).isExecutable() ? beside : QStandardPaths::findExecutable(name);
}

/// The first line of what the program wrote to its error output, without its name.
QString firstLine(const QByteArray& output)
{
    const QString line = QString::fromUtf8(output.left(output.indexOf('\n')).trimmed());
    return line.section(QStringLiteral(": "), -1).left(kMostReason);
}

} // namespace

GraphRefiner::GraphRefiner(QObject* parent, QString program, RefineLimits limits)
    : QObject(parent), m_program(std::move(program)), m_limits(limits)
{
    m_slow = new QTimer(this);
    m_kill = new QTimer(this);
    for (QTimer* timer : {m_slow, m_kill}) {
        timer->setSingleShot(true);
    }
    connect(m_slow, &QTimer::timeout, this, &GraphRefiner::slow);
    connect(m_kill, &QTimer::timeout, this, [this] {
        fail(tr("Graphviz was stopped after %1 s").arg(fixedText(m_limits.killMilliseconds / 1000.0, 0)));
    });
}

GraphRefiner::~GraphRefiner() { release(); }

void GraphRefiner::start(std::shared_ptr<const GraphScene> scene)
{
    stop();
    if (scene->boxCount() > m_limits.mostBoxes) {
        fail(tr("%1 boxes are shown and Graphviz gets at most %2; close some groups")
                 .arg(countText(scene->boxCount()), countText(m_limits.mostBoxes)));
        return;
    }
    const layout::LayoutInput input = layoutInputOf(*scene);
    const layout::LayoutOptions options = layoutOptionsFor(scene->book->metrics, scene->style);
    m_key = layout::layoutKey(input, options, layout::kAnswerHead);
    if (auto known = m_folder != nullptr ? m_folder->find(m_key, input) : std::nullopt) {
        m_scene = std::move(scene);
        deliver(std::move(*known));
        return;
    }
    if (m_program.isEmpty()) {
        m_program = findProgram();
    }
    if (m_program.isEmpty()) {
        fail(tr("the program retrograde-layout is missing"));
        return;
    }
    m_scene = std::move(scene);
    begin(QByteArray::fromStdString(layout::writeQuestion(input, options)));
}

void GraphRefiner::begin(const QByteArray& question)
{
    m_process = new QProcess(this);
    connect(m_process, &QProcess::readyReadStandardOutput, this, &GraphRefiner::readAnswer);
    connect(m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) {
            fail(tr("the program retrograde-layout cannot be started"));
        }
    });
    connect(m_process, &QProcess::finished, this,
            [this](int code, QProcess::ExitStatus status) { finish(code, status == QProcess::CrashExit); });
    m_slow->start(m_limits.slowMilliseconds);
    m_kill->start(m_limits.killMilliseconds);
    m_process->start(m_program, QStringList());
    if (m_process != nullptr) { // it may have failed at once
        m_process->write(question);
        m_process->closeWriteChannel();
    }
}

void GraphRefiner::stop()
{
    release();
    m_scene = nullptr;
}

/// Lets go of the program: it is killed and ends itself when it is gone; nobody waits for it.
void GraphRefiner::release()
{
    m_slow->stop();
    m_kill->stop();
    m_answer.clear();
    QProcess* process = std::exchange(m_process, nullptr);
    if (process == nullptr) {
        return;
    }
    disconnect(process, nullptr, this, nullptr);
    process->setParent(nullptr);
    if (process->state() == QProcess::NotRunning) {
        process->deleteLater();
    } else {
        connect(process, &QProcess::finished, process, &QObject::deleteLater);
        process->kill();
    }
}

void GraphRefiner::fail(const QString& reason)
{
    stop();
    emit failed(reason);
}

void GraphRefiner::readAnswer()
{
    m_answer += m_process->readAllStandardOutput();
    if (m_answer.size() > m_limits.mostBytes) {
        fail(tr("the answer of Graphviz is too long"));
    }
}

void GraphRefiner::finish(int code, bool hasCrashed)
{
    const QString said = firstLine(m_process->readAllStandardError());
    if (hasCrashed) {
        fail(tr("Graphviz crashed or ran out of memory"));
        return;
    }
    if (code != 0) {
        fail(said.isEmpty() ? tr("Graphviz gave up") : said);
        return;
    }
    m_answer += m_process->readAllStandardOutput();
    auto layout = layout::readAnswer(std::string_view(m_answer.constData(), static_cast<std::size_t>(m_answer.size())),
                                     layoutInputOf(*m_scene));
    if (!layout.ok()) {
        fail(QString::fromStdString(layout.error().message));
        return;
    }
    if (m_folder != nullptr) {
        static_cast<void>(m_folder->add(m_key, *layout)); // without it Graphviz is asked again next time
    }
    deliver(std::move(layout).value());
}

void GraphRefiner::deliver(layout::LayeredLayout layout)
{
    const auto from = m_scene;
    auto to = std::make_shared<GraphScene>(*from);
    to->layout = std::move(layout);
    stop();
    emit refined(from, to);
}

} // namespace retro::views

#include "moc_graphrefiner.cpp"
