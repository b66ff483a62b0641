// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/exportcontroller.h"

#include "app/common/exportfilm.h"
#include "app/common/exports.h"
#include "app/gui/shell/dockactions.h"
#include "app/gui/window/filefilters.h"
#include "app/gui/window/workspace.h"
#include "views/classes/classesview.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/layers/layersview.h"
#include "views/ledger/ledgerview.h"
#include "views/log/logview.h"
#include "views/notebook/notebookview.h"
#include "views/plan/plannersview.h"
#include "views/plan/scheduleview.h"
#include "views/plan/tensorsview.h"
#include "views/promises/promisesview.h"
#include "views/timeline/timelineview.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QProgressDialog>
#include <QStackedWidget>

#include <algorithm>
#include <array>
#include <span>

namespace retro::app
{

namespace
{

using views::ActionSpec;

const QString kPane = QStringLiteral("export.pane");
const QString kFilm = QStringLiteral("export.film");
constexpr double kFilmSpeed = 2;   // visits per second, of a film from the window …
constexpr double kFilmLength = 60; // … which is faster where it would last longer, seconds

template <class V>
views::View* findIn(const Workspace& space)
{
    for (views::View* view : space.views()) {
        if (auto* found = qobject_cast<V*>(view)) {
            return found;
        }
    }
    return nullptr;
}

using PartWriter = base::Result<void> (*)(views::View&, const std::filesystem::path&);

template <views::GraphView::Part part>
base::Result<void> writeGraphPart(views::View& view, const std::filesystem::path& path)
{
    return static_cast<views::GraphView&>(view).exportPart(path, part);
}

base::Result<void> writeLevels(views::View& view, const std::filesystem::path& path)
{
    return static_cast<views::HeatmapView&>(view).exportLevels(path);
}

/// A view as a file: its entry in the menu, and who writes it. A new one is one line here.
struct ViewExport
{
    ActionSpec action;
    const char* file; ///< offered as the name of the file
    views::View* (*find)(const Workspace&);
    PartWriter write = nullptr;    ///< null = View::exportTo
    const char* formats = nullptr; ///< where they are not those of the view
};

constexpr std::array kViews{
    ViewExport{ActionSpec{"export.heatmap", QT_TRANSLATE_NOOP("retro::views::actions", "Export &heatmap…"),
                          QT_TRANSLATE_NOOP("retro::views::actions", "Save the heatmap as PNG, SVG, PDF, CSV or NPY"),
                          "export", "Ctrl+E"},
               "heatmap", findIn<views::HeatmapView>},
    ViewExport{
        ActionSpec{"export.levels", QT_TRANSLATE_NOOP("retro::views::actions", "Export heatmap as 1&6-bit levels…"),
                   QT_TRANSLATE_NOOP("retro::views::actions",
                                     "Save the relevance as a 16-bit grey PNG whose levels stand for the numbers"),
                   "export", ""},
        "levels", findIn<views::HeatmapView>, writeLevels, "png"},
    ViewExport{ActionSpec{"export.graph", QT_TRANSLATE_NOOP("retro::views::actions", "Export &graph…"),
                          QT_TRANSLATE_NOOP("retro::views::actions", "Save the graph as SVG, PNG, PDF, DOT or JSON"),
                          "export", ""},
               "graph", findIn<views::GraphView>},
    ViewExport{ActionSpec{"export.graphsight", QT_TRANSLATE_NOOP("retro::views::actions", "Export graph in &sight…"),
                          QT_TRANSLATE_NOOP("retro::views::actions", "Save the part of the graph that is in sight"),
                          "export", ""},
               "graph", findIn<views::GraphView>, writeGraphPart<views::GraphView::Part::InSight>, "svg png pdf"},
    ViewExport{ActionSpec{"export.graphselection",
                          QT_TRANSLATE_NOOP("retro::views::actions", "Export graph se&lection…"),
                          QT_TRANSLATE_NOOP("retro::views::actions",
                                            "Save the selected nodes of the graph with what lies between them"),
                          "export", ""},
               "graph", findIn<views::GraphView>, writeGraphPart<views::GraphView::Part::Selected>, "svg png pdf"},
    ViewExport{ActionSpec{"export.timeline", QT_TRANSLATE_NOOP("retro::views::actions", "Export &timeline…"),
                          QT_TRANSLATE_NOOP("retro::views::actions",
                                            "Save the timeline as SVG, PNG or PDF, or its counts as CSV"),
                          "export", ""},
               "timeline", findIn<views::TimelineView>},
    ViewExport{
        ActionSpec{"export.ledger", QT_TRANSLATE_NOOP("retro::views::actions", "Export &ledger…"),
                   QT_TRANSLATE_NOOP("retro::views::actions", "Save where the relevance went, as CSV, PNG, SVG or PDF"),
                   "export", ""},
        "ledger", findIn<views::LedgerView>},
    ViewExport{ActionSpec{"export.layers", QT_TRANSLATE_NOOP("retro::views::actions", "Export la&yers…"),
                          QT_TRANSLATE_NOOP("retro::views::actions",
                                            "Save the relevance of the layers as PNG, SVG, PDF or CSV"),
                          "export", ""},
               "layers", findIn<views::LayersView>},
    ViewExport{ActionSpec{"export.classes", QT_TRANSLATE_NOOP("retro::views::actions", "Export &classes…"),
                          QT_TRANSLATE_NOOP("retro::views::actions", "Save the best classes as CSV, PNG, SVG or PDF"),
                          "export", ""},
               "classes", findIn<views::ClassesView>},
    ViewExport{ActionSpec{"export.promises", QT_TRANSLATE_NOOP("retro::views::actions", "Export &promises…"),
                          QT_TRANSLATE_NOOP("retro::views::actions", "Save the promises of the run as CSV or JSON"),
                          "export", ""},
               "promises", findIn<views::PromisesView>},
    ViewExport{ActionSpec{"export.log", QT_TRANSLATE_NOOP("retro::views::actions", "Export &event log…"),
                          QT_TRANSLATE_NOOP("retro::views::actions",
                                            "Save the event log, as its filter leaves it, as CSV or JSON"),
                          "export", ""},
               "log", findIn<views::LogView>},
    ViewExport{ActionSpec{"export.notebook", QT_TRANSLATE_NOOP("retro::views::actions", "Export note&book…"),
                          QT_TRANSLATE_NOOP("retro::views::actions", "Save pinned places and the trail as Markdown"),
                          "export", ""},
               "notebook", findIn<views::NotebookView>},
    ViewExport{ActionSpec{"export.plan", QT_TRANSLATE_NOOP("retro::views::actions", "Export pla&n…"),
                          QT_TRANSLATE_NOOP(
                              "retro::views::actions",
                              "Save the schedule as SVG, PNG or PDF, its steps as CSV, or the plan itself as JSON"),
                          "export", ""},
               "plan", findIn<views::ScheduleView>},
    ViewExport{
        ActionSpec{"export.planners", QT_TRANSLATE_NOOP("retro::views::actions", "Export planne&rs…"),
                   QT_TRANSLATE_NOOP("retro::views::actions", "Save memory against work as SVG, PNG, PDF or CSV"),
                   "export", ""},
        "planners", findIn<views::PlannersView>},
    ViewExport{ActionSpec{"export.tensors", QT_TRANSLATE_NOOP("retro::views::actions", "Export tens&ors…"),
                          QT_TRANSLATE_NOOP("retro::views::actions",
                                            "Save what becomes of every tensor, with reasons, as CSV"),
                          "export", ""},
               "tensors", findIn<views::TensorsView>},
};

/// What is written of several views, or of whichever has the keyboard.
constexpr std::array kGeneralActions{
    ActionSpec{
        "export.film", QT_TRANSLATE_NOOP("retro::views::actions", "Export graph ani&mation…"),
        QT_TRANSLATE_NOOP("retro::views::actions",
                          "Save the run as the graph plays it: GIF, APNG, pictures, or MP4 and WebM with ffmpeg"),
        "export", ""},
    ActionSpec{"export.pane", QT_TRANSLATE_NOOP("retro::views::actions", "Export t&his pane…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Save what the pane that has the keyboard shows"), "export",
               ""},
    ActionSpec{"export.all", QT_TRANSLATE_NOOP("retro::views::actions", "Export &all…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Save every view in its best format into a folder"), "export",
               "Ctrl+Shift+E"},
    ActionSpec{"export.report", QT_TRANSLATE_NOOP("retro::views::actions", "&Report…"),
               QT_TRANSLATE_NOOP("retro::views::actions",
                                 "Save question, answer, heatmap, timeline, ledger and notes as one page of HTML"),
               "export", ""},
};

const ViewExport* namedBy(const QString& id)
{
    const auto* found = std::find_if(kViews.begin(), kViews.end(),
                                     [&](const ViewExport& view) { return id == QLatin1String(view.action.id); });
    return found == kViews.end() ? nullptr : found;
}

QStringList formatsOf(const ViewExport* named, const views::View& view)
{
    const bool isOwn = named != nullptr && named->formats != nullptr;
    return isOwn ? QString::fromLatin1(named->formats).split(QLatin1Char(' ')) : view.exportFormats();
}

} // namespace

void addExportActions(views::ActionRegistry& actions)
{
    for (const ViewExport& view : kViews) {
        actions.addAll(std::span(&view.action, 1));
    }
    actions.addAll(kGeneralActions);
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
    for (const ViewExport& view : kViews) {
        ids << QLatin1String(view.action.id);
    }
    return ids << kPane;
}

views::View* ExportController::viewOfPane() const
{
    const QDockWidget* dock = m_docks.current();
    auto* view = dock == nullptr ? nullptr : qobject_cast<views::View*>(dock->widget());
    return view != nullptr && !view->exportFormats().isEmpty() ? view : nullptr;
}

views::View* ExportController::viewOf(const QString& id) const
{
    if (id == kPane) {
        return viewOfPane();
    }
    const ViewExport* named = namedBy(id);
    const int shown = m_spaces.currentIndex();
    for (int i = 0; named != nullptr && i < m_spaces.count(); ++i) {
        const auto* space = qobject_cast<Workspace*>(m_spaces.widget((shown + i) % m_spaces.count()));
        views::View* view = space == nullptr ? nullptr : named->find(*space);
        if (view != nullptr) {
            return view;
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
    view->flush();
    const ViewExport* named = namedBy(id);
    return named != nullptr && named->write != nullptr ? named->write(*view, path.toStdString())
                                                       : view->exportTo(path.toStdString());
}

QString ExportController::filtersOf(const QStringList& formats)
{
    QStringList filters{filterOf(tr("All of these"), formats)};
    for (const QString& format : formats) {
        const std::string title = titleOfKind(format.toStdString());
        filters << filterOf(QCoreApplication::translate("retro::app::ExportController", title.c_str()), {format});
    }
    return filters.join(QStringLiteral(";;"));
}

QString ExportController::withEnding(const QString& path, const QString& filter, const QStringList& formats)
{
    if (path.isEmpty() || !QFileInfo(path).suffix().isEmpty()) {
        return path;
    }
    const auto chosen = std::find_if(formats.begin(), formats.end(), [&](const QString& format) {
        return filter.endsWith(QStringLiteral("(*.%1)").arg(format));
    });
    return path + QLatin1Char('.') + (chosen == formats.end() ? formats.value(0) : *chosen);
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
    const QStringList formats{QStringLiteral("gif"), QStringLiteral("apng"), QStringLiteral("mp4"),
                              QStringLiteral("webm")};
    QString filter;
    const QString chosen = QFileDialog::getSaveFileName(&m_window, tr("Export: animation of the graph"),
                                                        QStringLiteral("graph.gif"), filtersOf(formats), &filter);
    const QString path = withEnding(chosen, filter, formats);
    if (path.isEmpty()) {
        return;
    }
    paintFilm(path);
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
    const ViewExport* named = namedBy(id);
    const QStringList formats = formatsOf(named, *view);
    const QString name = named != nullptr ? QString::fromLatin1(named->file) : tr("pane");
    QString filter;
    const QString chosen =
        QFileDialog::getSaveFileName(&m_window, tr("Export: %1").arg(view->title()),
                                     name + QLatin1Char('.') + formats.value(0), filtersOf(formats), &filter);
    const QString path = withEnding(chosen, filter, formats);
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
