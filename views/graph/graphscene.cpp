// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphscene.h"

#include "core/layout/repeats.h"
#include "core/layout/smallgroups.h"
#include "core/layout/stamping.h"
#include "core/trace/gradientrun.h"
#include "core/trace/ledgersummary.h"
#include "views/common/numbertext.h"

#include <QCoreApplication>

#include <algorithm>
#include <numeric>
#include <utility>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

constexpr Index kFewBoxes = 8;    // fewer than this show nothing of a large graph …
constexpr Index kManyBoxes = 500; // … and more than this are no overview either

/// Puts nodes that stand at the same place of groups that are built alike into one class; the smallest node names it.
class Twins
{
public:
    explicit Twins(const layout::DrawnGraph& drawn) : m_first(drawn.graph.nodeGroups.size())
    {
        std::iota(m_first.begin(), m_first.end(), 0);
        std::vector<std::vector<Index>> members(drawn.groupLike.size());
        for (std::size_t node = 0; node < m_first.size(); ++node) {
            for (Index at = drawn.graph.nodeGroups[node]; at != kNone;
                 at = drawn.graph.groupParents[static_cast<std::size_t>(at)]) {
                members[static_cast<std::size_t>(at)].push_back(static_cast<Index>(node));
            }
        }
        for (std::size_t group = 0; group < members.size(); ++group) {
            const auto& like = members[static_cast<std::size_t>(drawn.groupLike[group])];
            for (std::size_t i = 0; i < std::min(like.size(), members[group].size()); ++i) {
                join(like[i], members[group][i]);
            }
        }
    }

    [[nodiscard]] std::size_t firstOf(std::size_t node)
    {
        auto at = static_cast<Index>(node);
        while (first(at) != at) {
            first(at) = first(first(at));
            at = first(at);
        }
        return static_cast<std::size_t>(at);
    }

private:
    Index& first(Index node) { return m_first[static_cast<std::size_t>(node)]; }

    void join(Index a, Index b)
    {
        const auto one = static_cast<Index>(firstOf(static_cast<std::size_t>(a)));
        const auto other = static_cast<Index>(firstOf(static_cast<std::size_t>(b)));
        first(std::max(one, other)) = std::min(one, other);
    }

    std::vector<Index> m_first;
};

/// Groups that are built alike get boxes of the same widths, whatever the names in them.
void alignTwins(GraphBook& book)
{
    const layout::DrawnGraph& drawn = book.drawn;
    Twins twins(drawn);
    std::vector<double> widest(book.nodeWidths.size(), 0);
    for (std::size_t node = 0; node < widest.size(); ++node) {
        double& most = widest[twins.firstOf(node)];
        most = std::max(most, book.nodeWidths[node]);
    }
    for (std::size_t node = 0; node < widest.size(); ++node) {
        book.nodeWidths[node] = widest[twins.firstOf(node)];
    }
    book.isRepeated.assign(drawn.groupLike.size(), false);
    book.widestLike = drawn.groupLike;
    const auto nameWidth = [&](Index group) { return book.metrics.nameWidth(drawn.groupName(group)); };
    for (std::size_t group = 0; group < drawn.groupLike.size(); ++group) {
        const auto like = static_cast<std::size_t>(drawn.groupLike[group]);
        if (like != group) {
            book.isRepeated[like] = book.isRepeated[group] = true;
        }
        if (nameWidth(static_cast<Index>(group)) > nameWidth(book.widestLike[like])) {
            book.widestLike[like] = static_cast<Index>(group);
        }
    }
    for (std::size_t group = 0; group < drawn.groupLike.size(); ++group) {
        book.widestLike[group] = book.widestLike[static_cast<std::size_t>(drawn.groupLike[group])];
    }
}

void measureNodes(GraphBook& book)
{
    const graph::Graph& graph = *book.graph;
    book.nodeWidths.reserve(graph.runNodeCount());
    for (std::size_t i = 0; i < graph.runNodeCount(); ++i) {
        const base::NodeId node(i);
        book.nodeWidths.push_back(book.metrics.nodeWidth(nameInGroup(book, node), shortShape(graph, *book.run, node)));
    }
}

/// Groups stand behind those around them, so that one walk from the back sums up.
void measureGroups(GraphBook& book)
{
    const layout::GroupedGraph& graph = book.drawn.graph;
    const std::vector<Index>& parents = graph.groupParents;
    book.groupParts.assign(parents.size(), 0);
    book.groupDepths.assign(parents.size(), 0);
    for (const Index group : graph.nodeGroups) {
        if (group != kNone) {
            ++book.groupParts[static_cast<std::size_t>(group)];
        }
    }
    for (std::size_t group = parents.size(); group-- > 0;) {
        if (parents[group] != kNone) {
            book.groupParts[static_cast<std::size_t>(parents[group])] += book.groupParts[group];
        }
    }
    for (std::size_t group = 0; group < parents.size(); ++group) {
        if (parents[group] != kNone) {
            book.groupDepths[group] = book.groupDepths[static_cast<std::size_t>(parents[group])] + 1;
        }
    }
}

