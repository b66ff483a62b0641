// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/fusednode.h"
#include "views/common/view.h"
#include "views/graph/emphasis.h"
#include "views/graph/graphcolouring.h"

#include <QPointer>

#include <optional>

#include <memory>
#include <vector>

class QMenu;

namespace retro::views
{

class GraphCanvas;
class GraphFind;
class GraphNote;
class GraphRefiner;
class GraphTools;
class JobRunner;
class TimeRange;
struct Hit;

/// The network with its inputs on top, and on it the state of the run: modes, promises, frontier, relevance on the
/// edges. Selecting never moves time; a double click on a node goes to where its relevance was known in full.
class GraphView final : public View
{
    Q_OBJECT

public:
    GraphView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Graph"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    /// Pictures show what is visible with the groups that are open now; dot and json have every node.
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    /// How much of the graph a picture shows: all of it, what is in sight, or what is selected and the ways between.
    enum class Part { All, InSight, Selected };
    /// As exportTo(), a part of the graph as .svg, .png or .pdf. Errors also: Usage (nothing is selected).
    [[nodiscard]] base::Result<void> exportPart(const std::filesystem::path& path, Part part);
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

    /// Controls for the title of the dock: colour by, find, −, percentage, +, fit. Made on first use; whoever shows it
    /// owns it.
    [[nodiscard]] QWidget* tools();
    [[nodiscard]] GraphCanvas& canvas() const { return *m_canvas; }
    [[nodiscard]] bool isLayoutRunning() const;
    [[nodiscard]] bool isFollowing() const { return m_isFollowing; }
    /// Cards with pictures, and what moves, in place of rows of text; sideways in a pane that is much wider than high.
    void setInMotion(bool isInMotion);
    [[nodiscard]] bool isInMotion() const { return m_isInMotion; }
    /// Which way a graph in motion runs.
    enum class Run : std::uint8_t { Auto, Sideways, Down };
    void setRunning(Run run);
    [[nodiscard]] Run running() const { return m_running; }
    [[nodiscard]] bool isRefined() const { return m_wantsRefined; }
    [[nodiscard]] bool areConstantsHidden() const { return m_hidesConstants; }
    /// What is selected here, the one that the whole window knows last; several with Ctrl+click.
    [[nodiscard]] std::vector<base::NodeId> selectedNodes() const;
    /// Nodes that have a breakpoint; they get a dot.
    void setBreakpoints(std::vector<base::NodeId> nodes);
    /// What nodes stand for that rewrites made of several; they get a second outline, their members are in the tool
    /// tip.
    void setFused(FusedNodesPointer fused);
    /// What verifying and the analysis of gradients found: colours by gradient check, float error and gradient path,
    /// and a line in the tool tips.
    void setChecks(GraphChecks checks);
    /// What a diagnosis found: colours by finding, and lines in the tool tips.
    void setFound(FoundNodes found);
    /// Where the relevance of the run on screen ends: colours by region, and a line in the tool tips; what puts nothing
    /// there is faint while the colours are those. `overlay` must outlive the view.
    void followRegion(const RegionOverlay& overlay);
    /// Values at which the next run takes LRP checkpoints, by name; their nodes get a pennant.
    void setCheckpoints(const QStringList& values);
    /// Nodes whose results are in memory at the step of a plan; they get a bar below.
    void setLive(std::vector<base::NodeId> nodes);
    /// Layouts that take long are kept in that folder, at most 128 MiB of them; empty = nowhere.
    void setLayoutFolder(const std::filesystem::path& folder);
    /// Layouts that are shared by groups that are built alike.
    [[nodiscard]] const layout::LayoutMemo& layoutMemo() const { return *m_caches.memo; }
    /// For tests: another program, other limits. The view owns it from now on.
    void setRefiner(GraphRefiner* refiner);
    [[nodiscard]] ColourBy colourBy() const { return m_colourBy; }
    /// What is not visited in that part of the run is faint from now on; `range` must outlive the view.
    void followRange(TimeRange& range);
    /// The nodes that stand out at present: what the find box found, else what was traced, else what is visited in the
    /// chosen part of the run; empty when none do.
    [[nodiscard]] const NodeSet& highlighted() const { return m_highlighted; }
    /// Commands for what lies under a point: run to it, break at it, trace, open and close, hide. Every command has its
    /// id as object name. The caller owns the menu.
    [[nodiscard]] QMenu* makeMenu(const Hit& hit);

public slots:
    void zoomIn();
    void zoomOut();
    void fitAll();
    void fitSelection();
    void showFind();
    void findNext();
    void findPrevious();
    /// The picture scrolls to the current node when the cursor moves, and to what is selected elsewhere.
    void setFollow(bool isOn);
    void resumeFollowing();
    void setMinimapShown(bool isShown);
    void setLegendShown(bool isShown);
    void expandAll() { setAllClosed(false); }
    void collapseAll() { setAllClosed(true); }
    void setColourBy(retro::views::ColourBy by);
    /// Leaves out operators that compute from constants alone.
    void setConstantsHidden(bool isHidden);
    /// Lays every drawing of up to 1,500 boxes out again with Graphviz, in a program of its own.
    void setRefined(bool isOn);
    /// Everything that relevance may reach from a node, or may have come from, stands out; the rest is faint.
    void traceUpstream(retro::base::NodeId node);
    void traceDownstream(retro::base::NodeId node);
    void clearTrace();
    /// Selects a node beside those that are, or no longer; the ways between them stand out.
    void toggleSelected(retro::base::NodeId node);

signals:
    void zoomChanged(double zoom);
    /// A layout that was computed aside is on screen.
    void layoutFinished();
    /// The run is to stop whenever this node is visited.
    void breakRequested(retro::base::NodeId node);
    /// The relevance of a value is to be kept when it is final, or no longer.
    void checkpointRequested(const QString& value, bool isOn);
    /// Relevance is to be carried through the members of a fused node, or no longer.
    void openNodeRequested(retro::base::NodeId node, bool isOpen);
    /// The rule of a node is to be changed.
    void ruleRequested(retro::base::NodeId node);
    /// The relevance of a node is to be seen at every step.
    void watchRequested(retro::base::NodeId node);
    /// A value is to be explained by the next run.
    void targetRequested(retro::base::ValueId value);
    /// A layout by Graphviz is on screen.
    void refineSucceeded();
    /// Refining or hiding constants was switched.
    void settingsChanged();
    /// Graphviz made no better layout, in one line.
    void refineFailed(const QString& reason);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    using ScenePointer = std::shared_ptr<const GraphScene>;

