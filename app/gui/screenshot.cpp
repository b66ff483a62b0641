// SPDX-License-Identifier: Apache-2.0
#include "app/gui/screenshot.h"

#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/shell/history.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspace.h"
#include "core/base/exitcode.h"
#include "core/base/standardstreams.h"
#include "core/trace/motion.h"
#include "views/common/jobrunner.h"
#include "views/common/paint/picture.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"
#include "views/notebook/notebookview.h"

#include <QAction>
#include <QApplication>
#include <QDockWidget>
#include <QTimer>

#include <algorithm>

namespace retro::app
{

namespace
{

/// Time for deferred layouts and the last repaint after everything has arrived.
constexpr int kSettleMilliseconds = 120;
/// How often that time is waited for views that work; then the picture shows them at work.
constexpr int kMostWaits = 500;

constexpr int kUsage = base::exitCodeOf(base::ErrorCode::Usage);

void goTo(MainWindow& window, const WindowOptions& options)
{
    if (!window.model().hasRun() || !options.step) {
        return;
    }
    const trace::Run& run = window.model().run();
    const std::uint64_t visits = *options.step;
    const auto endOf = [&](std::uint64_t count) {
        const bool isEnd = count > run.visitCount();
        return count == 0 ? 0 : isEnd ? run.eventCount() : run.endOfVisit(static_cast<std::uint32_t>(count - 1));
    };
    window.cursor().moveTo(endOf(visits));
    if (options.stepShare > 0) { // what moves is on its way
        const trace::Pace& pace = window.model().derived<trace::Motion>()->pace();
        window.cursor().glideTo(pace.between(endOf(visits), endOf(visits + 1), options.stepShare));
    }
}

/// Whether a word of a pane's name begins so: "log" is the event log.
bool isNamed(const QDockWidget& dock, const QString& view)
{
    const QStringList words = dock.objectName().section(QLatin1Char('.'), -1).split(QLatin1Char(' '));
    return std::any_of(words.begin(), words.end(),
                       [&](const QString& word) { return word.startsWith(view, Qt::CaseInsensitive); });
}

QDockWidget* dockIn(const Workspace& space, const QString& view)
{
    const auto& docks = space.docks();
    const auto found =
        std::find_if(docks.begin(), docks.end(), [&](const QDockWidget* dock) { return isNamed(*dock, view); });
    return found == docks.end() ? nullptr : *found;
}

/// The dock of that name: of the workspace on screen, else of another one, which comes on screen. Null = there is none.
QDockWidget* bringDock(MainWindow& window, const QString& view)
{
    QStringList ids = MainWindow::workspaceIds();
    ids.prepend(window.workspace().id());
    for (const QString& id : ids) {
        const auto* space = window.findChild<Workspace*>(id);
        QDockWidget* dock = space == nullptr ? nullptr : dockIn(*space, view);
        if (dock != nullptr) {
            window.showWorkspace(id);
            return dock;
        }
    }
    return nullptr;
}

/// Everything between the first answer and the file. GUI thread.
class Photographer final : public QObject
{
public:
    Photographer(MainWindow& window, const WindowOptions& options)
        : m_window(window), m_options(options), m_actions(options.actions)
    {}

    /// A job ended, or there was none: goes on with what is to be done before the picture.
    void proceed()
    {
        if (!m_window.lastError().isEmpty()) {
            leave(m_window.lastError().toStdString(), base::exitCodeOf(m_window.lastErrorCode()));
            return;
        }
        for (views::GraphView* graph : m_window.findChildren<views::GraphView*>()) {
            graph->canvas().pictures().setImmediate(true); // a file has all of them
        }
        if (!m_isPlaced && !place()) {
            return;
        }
        while (!m_actions.isEmpty()) {
            if (!carryOut(m_actions.takeFirst())) {
                return;
            }
        }
        if (bringPane()) {
            m_window.flush();
            QTimer::singleShot(kSettleMilliseconds, this, &Photographer::write);
        }
    }

private:
    /// Triggers an action. False: it is waited for, or the program ends.
    bool carryOut(const QString& id)
    {
        QAction* action = m_window.actions().find(id);
        if (action == nullptr) {
            leave("there is no action '" + id.toStdString() + "'", kUsage);
            return false;
        }
        const bool isPlanned = m_window.plan().plan() != nullptr || !m_window.plan().absence().isEmpty();
        if (!action->isEnabled() && id.startsWith(QLatin1String("plan.")) && !isPlanned &&
            m_waits++ < kMostWaits) { // its plan is being made
            m_actions.prepend(id);
            m_window.flush();
            QTimer::singleShot(kSettleMilliseconds, this, &Photographer::proceed);
            return false;
        }
        if (!action->isEnabled()) {
            leave("the action '" + id.toStdString() + "' is disabled: " + action->toolTip().toStdString(), kUsage);
            return false;
        }
        action->trigger();
        m_window.shell().history().settle(); // a place for the notebook
        return !m_window.isBusy();           // comes back when the answer is there
    }

