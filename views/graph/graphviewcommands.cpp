// SPDX-License-Identifier: Apache-2.0
// Commands of the graph view: groups, colours, what stands out, and the menu that offers them.
#include "views/common/numbertext.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/rangechip.h"
#include "views/graph/checkcolouring.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphfind.h"
#include "views/graph/graphnote.h"
#include "views/graph/graphrefiner.h"
#include "views/graph/graphtools.h"
#include "views/graph/graphview.h"
#include "views/graph/groupdepth.h"

#include <QActionGroup>
#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <QMetaMethod>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

/// A command with its id as object name; `reason` says why it cannot be given and disables it.
QAction* addCommand(QMenu& menu, const char* id, const QString& text, const QString& tip, const QString& reason = {})
{
    QAction* action = menu.addAction(text);
    action->setObjectName(QLatin1String(id));
    action->setToolTip(reason.isEmpty() ? tip : reason);
    action->setStatusTip(action->toolTip());
    action->setEnabled(reason.isEmpty());
    return action;
}

} // namespace

void GraphView::toggleGroup(int group)
{
    if (showsThisRun()) {
        const auto at = static_cast<std::size_t>(group);
        m_closed[at] = !m_closed[at];
        build(m_closed, false);
    }
}

void GraphView::openAround(int group)
{
    if (!showsThisRun()) {
        return;
    }
    const std::vector<Index>& parents = m_canvas->scene()->book->drawn.graph.groupParents;
    for (Index at = parents[static_cast<std::size_t>(group)]; at != kNone; at = parents[static_cast<std::size_t>(at)]) {
        m_closed[static_cast<std::size_t>(at)] = false;
    }
    build(m_closed, false);
}

void GraphView::setAllClosed(bool isClosed)
{
    if (showsThisRun()) {
        m_closed.assign(m_closed.size(), isClosed);
        m_canvas->holdSelected();
        build(m_closed, false);
    }
}

void GraphView::setDepth(bool isClosed)
{
    if (!showsThisRun()) {
        return;
    }
    const GraphScene& scene = *m_canvas->scene();
    const Index box = m_canvas->selected();
    const Index depth = isClosed ? depthToClose(scene, box) : depthToOpen(scene, box);
    if (depth != kNone) {
        setDepthClosed(*scene.book, depth, isClosed, m_closed);
        m_canvas->holdSelected();
        build(m_closed, false);
    }
}

void GraphView::setLikeClosed(int group, bool isClosed)
{
    for (const Index other : groupsLike(*m_canvas->scene()->book, group)) {
        m_closed[static_cast<std::size_t>(other)] = isClosed;
    }
    m_canvas->holdSelected();
    build(m_closed, false);
}

void GraphView::setConstantsHidden(bool isHidden)
{
    if (m_hidesConstants == isHidden) {
        return;
    }
    m_hidesConstants = isHidden;
    emit settingsChanged();
    if (showsThisRun()) {
        m_canvas->holdSelected();
        build(m_closed, false);
    }
}

void GraphView::setLayoutFolder(const std::filesystem::path& folder)
{
    m_caches.folder = folder.empty() ? nullptr : std::make_shared<const layout::LayoutFolder>(folder);
    m_refiner->setFolder(m_caches.folder);
}

void GraphView::setRefiner(GraphRefiner* refiner)
{
    delete m_refiner;
    m_refiner = refiner;
    m_refiner->setParent(this);
    m_refiner->setFolder(m_caches.folder);
    connect(m_refiner, &GraphRefiner::refined, this, &GraphView::showRefined);
    connect(m_refiner, &GraphRefiner::slow, this, [this] {
        m_refineNote->say(tr("Graphviz takes long; it is stopped after %1 s")
                              .arg(fixedText(m_refiner->limits().killMilliseconds / 1000.0, 0)));
    });
    connect(m_refiner, &GraphRefiner::failed, this, [this](const QString& reason) {
        m_refineNote->setButton(tr("Hide"), tr("Hide this line"));
        m_refineNote->say(tr("Not refined: %1.").arg(reason));
        emit refineFailed(reason);
    });
}