/// Nodes stand behind what they read.
void findConstants(GraphBook& book)
{
    const graph::Graph& graph = *book.graph;
    book.isConstant.assign(graph.runNodeCount(), false); // inputs come last and are none
    for (std::size_t node = 0; node < graph.nodeCount(); ++node) {
        const auto& inputs = graph.nodes()[node].inputs;
        book.isConstant[node] = std::all_of(inputs.begin(), inputs.end(), [&](base::ValueId operand) {
            const base::NodeId source = operand.isValid() ? graph.nodeOf(operand) : base::NodeId();
            return !source.isValid() || book.isConstant[source.index()];
        });
    }
}

/// What the run began with, and the least part of it that arrives anywhere.
void measureShares(GraphBook& book)
{
    if (trace::carriesGradient(*book.run)) {
        return; // which is no share of anything
    }
    const trace::LedgerSummary summary = trace::summarise(*book.run);
    book.relevanceStart = summary.start;
    if (summary.start == 0) {
        return;
    }
    book.leastShare = std::min(0.0, summary.leaves / summary.start);
    for (const trace::NodeBalance& node : summary.nodes) {
        book.leastShare = std::min(book.leastShare, node.arrived / summary.start);
    }
}

/// Nodes whose rule hands on what arrives, and that have one drawn operand.
void findPasses(GraphBook& book)
{
    const layout::GroupedGraph& graph = book.drawn.graph;
    std::vector<Index> operands(static_cast<std::size_t>(graph.nodeCount), 0);
    for (const layout::LayoutEdge& edge : graph.edges) {
        ++operands[static_cast<std::size_t>(edge.to)];
    }
    book.isPass.assign(operands.size(), false);
    const std::size_t count = std::min(operands.size(), book.run->rules.size());
    for (std::size_t node = 0; node < count; ++node) {
        book.isPass[node] = operands[node] == 1 && trace::handsOn(book.run->rules[node]);
    }
}

std::vector<bool> closedFrom(const GraphBook& book, Index depth)
{
    std::vector<bool> closed(book.groupDepths.size());
    for (std::size_t group = 0; group < closed.size(); ++group) {
        closed[group] = book.groupDepths[group] >= depth;
    }
    return closed;
}

/// Boxes when all groups from `depth` on are closed, as if none had to be cut into parts.
Index boxesFrom(const GraphBook& book, Index depth)
{
    const layout::GroupedGraph& graph = book.drawn.graph;
    Index boxes = 0;
    for (const Index group : graph.nodeGroups) {
        boxes += group == kNone || book.groupDepths[static_cast<std::size_t>(group)] < depth ? 1 : 0;
    }
    return boxes + static_cast<Index>(std::count(book.groupDepths.begin(), book.groupDepths.end(), depth));
}

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Cards; a drawing that is shown sideways is laid out with what is wide on the screen high.
std::vector<layout::Size> cardSizesOf(const GraphScene& scene)
{
    const BoxMetrics& metrics = scene.book->metrics;
    std::vector<layout::Size> sizes;
    sizes.reserve(scene.visible.nodes.size());
    for (Index box = 0; box < scene.boxCount(); ++box) {
        layout::Size size{metrics.card, metrics.cardHeight};
        if (scene.cardOf(box) == CardKind::Group) {
            size.width = metrics.groupCard;
        } else if (scene.cardOf(box) == CardKind::Pill) {
            const auto node = static_cast<std::uint32_t>(scene.visible.nodes[static_cast<std::size_t>(box)].node);
            size = {metrics.pillWidth(cardName(*scene.book, base::NodeId(node))), metrics.pill};
        }
        if (scene.style.isSideways) {
            std::swap(size.width, size.height);
        }
        sizes.push_back(size);
    }
    return sizes;
}

std::vector<layout::Size> sizesOf(const GraphBook& book, const layout::VisibleGraph& visible)
{
    std::vector<layout::Size> sizes;
    sizes.reserve(visible.nodes.size());
    for (const layout::VisibleNode& node : visible.nodes) {
        const double width =
            node.isGroup()
                ? book.metrics.groupWidth(book.drawn.groupName(book.widestLike[static_cast<std::size_t>(node.group)]),
                                          groupDetail(book, node.group, node.memberCount))
                : book.nodeWidths[static_cast<std::size_t>(node.node)];
        sizes.push_back({width, book.metrics.height});
    }
    return sizes;
}