    [[nodiscard]] QString scoreText() const;
    void applyCards();
    [[nodiscard]] SceneStyle wantedStyle() const;
    void followPane();

    void openRun();
    void follow(Changes changes);
    void build(std::vector<bool> closed, bool isFirst);
    void install(base::Result<ScenePointer> scene, bool isFirst);
    void applyState();
    void applySelection(bool isFromHere);
    void selectBox(int box);
    void addBox(int box);
    void pickTarget(int box);
    void clearAlso();
    void showBetween();
    void applyAlso();
    [[nodiscard]] bool canBecomeTarget(int box) const;
    void activateBox(int box);
    void selectEdge(int edge);
    void toggleGroup(int group);
    void openAround(int group);
    void setAllClosed(bool isClosed);
    void setDepth(bool isClosed);
    void setLikeClosed(int group, bool isClosed);
    void applyColouring();
    void applyHighlight();
    void applyRegion();
    [[nodiscard]] NodeSet visitedInRange() const;
    void applyBreakpoints();
    void applyFused();
    void addFusedCommand(QMenu& menu, base::NodeId node);
    void addRuleCommand(QMenu& menu, base::NodeId node);
    [[nodiscard]] static QString breakWords(bool removes, std::int64_t count);
    void applyCheckpoints();
    void applyLive();
    void addCheckpointCommand(QMenu& menu, base::NodeId node);
    void refine();
    void showRefined(const std::shared_ptr<const GraphScene>& from, const std::shared_ptr<const GraphScene>& to);
    void startTrace(base::NodeId node, Trace direction);
    void showMenu(const Hit& hit, const QPoint& place);
    void addNodeCommands(QMenu& menu, int box);
    void addBreakCommand(QMenu& menu, base::NodeId node);
    void addTraceCommands(QMenu& menu, base::NodeId node);
    void addGroupCommands(QMenu& menu, const Hit& hit);
    void addToggles(QMenu& menu, int group, bool isOpen);
    void addGraphCommands(QMenu& menu);
    /// Where a visit of a box ends, after or before the present position; nothing when there is none.
    [[nodiscard]] std::optional<std::uint64_t> visitOf(int box, bool isForward) const;
    void describeSelection();
    [[nodiscard]] QString fusedText(int box) const;
    [[nodiscard]] QString checksText(int box) const;
    [[nodiscard]] QString tipFor(const Hit& hit) const;
    [[nodiscard]] bool showsThisRun() const;

    GraphCanvas* m_canvas = nullptr;
    GraphFind* m_find = nullptr;
    QPointer<GraphTools> m_tools; // its owner may end before this view
    JobRunner* m_jobs = nullptr;
    GraphNote* m_traceNote = nullptr;
    GraphNote* m_refineNote = nullptr;
    GraphRefiner* m_refiner = nullptr;
    LayoutCaches m_caches;
    bool m_wantsRefined = false;
    ColourBy m_colourBy = ColourBy::Mode;
    GraphChecks m_checks;
    bool m_hidesConstants = false;
    std::vector<base::NodeId> m_breakpoints;
    QStringList m_checkpoints;               // names of values
    std::vector<base::NodeId> m_live;        // of the step of a plan
    const RegionOverlay* m_region = nullptr; // borrowed
    TimeRange* m_range = nullptr;            // borrowed; null = the whole run
    FusedNodesPointer m_fused;               // may be of a run that is not on screen yet
    NodeSet m_traced;                        // empty = nothing
    std::vector<base::NodeId> m_also;        // selected before the one that the window knows, oldest first
    NodeSet m_highlighted;                   // what is on screen
    std::vector<bool> m_closed;              // as asked for; the scene on screen may be older
    QString m_problem;                       // why nothing can be drawn
    bool m_isFollowing = true;
    bool m_isOwnSelection = false;
    bool m_isInMotion = false;
    std::shared_ptr<const trace::Run> m_motionOf; ///< whose motion the canvas shows
    Run m_running = Run::Auto;
};

} // namespace retro::views