void GraphView::setRefined(bool isOn)
{
    if (m_wantsRefined == isOn) {
        return;
    }
    m_wantsRefined = isOn;
    emit settingsChanged();
    m_refiner->stop();
    m_refineNote->say({});
    if (showsThisRun()) {
        m_canvas->holdSelected();
        build(m_closed, false); // off: the own layout again
    }
}

void GraphView::refine()
{
    if (m_wantsRefined) {
        m_refineNote->setButton(tr("Stop"), tr("Keep the present layout"));
        m_refineNote->say(tr("Refining with Graphviz…"));
        m_refiner->start(m_canvas->scene());
    }
}

/// A layout that comes too late, for a drawing that is no longer shown, is dropped.
void GraphView::showRefined(const std::shared_ptr<const GraphScene>& from, const std::shared_ptr<const GraphScene>& to)
{
    if (!showsThisRun() || m_canvas->scene() != from) {
        return;
    }
    m_refineNote->say({});
    emit refineSucceeded();
    m_canvas->holdSelected();
    m_canvas->setScene(to, makeStatus(*to, &model().state(), model().position()));
    applyColouring();
    applyHighlight();
    applyBreakpoints();
    applyFused();
    applyCheckpoints();
    applyLive();
    applySelection(true);
    emit layoutFinished();
}

void GraphView::setColourBy(ColourBy by)
{
    const bool isOfRegion = by == ColourBy::Region || m_colourBy == ColourBy::Region;
    m_colourBy = by;
    if (m_tools != nullptr) {
        m_tools->setColourBy(by);
    }
    applyColouring();
    if (isOfRegion) {
        applyHighlight();
    }
}

void GraphView::applyColouring()
{
    if (showsThisRun()) {
        m_canvas->setColouring(makeColouring(m_colourBy, *m_canvas->scene(), &model().state(), m_checks));
    }
}

void GraphView::setChecks(GraphChecks checks)
{
    checks.found = m_checks.found;
    checks.region = m_checks.region;
    m_checks = std::move(checks);
    if (isOfChecks(m_colourBy)) {
        applyColouring();
    }
}

void GraphView::setFound(FoundNodes found)
{
    m_checks.found = std::move(found);
    if (m_colourBy == ColourBy::Finding) {
        applyColouring();
    }
}

void GraphView::followRegion(const RegionOverlay& overlay)
{
    m_region = &overlay;
    connect(&overlay, &RegionOverlay::changed, this, &GraphView::applyRegion);
    applyRegion();
}

void GraphView::applyRegion()
{
    m_checks.region = m_region != nullptr && model().hasRun() ? m_region->of(model().sharedRun()) : nullptr;
    if (m_colourBy == ColourBy::Region && showsThisRun()) {
        applyColouring();
        applyHighlight();
    }
}

QString GraphView::checksText(int box) const
{
    const layout::VisibleNode& shown = m_canvas->scene()->visible.nodes[static_cast<std::size_t>(box)];
    return shown.isGroup() ? QString() : checkTip(m_checks, base::NodeId(static_cast<std::uint32_t>(shown.node)));
}

void GraphView::applyHighlight()
{
    if (!showsThisRun()) {
        return;
    }
    const GraphScene& scene = *m_canvas->scene();
    const std::vector<base::NodeId> found = m_find->matches();
    const bool isOfRegion = m_colourBy == ColourBy::Region && m_checks.region && m_traced.empty();
    const NodeSet traced = isOfRegion         ? setOf(*scene.book, nodesOfRegion(*m_checks.region))
                           : m_traced.empty() ? visitedInRange()
                                              : m_traced;
    m_highlighted = found.empty() ? traced : setOf(*scene.book, found);
    m_canvas->setEmphasis(emphasise(scene, m_highlighted));
}

NodeSet GraphView::visitedInRange() const
{
    if (m_range == nullptr || !m_range->visits()) {
        return {};
    }
    const GraphScene& scene = *m_canvas->scene();
    const PositionRange positions = m_range->positionsIn(model().run());
    std::vector<base::NodeId> nodes;
    for (const VisitMark& visit : scene.book->flow.visits()) {
        if (visit.step >= positions.begin && visit.step < positions.end) {
            nodes.push_back(visit.node);
        }
    }
    return setOf(*scene.book, nodes);
}