base::Result<layout::LayeredLayout> layOut(const GraphScene& scene, const LayoutCaches& caches,
                                           const std::stop_token& stop)
{
    const layout::LayoutInput input = layoutInputOf(scene);
    const layout::LayoutOptions options = layoutOptionsFor(scene.book->metrics, scene.style);
    std::vector<bool> isRepeated;
    for (const Index group : scene.visible.frames) {
        isRepeated.push_back(scene.book->isRepeated[static_cast<std::size_t>(group)]);
    }
    const bool isKept = caches.folder != nullptr && scene.boxCount() >= kLeastKeptBoxes;
    const base::Hash128 key = isKept ? layout::stampKey(input, isRepeated, options) : base::Hash128{};
    if (isKept) {
        if (auto known = caches.folder->find(key, input)) {
            return std::move(*known);
        }
    }
    layout::LayoutMemo own;
    RETRO_TRY(layout::LayeredLayout made,
              layout::stampLayout(input, isRepeated, options, caches.memo != nullptr ? *caches.memo : own, stop));
    if (isKept) {
        static_cast<void>(caches.folder->add(key, made)); // without it the layout is made again next time
    }
    return made;
}

} // namespace

layout::LayoutOptions layoutOptionsFor(const BoxMetrics& metrics, SceneStyle style)
{
    const double s = metrics.scale;
    layout::LayoutOptions options;
    options.nodeGap = 24 * s;
    options.laneGap = 16 * s;
    options.layerGap = 16 * s;
    options.gapSlope = 0.06;
    options.maxLayerGap = 34 * s;
    options.portGap = 14 * s;
    options.groupPadding = 10 * s;
    options.groupHeader = 22 * s;
    if (style.hasCards) {
        options.layerGap = 30 * s; // a pulse has room on its edge
        options.maxLayerGap = 44 * s;
    }
    if (style.isSideways) {
        options.groupPadding = 25 * s; // the title stands where the scene has the left side of the frame
        options.groupHeader = 12 * s;
        options.nodeGap = 30 * s;
        options.laneGap = 20 * s;
        options.lanesFirst = true; // above the row, so that no search line crosses a card
    }
    return options;
}

layout::LayoutInput layoutInputOf(const GraphScene& scene)
{
    return layout::layoutInputOf(scene.visible,
                                 scene.style.hasCards ? cardSizesOf(scene) : sizesOf(*scene.book, scene.visible));
}

