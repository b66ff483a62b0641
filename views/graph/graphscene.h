// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/layout/graphadapter.h"
#include "core/layout/layeredlayout.h"
#include "core/layout/layoutfolder.h"
#include "core/layout/layoutmemo.h"
#include "core/layout/likegroups.h"
#include "views/graph/boxmetrics.h"
#include "views/graph/relevanceflow.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::views
{

/// Graphs with at most this many nodes start with every group open.
inline constexpr layout::Index kOpenNodes = 60;

using layout::LikeGroup;

/// The graph of a run as it can be drawn: everything that does not depend on which groups are open. Immutable, shared
/// between threads.
struct GraphBook
{
    std::shared_ptr<const trace::Run> run;
    std::shared_ptr<const graph::Graph> graph;
    layout::DrawnGraph drawn;
    RelevanceFlow flow;
    BoxMetrics metrics;
    std::vector<double> nodeWidths;         ///< per node; equal at the same place of groups that are built alike
    std::vector<layout::Index> groupParts;  ///< per group: nodes in it and in all groups inside it
    std::vector<layout::Index> groupDepths; ///< per group: 0 = outermost
    std::vector<bool> isRepeated;           ///< per group: another one is built alike
    std::vector<layout::Index> widestLike;  ///< per group: the one with the longest name of those that are built alike
    std::vector<bool> isPass;               ///< per node: hands on unchanged what its only operand gets
    std::vector<bool> isConstant;           ///< per node: nothing that it computes depends on an input of the graph
    std::vector<LikeGroup> likeGroups;      ///< the layers of a long graph: by their first node
    double relevanceStart = 0;              ///< Σ of what the run began with
    double leastShare = 0;                  ///< of it, the least that arrives anywhere; 0 where none is below
};

/// Reads a graph and the events of a run on it. O(nodes + edges + events).
[[nodiscard]] std::shared_ptr<const GraphBook>
makeBook(std::shared_ptr<const trace::Run> run, std::shared_ptr<const graph::Graph> graph, const BoxMetrics& metrics);

/// Which groups are closed when a graph is opened: none in a small graph; else all from one depth on, the outermost
/// unless that would leave next to nothing to see and the next does not leave too much.
[[nodiscard]] std::vector<bool> initiallyClosed(const GraphBook& book);

/// How a drawing shows its nodes, and which way it runs.
struct SceneStyle
{
    bool hasCards = false;   ///< cards with a picture in place of rows of text
    bool isSideways = false; ///< to be shown through a transposed camera: inputs left, relevance runs to the left
    bool operator==(const SceneStyle&) const = default;
};

/// What a box of a drawing with cards is.
enum class CardKind : std::uint8_t {
    Card,
    Pill, ///< hands relevance on unchanged: its picture is its neighbour's
    Group
};

/// A drawing: what is visible with some groups closed, and where it lies. Immutable, shared between threads. Boxes,
/// edges and frames are those of `visible`, positions those of `layout`, in scene units.
struct GraphScene
{
    std::shared_ptr<const GraphBook> book;
    std::vector<bool> closed; ///< per group
    SceneStyle style;
    layout::VisibleGraph visible;
    layout::LayeredLayout layout;
    layout::Buckets producersOf; ///< per box: edges that enter it
    layout::Buckets consumersOf; ///< per box: edges that leave it

    [[nodiscard]] const graph::Graph& graph() const { return *book->graph; }
    [[nodiscard]] layout::Index boxCount() const { return static_cast<layout::Index>(visible.nodes.size()); }
    [[nodiscard]] CardKind cardOf(layout::Index box) const;
    /// The box that shows a node; kNone when there is no such node.
    [[nodiscard]] layout::Index boxOf(base::NodeId node) const;
    /// The edge from one box to another, kNone when there is none; the first of several.
    [[nodiscard]] layout::Index edgeBetween(layout::Index producer, layout::Index consumer) const;
    /// The value that an edge carries; the first one of a merged edge.
    [[nodiscard]] base::ValueId valueOf(layout::Index edge) const;
    /// True when an edge carries a value, alone or with others.
    [[nodiscard]] bool carries(layout::Index edge, base::ValueId value) const;
};

/// Whether operators that no input reaches are drawn.
enum class Constants { Shown, Hidden };

/// Layouts that were made before, in memory and on disk; either may be null.
struct LayoutCaches
{
    std::shared_ptr<layout::LayoutMemo> memo;
    std::shared_ptr<const layout::LayoutFolder> folder;
};

/// Own layouts of fewer boxes are made faster than a file is read.
inline constexpr layout::Index kLeastKeptBoxes = 2000;

/// Collapses and lays out; groups that are built alike get the same picture inside. Errors: those of layout::collapse
/// and layout::computeLayout (Input, Cancelled).
[[nodiscard]] base::Result<std::shared_ptr<const GraphScene>>
makeScene(std::shared_ptr<const GraphBook> book, std::vector<bool> closed, const std::stop_token& stop = {},
          Constants constants = Constants::Shown, const LayoutCaches& caches = {}, SceneStyle style = {});

/// What a drawing gave to the layout, and the distances that it asks for.
[[nodiscard]] layout::LayoutInput layoutInputOf(const GraphScene& scene);
[[nodiscard]] layout::LayoutOptions layoutOptionsFor(const BoxMetrics& metrics, SceneStyle style = {});

/// Last part of a node's name, after the last '/'.
[[nodiscard]] std::string_view shortName(const graph::Graph& graph, base::NodeId node);
/// Name of a node as its box says it: what its path adds to the group that the box stands in ("first/conv"), without a
/// last part that only repeats the operator.
[[nodiscard]] std::string_view nameInGroup(const GraphBook& book, base::NodeId node);
/// The same in one word, for cards: "first/conv" of a Conv is "first".
[[nodiscard]] std::string_view cardName(const GraphBook& book, base::NodeId node);
/// Shape of a node's first output without a leading batch of 1: "3×96×96"; empty when unknown.
[[nodiscard]] std::string shortShape(const graph::Graph& graph, const trace::Run& run, base::NodeId node);
/// What a group holds: "19 nodes"; of one that stands for like groups "×12, 228 nodes".
[[nodiscard]] std::string groupDetail(const GraphBook& book, layout::Index group, layout::Index nodeCount);
/// "19 nodes".
[[nodiscard]] std::string countOfNodes(layout::Index count);

} // namespace retro::views