void GraphView::followRange(TimeRange& range)
{
    m_range = &range;
    auto* chip = new RangeChip(m_canvas);
    static_cast<QVBoxLayout*>(m_canvas->layout())->insertWidget(1, chip, 0, Qt::AlignLeft); // above the other notes
    chip->follow(range);
    connect(&range, &TimeRange::changed, this, &GraphView::applyHighlight);
    applyHighlight();
}

void GraphView::setBreakpoints(std::vector<base::NodeId> nodes)
{
    m_breakpoints = std::move(nodes);
    applyBreakpoints();
}

void GraphView::applyBreakpoints()
{
    if (!showsThisRun()) {
        return;
    }
    const GraphScene& scene = *m_canvas->scene();
    std::vector<bool> breaks(m_breakpoints.empty() ? 0 : scene.visible.nodes.size(), false);
    for (const base::NodeId node : m_breakpoints) {
        if (const Index box = scene.boxOf(node); box != kNone) {
            breaks[static_cast<std::size_t>(box)] = true;
        }
    }
    m_canvas->setBreaks(std::move(breaks));
}

void GraphView::setCheckpoints(const QStringList& values)
{
    m_checkpoints = values;
    applyCheckpoints();
}

void GraphView::applyCheckpoints()
{
    if (!showsThisRun()) {
        return;
    }
    const GraphScene& scene = *m_canvas->scene();
    std::vector<bool> marks(m_checkpoints.isEmpty() ? 0 : scene.visible.nodes.size(), false);
    for (const QString& name : m_checkpoints) {
        const auto value = scene.graph().findValue(name.toStdString());
        const base::NodeId node = value ? scene.graph().nodeOf(*value) : base::NodeId();
        if (const Index box = node.isValid() ? scene.boxOf(node) : kNone; box != kNone) {
            marks[static_cast<std::size_t>(box)] = true;
        }
    }
    m_canvas->setCheckpoints(std::move(marks));
}

void GraphView::setLive(std::vector<base::NodeId> nodes)
{
    m_live = std::move(nodes);
    applyLive();
}

void GraphView::applyLive()
{
    if (!showsThisRun()) {
        return;
    }
    const GraphScene& scene = *m_canvas->scene();
    std::vector<bool> live(m_live.empty() ? 0 : scene.visible.nodes.size(), false);
    for (const base::NodeId node : m_live) {
        const bool isKnown = node.index() < scene.graph().nodeCount();
        if (const Index box = isKnown ? scene.boxOf(node) : kNone; box != kNone) {
            live[static_cast<std::size_t>(box)] = true;
        }
    }
    m_canvas->setLive(std::move(live));
}

void GraphView::addCheckpointCommand(QMenu& menu, base::NodeId node)
{
    const base::ValueId output = m_canvas->scene()->graph().firstOutput(node);
    if (!output.isValid() || !isSignalConnected(QMetaMethod::fromSignal(&GraphView::checkpointRequested))) {
        return;
    }
    const QString value = QString::fromStdString(m_canvas->scene()->graph().value(output).name);
    const bool isThere = m_checkpoints.contains(value);
    QAction* action = addCommand(menu, "graph.checkpoint",
                                 isThere ? tr("Remove checkpoint") : tr("Take a checkpoint of its relevance"),
                                 isThere ? tr("The next run keeps it no more")
                                         : tr("The next run keeps the relevance of this value when it is final"));
    connect(action, &QAction::triggered, this, [this, value, isThere] { emit checkpointRequested(value, !isThere); });
}

void GraphView::setFused(FusedNodesPointer fused)
{
    m_fused = std::move(fused);
    applyFused();
}

void GraphView::applyFused()
{
    if (!showsThisRun()) {
        return;
    }
    const GraphScene& scene = *m_canvas->scene();
    std::vector<bool> marks(m_fused && !m_fused->empty() ? scene.visible.nodes.size() : 0, false);
    for (std::size_t i = 0; !marks.empty() && i < m_fused->size(); ++i) {
        const base::NodeId node = (*m_fused)[i].node;
        const Index box = node.index() < scene.graph().nodeCount() ? scene.boxOf(node) : kNone;
        if (box != kNone && !scene.visible.nodes[static_cast<std::size_t>(box)].isGroup()) {
            marks[static_cast<std::size_t>(box)] = true;
        }
    }
    m_canvas->setFused(std::move(marks));
}

