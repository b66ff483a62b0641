// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphview.h"

#include "views/common/jobrunner.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphfigure.h"
#include "views/graph/graphfind.h"
#include "views/graph/graphnote.h"
#include "views/graph/graphrefiner.h"
#include "views/graph/graphtools.h"
#include "views/graph/graphwords.h"

#include <QDataStream>
#include <QIODevice>
#include <QVBoxLayout>

#include <utility>

namespace retro::views
{

using layout::Index;

namespace
{

constexpr std::size_t kAsideNodes = 2000; // graphs from this size on are laid out off the GUI thread
constexpr double kZoomStep = 1.25;
constexpr quint8 kStateVersion = 2;

/// Boxes are as large as their text was when they were laid out.
bool hasPresentTextSize(const GraphScene& scene) { return scene.book->metrics.scale == fonts::scale(); }

} // namespace

GraphView::GraphView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    m_caches.memo = std::make_shared<layout::LayoutMemo>();
    m_canvas = new GraphCanvas(this);
    m_find = new GraphFind(m_canvas);
    m_jobs = new JobRunner(this);
    auto* notes = new QVBoxLayout(m_canvas); // in the lower left corner, over the picture
    notes->setContentsMargins(fonts::px(8), fonts::px(8), fonts::px(8), fonts::px(8));
    notes->setSizeConstraint(QLayout::SetNoConstraint);
    notes->addStretch(1);
    m_traceNote = new GraphNote(tr("Clear"), tr("Show the whole graph alike again"), m_canvas);
    notes->addWidget(m_traceNote, 0, Qt::AlignLeft);
    m_refineNote = new GraphNote(tr("Stop"), tr("Keep the present layout"), m_canvas);
    notes->addWidget(m_refineNote, 0, Qt::AlignLeft);
    connect(m_refineNote, &GraphNote::pressed, this, [this] {
        m_refiner->stop();
        m_refineNote->say({});
    });
    setRefiner(new GraphRefiner(this));
    connect(m_traceNote, &GraphNote::pressed, this, &GraphView::clearTrace);
    m_canvas->setTips([this](const Hit& hit) { return tipFor(hit); });
    setBody(m_canvas);
    setFocusProxy(m_canvas);
    connect(&cursor, &Cursor::glided, m_canvas, &GraphCanvas::setMoment);
    connect(&cursor, &Cursor::speedChanged, m_canvas, &GraphCanvas::setSpeed);
    connect(m_canvas, &GraphCanvas::resized, this, &GraphView::followPane);
    setEmptyText(tr("The network appears here, with the path of relevance through it, once something was explained."));
    connect(m_canvas, &GraphCanvas::boxClicked, this, &GraphView::selectBox);
    connect(m_canvas, &GraphCanvas::boxAdded, this, &GraphView::addBox);
    connect(m_canvas, &GraphCanvas::targetPicked, this, &GraphView::pickTarget);
    connect(m_canvas, &GraphCanvas::boxActivated, this, &GraphView::activateBox);
    connect(m_canvas, &GraphCanvas::edgeClicked, this, &GraphView::selectEdge);
    connect(m_canvas, &GraphCanvas::groundClicked, this, &GraphView::clearAlso);
    connect(m_canvas, &GraphCanvas::groundClicked, &selection, &Selection::clear);
    connect(m_canvas, &GraphCanvas::menuWanted, this, &GraphView::showMenu);
    connect(m_canvas, &GraphCanvas::groupToggled, this, &GraphView::toggleGroup);
    connect(m_canvas, &GraphCanvas::groupWanted, this, &GraphView::openAround);
    connect(m_canvas, &GraphCanvas::depthToggled, this, &GraphView::setDepth);
    connect(m_canvas, &GraphCanvas::zoomChanged, this, &GraphView::zoomChanged);
    connect(m_find, &GraphFind::matchesChanged, this, &GraphView::applyHighlight);
    connect(m_find, &GraphFind::found, &selection, &Selection::selectNode);
    connect(m_find, &GraphFind::closed, m_canvas, qOverload<>(&QWidget::setFocus));
    connect(m_jobs, &JobRunner::delivered, this, &GraphView::layoutFinished);
}

