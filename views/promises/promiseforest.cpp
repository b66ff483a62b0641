// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promiseforest.h"

#include "core/layout/likegroups.h"
#include "core/layout/repeats.h"
#include "core/layout/smallgroups.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace retro::views
{

namespace
{

using event::Event;
using event::EventKind;

constexpr std::uint32_t kNoLayer = std::numeric_limits<std::uint32_t>::max();

/// Fills the facts from one event. A Timeline has checked the run: ids are in range.
void book(std::vector<PromiseFacts>& promises, const Event& e, std::uint64_t step)
{
    switch (e.kind) {
    case EventKind::NewPromise: {
        PromiseFacts facts;
        facts.kind = static_cast<event::PromiseKind>(e.extra);
        facts.start = base::NodeId(e.node);
        facts.raisedAt = step;
        facts.branches.resize(e.slot);
        if (e.flag == 1) {
            facts.openAt = step;
        }
        promises.push_back(std::move(facts));
        return;
    }
    case EventKind::AddParent:
        promises[e.promise].parents.push_back(e.other);
        promises[e.other].branches[e.branch2].fed = e.promise;
        return;
    case EventKind::ArgNode:
        promises[e.promise].branches[e.branch].searchEnd = base::NodeId(e.node);
        return;
    case EventKind::Arg:
        promises[e.promise].branches[e.branch].argumentAt = step;
        promises[e.promise].branches[e.branch].foundAt = base::NodeId(e.node);
        promises[e.promise].branches[e.branch].argument = base::HandleId(e.handle);
        return;
    case EventKind::Ready:
        promises[e.promise].readyAt = step;
        return;
    case EventKind::Open:
        promises[e.promise].openAt = step;
        return;
    case EventKind::Complete:
        promises[e.promise].completedAt = step;
        return;
    default:
        return;
    }
}

std::unique_ptr<PromiseRow> makeRow(PromiseRow* parent, std::size_t position, base::PromiseId promise)
{
    auto row = std::make_unique<PromiseRow>();
    row->parent = parent;
    row->position = static_cast<int>(position);
    row->promise = promise;
    return row;
}

/// The group of each node; kNoLayer of those in none.
std::vector<std::uint32_t> groupsOfNodes(const std::vector<layout::LikeGroup>& groups, std::size_t nodes)
{
    std::vector<std::uint32_t> groupOf(nodes, kNoLayer);
    for (std::size_t group = 0; group < groups.size(); ++group) {
        for (const std::uint32_t node : groups[group].nodes) {
            groupOf[node] = static_cast<std::uint32_t>(group);
        }
    }
    return groupOf;
}

} // namespace

PromiseForest::PromiseForest(const trace::Run& run)
{
    read(run);
    findLayers(run);
    build();
    foldLayers();
}

void PromiseForest::read(const trace::Run& run)
{
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        book(m_promises, run.events[step], step);
    }
}

/// As the graph shows them; those in which no promise starts are no layers here.
void PromiseForest::findLayers(const trace::Run& run)
{
    if (m_promises.size() < kFewestToFold || run.graph == nullptr) {
        return;
    }
    layout::DrawnGraph drawn = layout::readGraph(*run.graph);
    layout::dissolveSmallGroups(drawn);
    layout::addRepeats(*run.graph, drawn);
    const std::vector<layout::LikeGroup> groups = layout::likeGroups(drawn, run.graph->nodeCount());
    std::vector<std::uint32_t> groupOf = groupsOfNodes(groups, run.graph->runNodeCount());
    std::vector<std::uint32_t> layerOfGroup(groups.size(), kNoLayer);
    for (std::uint32_t promise = 0; promise < m_promises.size(); ++promise) {
        const base::NodeId start = m_promises[promise].start;
        const std::uint32_t group =
            start.isValid() && start.index() < groupOf.size() ? groupOf[start.index()] : kNoLayer;
        if (group == kNoLayer) {
            continue;
        }
        if (layerOfGroup[group] == kNoLayer) {
            layerOfGroup[group] = static_cast<std::uint32_t>(m_layers.size());
            m_layers.push_back({std::string(drawn.groupName(groups[group].group)), {}});
        }
        m_layers[layerOfGroup[group]].promises.push_back(promise);
    }
    m_layerOf = std::move(groupOf);
    for (std::uint32_t& layer : m_layerOf) {
        layer = layer == kNoLayer ? kNoLayer : layerOfGroup[layer];
    }
}