QString GraphView::fusedText(int box) const
{
    const layout::VisibleNode& shown = m_canvas->scene()->visible.nodes[static_cast<std::size_t>(box)];
    const auto* fused =
        shown.isGroup() ? nullptr : findFused(m_fused, base::NodeId(static_cast<std::uint32_t>(shown.node)));
    if (fused == nullptr) {
        return {};
    }
    return QLatin1Char('\n') + (fused->isComposed ? tr("does %1") : tr("stands for %1")).arg(membersText(*fused)) +
           (fused->isOpen ? QLatin1Char('\n') + tr("open: the inspector shows the relevance of each") : QString());
}

void GraphView::addFusedCommand(QMenu& menu, base::NodeId node)
{
    const FusedNode* fused = findFused(m_fused, node);
    if (fused == nullptr) {
        return;
    }
    const bool isOpen = fused->isOpen;
    QAction* open = addCommand(menu, isOpen ? "graph.closenode" : "graph.opennode",
                               isOpen ? tr("Close this node") : tr("Open this node"),
                               isOpen ? tr("Runs again without looking inside")
                                      : tr("Runs again and carries relevance through %1").arg(membersText(*fused)));
    connect(open, &QAction::triggered, this, [this, node, isOpen] { emit openNodeRequested(node, !isOpen); });
}

void GraphView::traceUpstream(base::NodeId node) { startTrace(node, Trace::Upstream); }

void GraphView::traceDownstream(base::NodeId node) { startTrace(node, Trace::Downstream); }

void GraphView::startTrace(base::NodeId node, Trace direction)
{
    if (!showsThisRun() || !node.isValid()) {
        return;
    }
    m_traced = traceFrom(*m_canvas->scene()->book, node, direction);
    const QString count = QString::fromStdString(countOfNodes(sizeOf(m_traced) - 1));
    const QString name = model().placeLabel(node);
    m_traceNote->say(direction == Trace::Upstream ? tr("Relevance of %1 goes on to %2").arg(name, count)
                                                  : tr("Relevance of %1 comes from %2").arg(name, count));
    applyHighlight();
}

void GraphView::clearTrace()
{
    clearAlso();
    m_traced.clear();
    m_traceNote->say({});
    applyHighlight();
}

std::optional<std::uint64_t> GraphView::visitOf(int box, bool isForward) const
{
    const GraphScene& scene = *m_canvas->scene();
    const std::uint64_t position = model().position();
    std::optional<std::uint64_t> best;
    for (const VisitMark& visit : scene.book->flow.visits()) {
        const std::uint64_t stop = visit.step + 1; // just after the event of the visit
        if (scene.boxOf(visit.node) != box || stop == position) {
            continue;
        }
        if (isForward && stop > position) {
            return stop;
        }
        if (!isForward && stop < position) {
            best = stop;
        }
    }
    return best;
}

void GraphView::showMenu(const Hit& hit, const QPoint& place)
{
    if (showsThisRun()) {
        QMenu* menu = makeMenu(hit);
        menu->setAttribute(Qt::WA_DeleteOnClose);
        menu->popup(place);
    }
}

QMenu* GraphView::makeMenu(const Hit& hit)
{
    auto* menu = new QMenu(this);
    menu->setToolTipsVisible(true);
    if (hit.kind == HitKind::Box) {
        addNodeCommands(*menu, hit.index);
        menu->addSeparator();
        addTraceCommands(*menu, representative(*m_canvas->scene(), m_canvas->status(), hit.index));
        menu->addSeparator();
    }
    addGroupCommands(*menu, hit);
    menu->addSeparator();
    addGraphCommands(*menu);
    return menu;
}