QString GraphView::subject() const
{
    if (!model().hasRun()) {
        return {};
    }
    const base::NodeId selected = model().nodeOf(selection().thing());
    const base::NodeId node = selected.isValid() ? selected : model().state().current;
    const bool isKnown = node.isValid() && node.index() < model().graph().runNodeCount();
    const QString path = isKnown ? scopePath(model().graph(), node) : QString();
    const auto count = static_cast<std::int64_t>(model().graph().runNodeCount());
    return path.isEmpty() ? (count == 1 ? tr("1 node") : tr("%1 nodes").arg(countText(count))) : path;
}

QString GraphView::hint() const
{
    if (m_isInMotion && wantedStyle().isSideways) {
        return tr("Relevance comes from the right. Pulses are as thick as what they carry; a dashed line is a promise "
                  "that still searches.");
    }
    if (m_isInMotion) {
        return tr("Relevance comes from below. Pulses are as thick as what they carry; a dashed line is a promise that "
                  "still searches.");
    }
    return tr("The network, inputs on top. Relevance runs upwards; a border shows how a node was visited last.");
}

bool GraphView::canShow(const SelectedThing& thing) const
{
    return std::holds_alternative<std::monostate>(thing) || (model().hasRun() && model().nodeOf(thing).isValid());
}

base::Result<void> GraphView::exportTo(const std::filesystem::path& path) { return exportPart(path, Part::All); }

base::Result<void> GraphView::exportPart(const std::filesystem::path& path, Part part)
{
    if (!model().hasRun()) {
        return base::usageError("there is no graph to export; open a run first", path.string());
    }
    const auto book = showsThisRun() ? m_canvas->scene()->book
                                     : makeBook(model().sharedRun(), model().run().graph, BoxMetrics::ofFonts());
    const FigureState state{&model().state(), model().position(), model().valueOf(selection().thing())};
    FigureOptions options;
    options.closed = showsThisRun() ? m_closed : initiallyClosed(*book);
    options.theme = theme(this).kind();
    options.promise = selection().promise().value_or(base::PromiseId());
    if (part == Part::Selected) {
        options.only = selectedNodes();
        if (options.only.empty()) {
            return base::usageError("nothing is selected in the graph; click a node, and more with Ctrl",
                                    path.string());
        }
    } else if (part == Part::InSight && showsThisRun()) {
        options.area = m_canvas->camera().toScene(QRectF(m_canvas->rect()));
    }
    return writeFigure(path, book, state, options);
}

QByteArray GraphView::saveState() const
{
    QByteArray bytes;
    QDataStream out(&bytes, QIODevice::WriteOnly);
    out << kStateVersion << m_isFollowing << m_canvas->isMapShown() << m_canvas->isLegendShown()
        << static_cast<quint8>(m_colourBy) << m_hidesConstants << m_wantsRefined;
    return bytes;
}

void GraphView::restoreState(const QByteArray& state)
{
    QDataStream in(state);
    quint8 version = 0;
    bool isFollowing = true;
    bool isMapShown = true;
    bool isLegendShown = true;
    quint8 colourBy = 0;
    bool hidesConstants = false;
    bool isRefined = false;
    in >> version >> isFollowing >> isMapShown >> isLegendShown >> colourBy >> hidesConstants >> isRefined;
    if (in.status() == QDataStream::Ok && version == kStateVersion && colourBy < kColourings.size()) {
        setFollow(isFollowing);
        setMinimapShown(isMapShown);
        setLegendShown(isLegendShown);
        setColourBy(kColourings[colourBy]);
        setConstantsHidden(hidesConstants);
        setRefined(isRefined);
    }
}

QWidget* GraphView::tools()
{
    if (m_tools == nullptr) {
        m_tools = new GraphTools(this);
        m_tools->setZoom(m_canvas->camera().zoom());
        m_tools->setColourBy(m_colourBy);
        m_tools->setInMotion(m_isInMotion);
        m_tools->setRunning(wantedStyle().isSideways);
        m_tools->setFollowing(m_canvas->isFollowing());
        connect(m_tools, &GraphTools::runWanted, this,
                [this](bool isSideways) { setRunning(isSideways ? Run::Sideways : Run::Down); });
        connect(m_tools, &GraphTools::followWanted, this, &GraphView::resumeFollowing);
        connect(m_canvas, &GraphCanvas::followChanged, m_tools, &GraphTools::setFollowing);
        connect(m_tools, &GraphTools::colourByWanted, this, &GraphView::setColourBy);
        connect(this, &GraphView::zoomChanged, m_tools, &GraphTools::setZoom);
        connect(m_tools, &GraphTools::findWanted, this, &GraphView::showFind);
        connect(m_tools, &GraphTools::zoomInWanted, this, &GraphView::zoomIn);
        connect(m_tools, &GraphTools::zoomOutWanted, this, &GraphView::zoomOut);
        connect(m_tools, &GraphTools::fitWanted, this, &GraphView::fitAll);
    }
    return m_tools;
}