std::optional<std::uint32_t> PromiseForest::layerOf(std::uint32_t promise) const
{
    const base::NodeId start = m_promises[promise].start;
    const bool isKnown = start.isValid() && start.index() < m_layerOf.size() && m_layerOf[start.index()] != kNoLayer;
    return isKnown ? std::optional(m_layerOf[start.index()]) : std::nullopt;
}

/// Roots of one layer stand under one row, where the first of them was.
void PromiseForest::foldLayers()
{
    if (m_layers.empty()) {
        return;
    }
    std::ranges::sort(m_roots, {}, [](const std::unique_ptr<PromiseRow>& root) { return root->promise.value; });
    std::vector<PromiseRow*> rowOfLayer(m_layers.size(), nullptr);
    for (std::unique_ptr<PromiseRow>& root : std::exchange(m_roots, {})) {
        const std::optional<std::uint32_t> layer = layerOf(root->promise.value);
        PromiseRow* row = layer ? rowOfLayer[*layer] : nullptr;
        if (layer && row == nullptr) {
            m_roots.push_back(makeRow(nullptr, m_roots.size(), {}));
            row = rowOfLayer[*layer] = m_roots.back().get();
            row->layer = layer;
        }
        auto& siblings = row != nullptr ? row->children : m_roots;
        root->parent = row;
        root->position = static_cast<int>(siblings.size());
        siblings.push_back(std::move(root));
    }
}

LayerCounts PromiseForest::countsOf(const PromiseRow& row, std::uint64_t position) const
{
    LayerCounts counts;
    for (const std::uint32_t promise : m_layers[*row.layer].promises) {
        const PromiseFacts& facts = m_promises[promise];
        const bool isFulfilled = hasHappened(facts.completedAt, position);
        ++counts.all;
        counts.fulfilled += isFulfilled ? 1 : 0;
        counts.waiting += facts.raisedAt < position && !isFulfilled ? 1 : 0;
    }
    return counts;
}

void PromiseForest::build()
{
    m_rowOf.resize(m_promises.size(), nullptr);
    std::vector<PromiseRow*> open;
    for (std::size_t i = 0; i < m_promises.size(); ++i) {
        if (!m_promises[i].parents.empty()) {
            continue;
        }
        open.push_back(addRoot(i));
    }
    while (!open.empty()) {
        PromiseRow* row = open.back();
        open.pop_back();
        addBranches(*row, open);
    }
}

PromiseRow* PromiseForest::addRoot(std::size_t promise)
{
    m_roots.push_back(makeRow(nullptr, m_roots.size(), base::PromiseId(promise)));
    m_roots.back()->isPromise = true;
    m_rowOf[promise] = m_roots.back().get();
    return m_rowOf[promise];
}

void PromiseForest::settle(std::uint32_t promise, PromiseRow& row, std::vector<PromiseRow*>& open)
{
    const bool isNew = m_rowOf[promise] == nullptr;
    if (isNew) {
        m_promises[promise].depth = m_promises[row.parent->promise.index()].depth + 1;
    }
    const bool isElsewhere = layerOf(promise) != layerOf(row.parent->promise.value);
    if (isNew && (row.depth >= kDeepestRow || isElsewhere)) {
        open.push_back(addRoot(promise));
    } else if (isNew) {
        m_rowOf[promise] = &row;
        open.push_back(&row);
    }
    row.isLink = m_rowOf[promise] != &row;
}

void PromiseForest::addBranches(PromiseRow& row, std::vector<PromiseRow*>& open)
{
    const std::vector<BranchFacts>& branches = m_promises[row.promise.index()].branches;
    for (std::uint32_t b = 0; b < branches.size(); ++b) {
        const std::optional<std::uint32_t> fed = branches[b].fed;
        auto child = makeRow(&row, row.children.size(), fed ? base::PromiseId(*fed) : row.promise);
        child->branch = b;
        child->isPromise = fed.has_value();
        child->depth = row.depth + 1;
        if (fed) {
            settle(*fed, *child, open);
        }
        row.children.push_back(std::move(child));
    }
}