std::string_view shortName(const graph::Graph& graph, base::NodeId node)
{
    const std::string_view whole = graph.labelOf(node);
    const std::size_t end = whole.find_last_not_of('/');
    if (end == std::string_view::npos) {
        return whole;
    }
    const std::string_view name = whole.substr(0, end + 1);
    const std::size_t slash = name.rfind('/');
    return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

std::string_view nameInGroup(const GraphBook& book, base::NodeId node)
{
    const std::string_view shortest = shortName(*book.graph, node);
    const std::string_view op = book.graph->opOf(node);
    std::string_view scope = book.graph->scopeOf(node);
    while (scope.starts_with('/')) {
        scope.remove_prefix(1);
    }
    Index group = book.drawn.graph.nodeGroups[node.index()];
    while (group != kNone && !scope.starts_with(book.drawn.groupPaths[static_cast<std::size_t>(group)])) {
        group = book.drawn.graph.groupParents[static_cast<std::size_t>(group)]; // a group that is in no scope path
    }
    const std::size_t known = group == kNone ? 0 : book.drawn.groupPaths[static_cast<std::size_t>(group)].size() + 1;
    const std::string_view rest = scope.substr(std::min(known, scope.size()));
    // "Conv" and "Conv_3" only repeat the operator.
    const bool isRepeated = shortest.starts_with(op) && (shortest.size() == op.size() || shortest[op.size()] == '_');
    return rest.empty() || !isRepeated ? shortest : rest;
}

std::string_view cardName(const GraphBook& book, base::NodeId node)
{
    const std::string_view name = nameInGroup(book, node);
    const std::size_t slash = name.rfind('/');
    if (slash == std::string_view::npos) {
        return name;
    }
    const std::string_view last = name.substr(slash + 1);
    const bool isOperator = std::ranges::equal(last, book.graph->opOf(node), {}, lowered, lowered);
    return isOperator ? name.substr(0, slash) : last;
}

std::string shortShape(const graph::Graph& graph, const trace::Run& run, base::NodeId node)
{
    const base::ValueId output = graph.firstOutput(node);
    if (output.index() >= run.shapes.size()) {
        return {};
    }
    const tensor::Shape& shape = run.shapes[output.index()];
    std::string text;
    for (std::size_t i = shape.size() > 1 && shape.front() == 1 ? 1 : 0; i < shape.size(); ++i) {
        text += (text.empty() ? "" : "×") + std::to_string(shape[i]);
    }
    return text;
}

std::string countOfNodes(Index count)
{
    const QString text = count == 1
                             ? QCoreApplication::translate("retro::views::GraphView", "1 node")
                             : QCoreApplication::translate("retro::views::GraphView", "%1 nodes").arg(countText(count));
    return text.toStdString();
}

std::string groupDetail(const GraphBook& book, Index group, Index nodeCount)
{
    const Index repeats = book.drawn.groupRepeats[static_cast<std::size_t>(group)];
    const std::string nodes = countOfNodes(nodeCount);
    return repeats > 1 ? "×" + countText(repeats).toStdString() + ", " + nodes : nodes;
}

std::shared_ptr<const GraphBook> makeBook(std::shared_ptr<const trace::Run> run,
                                          std::shared_ptr<const graph::Graph> graph, const BoxMetrics& metrics)
{
    auto book = std::make_shared<GraphBook>();
    book->run = std::move(run);
    book->graph = std::move(graph);
    book->metrics = metrics;
    book->drawn = layout::readGraph(*book->graph);
    layout::dissolveSmallGroups(book->drawn);
    layout::addRepeats(*book->graph, book->drawn);
    book->flow = RelevanceFlow(book->drawn, *book->run);
    measureNodes(*book);
    alignTwins(*book);
    measureGroups(*book);
    findConstants(*book);
    findPasses(*book);
    book->likeGroups = layout::likeGroups(book->drawn, book->graph->nodeCount());
    if (book->run->graph != nullptr && !book->run->ledger.empty()) {
        measureShares(*book);
    }
    return book;
}

std::vector<bool> initiallyClosed(const GraphBook& book)
{
    const std::vector<Index>& depths = book.groupDepths;
    const Index deepest = depths.empty() ? 0 : *std::max_element(depths.begin(), depths.end());
    if (book.drawn.graph.nodeCount <= kOpenNodes) {
        return std::vector<bool>(depths.size(), false);
    }
    Index depth = 0;
    while (depth < deepest && boxesFrom(book, depth) < kFewBoxes && boxesFrom(book, depth + 1) <= kManyBoxes) {
        ++depth;
    }
    return closedFrom(book, depth);
}

base::Result<std::shared_ptr<const GraphScene>> makeScene(std::shared_ptr<const GraphBook> book,
                                                          std::vector<bool> closed, const std::stop_token& stop,
                                                          Constants constants, const LayoutCaches& caches,
                                                          SceneStyle style)
{
    auto scene = std::make_shared<GraphScene>();
    scene->style = style;
    scene->book = std::move(book);
    scene->closed = std::move(closed);
    RETRO_TRY(scene->visible,
              layout::collapse(scene->book->drawn.graph, scene->closed,
                               constants == Constants::Hidden ? scene->book->isConstant : std::vector<bool>()));
    RETRO_TRY(scene->layout, layOut(*scene, caches, stop));
    const auto edgeCount = static_cast<Index>(scene->visible.edges.size());
    const std::vector<layout::LayoutEdge>& edges = scene->visible.edges;
    scene->producersOf = layout::groupBy(edgeCount, scene->boxCount(), [&](Index e) { return edges[e].to; });
    scene->consumersOf = layout::groupBy(edgeCount, scene->boxCount(), [&](Index e) { return edges[e].from; });
    return std::shared_ptr<const GraphScene>(std::move(scene));
}

CardKind GraphScene::cardOf(Index box) const
{
    const layout::VisibleNode& node = visible.nodes[static_cast<std::size_t>(box)];
    if (node.isGroup()) {
        return CardKind::Group;
    }
    return book->isPass[static_cast<std::size_t>(node.node)] ? CardKind::Pill : CardKind::Card;
}

Index GraphScene::boxOf(base::NodeId node) const
{
    return node.isValid() && node.index() < visible.visibleOf.size() ? visible.visibleOf[node.index()] : kNone;
}

Index GraphScene::edgeBetween(Index producer, Index consumer) const
{
    for (const Index edge : producersOf[consumer]) {
        if (visible.edges[static_cast<std::size_t>(edge)].from == producer) {
            return edge;
        }
    }
    return kNone;
}

base::ValueId GraphScene::valueOf(Index edge) const
{
    const auto members = visible.edgeMembers[edge];
    return members.empty() ? base::ValueId() : book->drawn.edgeTensors[static_cast<std::size_t>(members.front())].value;
}

bool GraphScene::carries(Index edge, base::ValueId value) const
{
    const auto members = visible.edgeMembers[edge];
    return std::any_of(members.begin(), members.end(), [&](Index member) {
        return book->drawn.edgeTensors[static_cast<std::size_t>(member)].value == value;
    });
}

} // namespace retro::views