bool GraphView::isLayoutRunning() const { return m_jobs->isRunning(); }

void GraphView::zoomIn() { m_canvas->zoomBy(kZoomStep); }

void GraphView::zoomOut() { m_canvas->zoomBy(1 / kZoomStep); }

void GraphView::fitAll() { m_canvas->fitAll(); }

void GraphView::fitSelection() { m_canvas->fitSelection(); }

void GraphView::showFind()
{
    m_find->move(8, 8);
    m_find->open();
}

void GraphView::findNext() { m_find->next(); }

void GraphView::findPrevious() { m_find->previous(); }

void GraphView::setFollow(bool isOn)
{
    m_isFollowing = isOn;
    m_canvas->setFollowing(isOn);
}

void GraphView::setMinimapShown(bool isShown) { m_canvas->setMapShown(isShown); }

void GraphView::setLegendShown(bool isShown) { m_canvas->setLegendShown(isShown); }

QString GraphView::emptyReason() const
{
    if (!model().hasRun()) {
        return {};
    }
    return model().graph().runNodeCount() == 0 ? tr("This model has no nodes to draw.") : m_problem;
}

bool GraphView::showsThisRun() const
{
    return m_canvas->scene() != nullptr && m_canvas->scene()->book->run == model().sharedRun();
}

void GraphView::refresh(Changes changes)
{
    if (changes & Change::Run) {
        openRun();
    } else if ((changes & Change::Theme) && showsThisRun() && !hasPresentTextSize(*m_canvas->scene())) {
        build(m_closed, false);
    } else if (showsThisRun()) {
        follow(changes);
    }
    m_canvas->update();
}

/// The picture stays; its state, its selection or both moved.
void GraphView::follow(Changes changes)
{
    if (changes & Change::State) {
        applyState();
    }
    if ((changes & Change::Selection) && !m_isOwnSelection) {
        clearAlso(); // something was selected elsewhere
    }
    if (changes & (Change::State | Change::Selection)) {
        applySelection(m_isOwnSelection || !(changes & Change::Selection));
    }
}

/// Another run; when it is of the graph that is on screen, camera and open groups stay.
void GraphView::openRun()
{
    m_jobs->cancel();
    m_find->setGraph(model().run().graph);
    m_also.clear();
    clearTrace();
    if (model().graph().runNodeCount() == 0) {
        return;
    }
    const bool isSameGraph = m_canvas->scene() != nullptr && m_canvas->scene()->book->graph == model().run().graph;
    build(isSameGraph ? m_closed : std::vector<bool>(), !isSameGraph);
}

/// Lays out with some groups closed; for the first picture of a graph (`isFirst`) the groups are chosen here. Small
/// graphs at once, so that the first paint is complete; large ones aside, while the old picture stays.
void GraphView::build(std::vector<bool> closed, bool isFirst)
{
    const auto shown = m_canvas->scene();
    auto book = showsThisRun() && hasPresentTextSize(*shown) ? shown->book : nullptr;
    const auto make = [run = model().sharedRun(), metrics = BoxMetrics::ofFonts(), book = std::move(book),
                       closed = std::move(closed), isFirst,
                       constants = m_hidesConstants ? Constants::Hidden : Constants::Shown, caches = m_caches,
                       style = wantedStyle()](const std::stop_token& stop) {
        const auto pages = book != nullptr ? book : makeBook(run, run->graph, metrics);
        return makeScene(pages, isFirst ? initiallyClosed(*pages) : closed, stop, constants, caches, style);
    };
    if (model().graph().runNodeCount() < kAsideNodes) {
        m_jobs->cancel();
        install(make({}), isFirst);
        return;
    }
    m_jobs->start([this, make, isFirst](const std::stop_token& stop) -> JobRunner::Delivery {
        auto scene = std::make_shared<base::Result<ScenePointer>>(make(stop));
        return [this, scene, isFirst] { install(std::move(*scene), isFirst); };
    });
}