PromiseRow* PromiseForest::rowOf(base::PromiseId promise) const
{
    return promise.isValid() && promise.index() < m_rowOf.size() ? m_rowOf[promise.index()] : nullptr;
}

const BranchFacts* PromiseForest::branchOf(const PromiseRow& row) const
{
    if (row.parent == nullptr || !row.branch) {
        return nullptr;
    }
    return &m_promises[row.parent->promise.index()].branches[*row.branch];
}

PromiseRowState PromiseForest::stateOf(const PromiseRow& row, std::uint64_t position) const
{
    if (row.layer) {
        const LayerCounts counts = countsOf(row, position);
        return counts.waiting > 0     ? PromiseRowState::Waits
               : counts.fulfilled > 0 ? PromiseRowState::Fulfilled
                                      : PromiseRowState::NotYet;
    }
    const PromiseFacts& facts = m_promises[row.promise.index()];
    const BranchFacts* branch = branchOf(row);
    if (row.isPromise && facts.raisedAt < position) {
        return hasHappened(facts.completedAt, position) ? PromiseRowState::Fulfilled : PromiseRowState::Waits;
    }
    // A branch alone, or one whose promise is not raised yet.
    const bool isRaised = branch != nullptr && m_promises[row.parent->promise.index()].raisedAt < position;
    if (!isRaised) {
        return PromiseRowState::NotYet;
    }
    if (!hasHappened(branch->argumentAt, position)) {
        return PromiseRowState::Waits;
    }
    return branch->foundAt.isValid() || branch->fed ? PromiseRowState::Found : PromiseRowState::Constant;
}

std::size_t PromiseForest::waiting(std::uint64_t position) const
{
    return static_cast<std::size_t>(std::count_if(m_promises.begin(), m_promises.end(), [&](const PromiseFacts& p) {
        return p.raisedAt < position && !hasHappened(p.completedAt, position);
    }));
}

std::size_t PromiseForest::fulfilled(std::uint64_t position) const
{
    return static_cast<std::size_t>(std::count_if(m_promises.begin(), m_promises.end(), [&](const PromiseFacts& p) {
        return hasHappened(p.completedAt, position);
    }));
}

bool PromiseForest::isStuck(const PromiseRow& row, std::uint64_t position) const
{
    if (row.layer || stateOf(row, position) != PromiseRowState::Waits) {
        return false;
    }
    const PromiseFacts& facts = m_promises[row.promise.index()];
    const bool isRaised = row.isPromise && facts.raisedAt < position;
    return isRaised ? !facts.completedAt : !branchOf(row)->argumentAt;
}

std::size_t PromiseForest::stuck(std::uint64_t position) const
{
    return static_cast<std::size_t>(std::count_if(m_promises.begin(), m_promises.end(), [&](const PromiseFacts& p) {
        return p.raisedAt < position && !p.completedAt;
    }));
}

std::vector<base::PromiseId> PromiseForest::followers(base::PromiseId promise, std::uint64_t position) const
{
    // Promises are numbered by creation; a parent's branch may feed an older one, hence the loop until nothing changes.
    std::vector<bool> isFollower(m_promises.size(), false);
    isFollower[promise.index()] = true;
    bool hasChanged = true;
    while (hasChanged) {
        hasChanged = false;
        for (std::size_t i = 0; i < m_promises.size(); ++i) {
            const bool follows =
                !isFollower[i] && std::any_of(m_promises[i].parents.begin(), m_promises[i].parents.end(),
                                              [&](std::uint32_t p) { return isFollower[p]; });
            isFollower[i] = isFollower[i] || follows;
            hasChanged = hasChanged || follows;
        }
    }
    std::vector<base::PromiseId> found;
    for (std::size_t i = 0; i < m_promises.size(); ++i) {
        const PromiseFacts& p = m_promises[i];
        if (isFollower[i] && i != promise.index() && p.raisedAt < position && !hasHappened(p.completedAt, position)) {
            found.emplace_back(i);
        }
    }
    return found;
}

} // namespace retro::views
