// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/exportcontroller.h"

#include "app/common/exportfilm.h"
#include "app/common/exports.h"
#include "app/gui/shell/dockactions.h"
#include "app/gui/window/filefilters.h"
#include "app/gui/window/workspace.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QProgressDialog>
#include <QStackedWidget>

#include <algorithm>
#include <array>

namespace retro::app
{

namespace
{

using views::ActionSpec;

const QString kPane = QStringLiteral("export.pane");
const QString kFilm = QStringLiteral("export.film");
constexpr double kFilmSpeed = 2;   // visits per second, of a film from the window …
constexpr double kFilmLength = 60; // … which is faster where it would last longer, seconds

/// What is written of several views, or of whichever has the keyboard.
constexpr std::array kGeneralActions{
    ActionSpec{"export.film", RETRO_ACTION("Export graph ani&mation…"),
               RETRO_ACTION("Save the run as the graph plays it (films need ffmpeg)"), "export", ""},
    ActionSpec{"export.pane", RETRO_ACTION("Export t&his pane…"),
               RETRO_ACTION("Save what the pane that has the keyboard shows"), "export", ""},
    ActionSpec{"export.all", RETRO_ACTION("Export &all…"),
               RETRO_ACTION("Save every view in its best format into a folder"), "export", "Ctrl+Shift+E"},
    ActionSpec{"export.report", RETRO_ACTION("&Report…"),
               RETRO_ACTION("Save question, answer, heatmap, timeline, ledger and notes as one page of HTML"), "export",
               ""},
};

QStringList listOf(std::string_view list)
{
    return QString::fromUtf8(list.data(), static_cast<qsizetype>(list.size())).split(QLatin1Char(' '));
}

/// The entry of that id; null when there is none.
const Export* entryOf(const QString& id)
{
    const auto all = exports();
    const auto found = std::ranges::find_if(all, [&](const Export& one) {
        return one.pane && one.pane->action.id != nullptr && id == QLatin1String(one.pane->action.id);
    });
    return found == all.end() ? nullptr : &*found;
}

/// Behind the tip stands how the thing can be written.
void addWays(QAction& action, std::string_view endings)
{
    const QString tip = action.statusTip();
    const QString full = tip + QStringLiteral(": ") + listOf(endings).join(QStringLiteral(", ")).toUpper();
    action.setToolTip(action.toolTip().replace(tip, full));
    action.setStatusTip(full);
}

} // namespace

void addExportActions(views::ActionRegistry& actions)
{
    for (const Export& one : exports()) {
        if (one.pane && one.pane->action.id != nullptr) {
            addWays(*actions.add(one.pane->action), one.endings);
        }
    }
    actions.addAll(kGeneralActions);
    addWays(actions.at(kFilm), kFilmEndings);
}

ExportController::ExportController(views::ActionRegistry& actions, QStackedWidget& spaces, const DockActions& docks,
                                   QWidget& window)
    : QObject(&window), m_spaces(spaces), m_docks(docks), m_window(window)
{
    connect(&actions.at(kFilm), &QAction::triggered, this, &ExportController::askFilm);
    for (const QString& id : ids()) {
        connect(&actions.at(id), &QAction::triggered, this, [this, id] { ask(id); });
    }
}

QStringList ExportController::ids()
{
    QStringList ids;
    for (const Export& one : exports()) {
        if (one.pane && one.pane->action.id != nullptr) {
            ids << QLatin1String(one.pane->action.id);
        }
    }
    return ids << kPane;
}

views::View* ExportController::viewOfPane() const
{
    const QDockWidget* dock = m_docks.current();
    auto* view = dock == nullptr ? nullptr : qobject_cast<views::View*>(dock->widget());
    return view != nullptr && exportOf(*view) != nullptr ? view : nullptr;
}

views::View* ExportController::viewOf(const QString& id) const
{
    if (id == kPane) {
        return viewOfPane();
    }
    const Export* named = entryOf(id);
    const int shown = m_spaces.currentIndex();
    for (int i = 0; named != nullptr && i < m_spaces.count(); ++i) {
        const auto* space = qobject_cast<Workspace*>(m_spaces.widget((shown + i) % m_spaces.count()));
        for (views::View* view : space == nullptr ? std::vector<views::View*>() : space->views()) {
            if (isOf(*named, *view)) {
                return view;
            }
        }
    }
    return nullptr;
}

base::Result<void> ExportController::write(const QString& id, const QString& path) const
{
    views::View* view = viewOf(id);
    if (view == nullptr) {
        return base::usageError("this pane has nothing that can be written; click another one first",
                                path.toStdString());
    }
    const Export* named = entryOf(id);
    return writePane(named != nullptr ? *named : *exportOf(*view), *view, path.toStdString());
}

QString ExportController::filtersOf(std::string_view endings)
{
    QStringList filters{filterOf(tr("All of these"), listOf(endings))};
    for (const std::string_view ending : wordsOf(endings)) {
        const std::string title = titleOfKind(ending);
        filters << filterOf(QCoreApplication::translate("retro::app::ExportController", title.c_str()), listOf(ending));
    }
    return filters.join(QStringLiteral(";;"));
}

QString ExportController::withEnding(const QString& path, const QString& filter, std::string_view endings)
{
    if (path.isEmpty() || !QFileInfo(path).suffix().isEmpty()) {
        return path;
    }
    const QStringList formats = listOf(endings);
    const auto chosen = std::find_if(formats.begin(), formats.end(), [&](const QString& format) {
        return filter.endsWith(QStringLiteral("(*.%1)").arg(format));
    });
    return path + QLatin1Char('.') + (chosen == formats.end() ? formats.value(0) : *chosen);
}

QString ExportController::askPath(QWidget& window, const QString& title, const QString& name, std::string_view endings)
{
    QString filter;
    const QString path = QFileDialog::getSaveFileName(
        &window, title, name + QLatin1Char('.') + listOf(endings).value(0), filtersOf(endings), &filter);
    return withEnding(path, filter, endings);
}

base::Result<void> ExportController::writeFilm(const QString& path, const std::function<bool(double)>& goesOn) const
{
    auto* view = qobject_cast<views::GraphView*>(viewOf(QStringLiteral("export.graph")));
    const auto scene = view != nullptr ? view->canvas().scene() : nullptr;
    if (scene == nullptr || scene->book->run->visitCount() == 0) {
        return base::usageError("there is no run to show; open a model and run it first", path.toStdString());
    }
    FilmRequest film;
    film.isDark = views::theme(view).isDark();
    film.speed = std::max(kFilmSpeed, scene->book->run->visitCount() / kFilmLength);
    return exportFilm(scene->book->run, path.toStdString(), film, goesOn);
}

/// The pictures are painted by this thread; between two of them the window answers.
void ExportController::askFilm()
{
    const QString path = askPath(m_window, tr("Export: animation of the graph"), QStringLiteral("graph"), kFilmEndings);
    if (!path.isEmpty()) {
        paintFilm(path);
    }
}

/// The window can be used and closed meanwhile; closing it ends the film.
void ExportController::paintFilm(const QString& path)
{
    if (m_isPainting) {
        emit failed(
            base::usageError("another animation is being painted; wait for it or cancel it", path.toStdString()));
        return;
    }
    m_isPainting = true;
    QProgressDialog progress(tr("Painting the animation"), tr("Cancel"), 0, 1000, &m_window);
    progress.setWindowModality(Qt::NonModal);
    progress.setMinimumDuration(300);
    const base::Result<void> done = writeFilm(path, [this, &progress](double share) {
        progress.setValue(std::min(999, static_cast<int>(share * 1000)));
        QCoreApplication::processEvents();
        return !progress.wasCanceled() && m_window.isVisible();
    });
    progress.reset();
    m_isPainting = false;
    if (done) {
        emit wrote(path);
    } else if (done.error().code != base::ErrorCode::Cancelled) {
        emit failed(done.error());
    }
}

void ExportController::ask(const QString& id)
{
    const views::View* view = viewOf(id);
    if (view == nullptr) {
        emit failed(write(id, {}).error());
        return;
    }
    const Export* named = entryOf(id);
    const QString name = named != nullptr ? QString::fromStdString(std::string(named->name)) : tr("pane");
    const QString path = askPath(m_window, tr("Export: %1").arg(view->title()), name,
                                 (named != nullptr ? named : exportOf(*view))->endings);
    if (path.isEmpty()) {
        return;
    }
    const base::Result<void> done = write(id, path);
    if (done) {
        emit wrote(path);
    } else {
        emit failed(done.error());
    }
}

} // namespace retro::app

#include "moc_exportcontroller.cpp"