void GraphView::addNodeCommands(QMenu& menu, int box)
{
    const base::NodeId node = representative(*m_canvas->scene(), m_canvas->status(), box);
    const auto addRun = [&](const char* id, const QString& text, bool isForward, const QString& tip,
                            const QString& reason) {
        const auto stop = visitOf(box, isForward);
        QAction* action = addCommand(menu, id, text, tip, stop ? QString() : reason);
        connect(action, &QAction::triggered, this,
                [this, stop] { cursor().moveTo(stop.value_or(model().position())); });
    };
    addRun("graph.runto", tr("Run to here"), true, tr("Goes on to its next visit"),
           tr("It is not visited after this step"));
    addRun("graph.runback", tr("Run back to here"), false, tr("Goes back to its last visit"),
           tr("It is not visited before this step"));
    const QString unknown = model().relevanceStep(node) ? QString() : tr("Its relevance is never known in full");
    QAction* known = addCommand(menu, "graph.relevance", tr("Go to its relevance (Enter)"),
                                tr("Goes to the step at which its relevance is known in full"), unknown);
    connect(known, &QAction::triggered, this, [this, box] { activateBox(box); });
    if (!m_canvas->scene()->visible.nodes[static_cast<std::size_t>(box)].isGroup()) {
        addBreakCommand(menu, node);
        addCheckpointCommand(menu, node);
        addFusedCommand(menu, node);
        addRuleCommand(menu, node);
    }
    if (isSignalConnected(QMetaMethod::fromSignal(&GraphView::watchRequested))) {
        QAction* watch = addCommand(menu, "graph.watch", tr("Watch its relevance"),
                                    tr("Adds it to the numbers that are shown at every step"));
        connect(watch, &QAction::triggered, this, [this, node] { emit watchRequested(node); });
    }
    if (canBecomeTarget(box)) {
        QAction* target = addCommand(menu, "graph.target", tr("Explain this value (Alt+click)"),
                                     tr("The next run starts its relevance at what this node computes"));
        connect(target, &QAction::triggered, this, [this, box] { pickTarget(box); });
    }
}

/// What a click does to the breakpoints of so many nodes.
QString GraphView::breakWords(bool removes, std::int64_t count)
{
    if (removes) {
        return count > 1 ? tr("Remove %1 breakpoints").arg(countText(count)) : tr("Remove breakpoint");
    }
    return count > 1 ? tr("Break when one of %1 is visited").arg(countText(count)) : tr("Break when visited");
}

void GraphView::addRuleCommand(QMenu& menu, base::NodeId node)
{
    if (!isSignalConnected(QMetaMethod::fromSignal(&GraphView::ruleRequested))) {
        return;
    }
    const auto& rules = model().run().rules;
    const bool hasRule = node.index() < rules.size() && !rules[node.index()].rule.empty();
    QAction* rule = addCommand(menu, "graph.rule", tr("Change its rule…"),
                               tr("Gives it another rule and computes again what lies below it"),
                               hasRule ? QString() : tr("No relevance passes it, so it has no rule"));
    connect(rule, &QAction::triggered, this, [this, node] { emit ruleRequested(node); });
}

/// For all that is selected when the node is one of several: those that have none get one, or all lose theirs.
void GraphView::addBreakCommand(QMenu& menu, base::NodeId node)
{
    if (!isSignalConnected(QMetaMethod::fromSignal(&GraphView::breakRequested))) {
        return;
    }
    std::vector<base::NodeId> nodes = selectedNodes();
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
        nodes = {node};
    }
    const auto hasOne = [this](base::NodeId each) {
        return std::find(m_breakpoints.begin(), m_breakpoints.end(), each) != m_breakpoints.end();
    };
    const bool haveAll = std::all_of(nodes.begin(), nodes.end(), hasOne);
    if (!haveAll) {
        std::erase_if(nodes, hasOne);
    }
    QAction* stop = addCommand(menu, "graph.break", breakWords(haveAll, static_cast<std::int64_t>(nodes.size())),
                               haveAll ? tr("Runs stop here no more")
                                       : tr("Adds a breakpoint: runs stop whenever this node is visited"));
    connect(stop, &QAction::triggered, this, [this, nodes] {
        for (const base::NodeId each : nodes) {
            emit breakRequested(each);
        }
    });
}