void GraphView::install(base::Result<ScenePointer> scene, bool isFirst)
{
    if (!model().hasRun()) {
        return; // cleared while the layout ran
    }
    m_problem.clear();
    if (!scene.ok()) {
        m_problem = tr("The graph cannot be drawn: %1.").arg(QString::fromStdString(scene.error().text()));
        schedule(Change::Selection);
        return;
    }
    const ScenePointer shown = std::move(scene).value();
    const auto before = m_canvas->scene();
    const bool isOtherSize = before != nullptr && (before->book->metrics.scale != shown->book->metrics.scale ||
                                                   !(before->style == shown->style));
    if (isFirst) {
        m_closed = shown->closed;
    }
    m_canvas->setScene(shown, makeStatus(*shown, &model().state(), model().position()));
    applyCards();
    applyColouring();
    applyHighlight();
    applyBreakpoints();
    applyFused();
    applyCheckpoints();
    applyLive();
    if (isFirst || isOtherSize) {
        m_canvas->showFirst();
    }
    applySelection(true);
    refine();
}

void GraphView::applyState()
{
    const auto scene = m_canvas->scene();
    m_canvas->setStatus(makeStatus(*scene, &model().state(), model().position()));
    applyCards();
    if (m_colourBy == ColourBy::Ledger) {
        applyColouring();
    }
    if (m_isFollowing && !m_isInMotion) { // the camera of a graph in motion follows by itself
        m_canvas->reveal(m_canvas->status().now);
    }
}

/// `isFromHere`: the user pointed at something in this view, so that it must not scroll by itself.
void GraphView::applySelection(bool isFromHere)
{
    const auto scene = m_canvas->scene();
    const base::NodeId node = model().nodeOf(selection().thing());
    const Index box = scene->boxOf(node);
    const base::PromiseId promise = selection().promise().value_or(base::PromiseId());
    m_canvas->setMarks(box, node, selection().value().value_or(base::ValueId()),
                       makePath(*scene, model().state(), promise));
    applyAlso();
    if (!isFromHere && m_isFollowing) {
        m_canvas->reveal(box);
    }
    describeSelection();
}

void GraphView::describeSelection()
{
    const base::NodeId node = model().nodeOf(selection().thing());
    m_canvas->setAccessibleDescription(
        node.isValid() ? describeNode(model(), node)
                       : tr("Nothing is selected. Arrow keys walk from node to node, Enter goes to where the relevance "
                            "of a node was known."));
}

void GraphView::selectBox(int box)
{
    m_isOwnSelection = true;
    clearAlso();
    selection().selectNode(representative(*m_canvas->scene(), m_canvas->status(), box));
    flush();
    m_isOwnSelection = false; // also when it was selected before
}

void GraphView::activateBox(int box)
{
    const base::NodeId node = representative(*m_canvas->scene(), m_canvas->status(), box);
    if (const auto step = model().relevanceStep(node)) {
        cursor().moveTo(*step);
    }
}

void GraphView::selectEdge(int edge)
{
    m_isOwnSelection = true;
    selection().selectValue(m_canvas->scene()->valueOf(edge));
    flush();
    m_isOwnSelection = false;
}

QString GraphView::tipFor(const Hit& hit) const
{
    if (!model().hasRun() || !showsThisRun()) {
        return {};
    }
    const GraphScene& scene = *m_canvas->scene();
    switch (hit.kind) {
    case HitKind::Box:
        return describeBox(model(), scene, m_canvas->status(), hit.index) + fusedText(hit.index) +
               checksText(hit.index);
    case HitKind::Edge:
        return describeEdge(model(), scene, m_canvas->status(), hit.index);
    case HitKind::Frame:
        return tr("%1\nDouble click closes the group.")
            .arg(QString::fromStdString(scene.book->drawn.groupPaths[static_cast<std::size_t>(
                scene.visible.frames[static_cast<std::size_t>(hit.index)])]));
    case HitKind::Nothing:
        break;
    }
    return {};
}

} // namespace retro::views

#include "moc_graphview.cpp"