    static void leave(const std::string& message, int code)
    {
        base::sayErrorLine("retrograde: " + message);
        QApplication::exit(code);
    }

    /// Goes to the step and the node that were asked for.
    bool place()
    {
        m_isPlaced = true;
        goTo(m_window, m_options);
        if (!select()) {
            return false;
        }
        pinNote();
        if (!m_options.history.isEmpty()) {
            m_window.where().showHistory(m_options.history);
        }
        return true;
    }

    bool select()
    {
        if (m_options.selectNode.isEmpty()) {
            return true;
        }
        const std::string name = m_options.selectNode.toStdString();
        const auto node = m_window.model().hasRun() ? m_window.model().graph().findNode(name) : std::nullopt;
        if (!node) {
            leave("the graph has no node '" + name + "'", kUsage);
            return false;
        }
        m_window.selection().selectNode(*node);
        return true;
    }

    void pinNote()
    {
        auto* notebook = m_window.findChild<views::NotebookView*>();
        if (m_options.note.isEmpty() || notebook == nullptr) {
            return;
        }
        views::NotebookModel& items = notebook->items();
        const int row = items.pin({m_window.cursor().position(), m_window.selection().thing()});
        items.setData(items.index(row, views::NotebookModel::CommentColumn), m_options.note, Qt::EditRole);
    }

    /// A dock becomes a window of its own; what lies over the window (the palette) has a size of its own already.
    static void setSize(QWidget& pane, const QSize& size)
    {
        if (auto* dock = qobject_cast<QDockWidget*>(&pane)) {
            dock->setFloating(true);
        } else {
            pane.setFixedSize(size);
        }
        pane.resize(size);
    }

    bool bringPane()
    {
        m_pane = &m_window;
        if (m_options.view.isEmpty()) {
            return true;
        }
        QDockWidget* dock = bringDock(m_window, m_options.view);
        m_pane = dock != nullptr ? dock : m_window.findChild<QWidget*>(m_options.view);
        if (m_pane == nullptr) {
            leave("there is no pane '" + m_options.view.toStdString() + "'", kUsage);
            return false;
        }
        m_pane->show();
        m_pane->raise();
        if (m_options.size.isValid()) {
            setSize(*m_pane, m_options.size);
        }
        return true;
    }

    /// A view that works off this thread (it derives, measures, reads) has not shown its answer yet.
    [[nodiscard]] bool isAnyViewWorking() const
    {
        if (m_window.plan().state() == views::PlanState::Loading) {
            return true;
        }
        const QList<views::JobRunner*> runners = m_window.findChildren<views::JobRunner*>();
        return std::any_of(runners.begin(), runners.end(), [](const auto* runner) { return runner->isRunning(); });
    }

    void write()
    {
        m_window.flush();
        if (isAnyViewWorking() && m_waits++ < kMostWaits) {
            QTimer::singleShot(kSettleMilliseconds, this, &Photographer::write);
            return;
        }
        const auto written = views::writePicture(m_options.screenshot.toStdString(), m_pane->grab().toImage());
        if (written) {
            QApplication::exit(0);
        } else {
            leave(written.error().text(), base::exitCodeOf(written.error().code));
        }
    }

    MainWindow& m_window;
    const WindowOptions& m_options;
    QStringList m_actions; ///< still to be done
    QWidget* m_pane = nullptr;
    bool m_isPlaced = false;
    int m_waits = 0;
};

} // namespace

int takeScreenshot(MainWindow& window, const WindowOptions& options)
{
    Photographer photographer(window, options);
    QObject::connect(&window, &MainWindow::settled, &photographer, [&] { photographer.proceed(); });
    window.show();
    if (!window.isBusy()) { // the welcome page: nothing will settle
        QTimer::singleShot(0, &photographer, [&] { photographer.proceed(); });
    }
    return QApplication::exec();
}

} // namespace retro::app