void GraphView::addTraceCommands(QMenu& menu, base::NodeId node)
{
    QAction* up = addCommand(menu, "graph.upstream", tr("Trace relevance upstream"),
                             tr("Shows where its relevance may go: everything that it is computed from"));
    connect(up, &QAction::triggered, this, [this, node] { traceUpstream(node); });
    QAction* down = addCommand(menu, "graph.downstream", tr("Trace relevance downstream"),
                               tr("Shows where its relevance may come from: everything that is computed from it"));
    connect(down, &QAction::triggered, this, [this, node] { traceDownstream(node); });
    if (!m_traced.empty()) {
        QAction* clear = addCommand(menu, "graph.cleartrace", tr("Clear the trace"), tr("Shows the whole graph alike"));
        connect(clear, &QAction::triggered, this, &GraphView::clearTrace);
    }
    QAction* copy =
        addCommand(menu, "graph.copyname", tr("Copy name"), tr("Puts the name of the node on the clipboard"));
    connect(copy, &QAction::triggered, this,
            [name = model().label(node)] { QGuiApplication::clipboard()->setText(name); });
}

void GraphView::addGroupCommands(QMenu& menu, const Hit& hit)
{
    const GraphScene& scene = *m_canvas->scene();
    if (hit.kind == HitKind::Frame) {
        addToggles(menu, scene.visible.frames[static_cast<std::size_t>(hit.index)], true);
    } else if (hit.kind == HitKind::Box && scene.visible.nodes[static_cast<std::size_t>(hit.index)].isGroup()) {
        addToggles(menu, scene.visible.nodes[static_cast<std::size_t>(hit.index)].group, false);
    }
    QAction* outwards = addCommand(menu, "graph.closedepth", tr("Close one level (Shift+C)"),
                                   tr("Closes every group as deep as the one around the selection"));
    connect(outwards, &QAction::triggered, this, [this] { setDepth(true); });
    QAction* inwards = addCommand(menu, "graph.opendepth", tr("Open one level (Shift+E)"),
                                  tr("Opens every group as deep as the selected one"));
    connect(inwards, &QAction::triggered, this, [this] { setDepth(false); });
}

void GraphView::addToggles(QMenu& menu, int group, bool isOpen)
{
    QAction* toggle = isOpen ? addCommand(menu, "graph.close", tr("Close group"), tr("Shows it as one box"))
                             : addCommand(menu, "graph.open", tr("Open group (E)"), tr("Shows what is in it"));
    connect(toggle, &QAction::triggered, this, [this, group] {
        m_canvas->holdSelected();
        toggleGroup(group);
    });
    if (const auto count = static_cast<std::int64_t>(groupsLike(*m_canvas->scene()->book, group).size()); count > 1) {
        const QString tip = tr("Same operators, same wiring, weights of the same shapes");
        QAction* like = isOpen
                            ? addCommand(menu, "graph.closelike", tr("Close all %1 like it").arg(countText(count)), tip)
                            : addCommand(menu, "graph.openlike", tr("Open all %1 like it").arg(countText(count)), tip);
        connect(like, &QAction::triggered, this, [this, group, isOpen] { setLikeClosed(group, isOpen); });
    }
}

void GraphView::addGraphCommands(QMenu& menu)
{
    QMenu* colours = menu.addMenu(tr("Colour by"));
    auto* group = new QActionGroup(colours);
    for (const ColourBy by : kColourings) {
        QAction* action = addCommand(*colours, "graph.colourby", wordOf(by), tr("What the colours of the boxes mean"));
        action->setCheckable(true);
        action->setChecked(by == m_colourBy);
        group->addAction(action);
        connect(action, &QAction::triggered, this, [this, by] { setColourBy(by); });
    }
    const std::vector<bool>& constants = m_canvas->scene()->book->isConstant;
    const auto count = std::count(constants.begin(), constants.end(), true);
    QAction* hide =
        addCommand(menu, "graph.hideconstants", tr("Hide constants"), tr("Leaves out operators that no input reaches"),
                   count == 0 ? tr("Every operator of this graph depends on an input") : QString());
    hide->setCheckable(true);
    hide->setChecked(m_hidesConstants);
    connect(hide, &QAction::toggled, this, &GraphView::setConstantsHidden);
    QAction* refined = addCommand(menu, "graph.refine", tr("Refine layout with Graphviz"),
                                  tr("Lays out what is shown anew, in a program of its own that can be stopped"));
    refined->setCheckable(true);
    refined->setChecked(m_wantsRefined);
    connect(refined, &QAction::toggled, this, &GraphView::setRefined);
}

} // namespace retro::views
