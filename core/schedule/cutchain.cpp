// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cutchain.h"

#include <algorithm>

namespace retro::schedule
{

namespace
{

/// Per value: position of the last forward reader; 0 for none, else 1 + position.
std::vector<std::uint32_t> lastForwardReads(const OpGraph& graph, const std::vector<OpId>& forward)
{
    std::vector<std::uint32_t> last(graph.values().size(), 0);
    for (std::uint32_t at = 0; at < forward.size(); ++at) {
        for (const OpValueId input : graph.reads(forward[at])) {
            last[input] = at + 1;
        }
    }
    return last;
}

/// Bytes that cross behind each forward position.
std::vector<std::uint64_t> crossingProfile(const OpGraph& graph, const std::vector<OpId>& forward)
{
    const std::vector<std::uint32_t> last = lastForwardReads(graph, forward);
    std::vector<std::uint64_t> change(forward.size() + 1, 0);
    for (std::uint32_t at = 0; at < forward.size(); ++at) {
        for (const OpValueId output : graph.op(forward[at]).outputs) {
            if (last[output] > at + 1 && !graph.value(output).isPinned) {
                change[at] += graph.value(output).bytes;
                change[last[output] - 1] -= graph.value(output).bytes;
            }
        }
    }
    for (std::size_t at = 1; at < change.size(); ++at) {
        change[at] += change[at - 1];
    }
    return change;
}

class Replayer
{
public:
    Replayer(const CutChain& chain, const Splitter& splitter)
        : m_chain(chain), m_splitter(splitter), m_replay(chain.graph())
    {}

    bool visit(std::uint32_t low, std::uint32_t high, int states, std::uint32_t node)
    {
        const Split split = m_splitter.split(low, high, states);
        return split.cuts.empty() ? leaf(low, high, split.keepsInside) : inner(low, high, split, node);
    }

    std::uint32_t addNode(std::uint32_t low, std::uint32_t high)
    {
        m_tree.push_back({low, high, kNone, kNone});
        return static_cast<std::uint32_t>(m_tree.size() - 1);
    }

    [[nodiscard]] IntervalReplay take() && { return {m_replay.sequence(), std::move(m_tree)}; }

private:
    bool leaf(std::uint32_t low, std::uint32_t high, bool keepsInside)
    {
        m_replay.takeMade();
        bool isDone = runFirst(low, high);
        for (std::uint32_t stage = high; stage-- > low && isDone;) {
            isDone = std::ranges::all_of(m_chain.gradient(stage), [&](OpId op) { return m_replay.run(op); });
            if (!keepsInside) {
                dropMade();
            }
        }
        dropMade();
        return isDone;
    }

    /// Runs the forward operators of stages that have not run at all.
    bool runFirst(std::uint32_t from, std::uint32_t until)
    {
        const auto run = [&](OpId op) { return m_replay.hasRun(op) || m_replay.run(op); };
        bool isDone = true;
        for (std::uint32_t stage = from; stage < until && isDone; ++stage) {
            isDone = std::ranges::all_of(m_chain.forward(stage), run);
        }
        return isDone;
    }

    void dropMade()
    {
        for (const OpValueId id : m_replay.takeMade()) {
            dropForward(id);
        }
    }

    void dropForward(OpValueId id)
    {
        const analysis::Op& producer = m_chain.graph().op(m_chain.graph().value(id).producer);
        if (producer.mayRepeat() && !m_chain.graph().value(id).isPinned) {
            m_replay.drop(id);
        }
    }

    /// Runs stages from … until − 1 forward; holds of what they made only what crosses behind them.
    bool sweep(std::uint32_t from, std::uint32_t until, std::vector<OpValueId>& held)
    {
        m_replay.takeMade();
        const std::vector<OpValueId>& crossing = m_chain.crossing(until - 1);
        const auto provide = [&](OpValueId id) {
            const bool isHere = m_chain.stageOf(id) >= from && !m_replay.isHeld(id);
            return !isHere || m_replay.ensure(m_chain.graph().value(id).producer);
        };
        if (!runFirst(from, until) || !std::ranges::all_of(crossing, provide)) {
            return false;
        }
        for (const OpValueId id : m_replay.takeMade()) {
            if (std::binary_search(crossing.begin(), crossing.end(), id)) {
                held.push_back(id);
            } else {
                dropForward(id);
            }
        }
        return true;
    }

    std::uint32_t addChild(std::uint32_t parent, std::uint32_t low, std::uint32_t high, bool isRight)
    {
        const std::uint32_t child = addNode(low, high);
        (isRight ? m_tree[parent].right : m_tree[parent].left) = child;
        return child;
    }

    bool inner(std::uint32_t low, std::uint32_t high, const Split& split, std::uint32_t node)
    {
        std::vector<std::vector<OpValueId>> held(split.cuts.size());
        std::uint32_t from = low;
        for (std::size_t i = 0; i < split.cuts.size(); ++i) {
            if (!sweep(from, split.cuts[i], held[i])) {
                return false;
            }
            from = split.cuts[i];
        }
        held.insert(held.begin(), std::vector<OpValueId>()); // nothing crosses into the first
        bool isDone = true;
        for (std::size_t child = split.cuts.size() + 1; child-- > 0 && isDone;) {
            isDone = visitChild(low, high, split, node, child);
            std::ranges::for_each(held[child], [&](OpValueId id) { dropForward(id); });
        }
        return isDone;
    }

    bool visitChild(std::uint32_t low, std::uint32_t high, const Split& split, std::uint32_t node, std::size_t child)
    {
        const std::uint32_t start = child == 0 ? low : split.cuts[child - 1];
        const std::uint32_t end = child == split.cuts.size() ? high : split.cuts[child];
        const std::uint32_t at = split.cuts.size() == 1 ? addChild(node, start, end, child == 1) : node;
        return visit(start, end, split.states.empty() ? 0 : split.states[child], at);
    }

    const CutChain& m_chain;
    const Splitter& m_splitter;
    Replay m_replay;
    std::vector<Interval> m_tree;
};

} // namespace

CutChain::CutChain(const OpGraph& graph, Halves halves, std::vector<std::uint32_t> ends)
    : m_graph(graph), m_halves(std::move(halves)), m_ends(std::move(ends)), m_stageOfValue(graph.values().size(), kNone)
{
    std::uint32_t stage = 0;
    for (std::uint32_t at = 0; at < m_halves.forward.size(); ++at) {
        while (m_ends[stage] <= at) {
            ++stage;
        }
        for (const OpValueId output : graph.op(m_halves.forward[at]).outputs) {
            m_stageOfValue[output] = stage;
        }
    }
    findCrossing();
    giveGradients();
}

std::span<const OpId> CutChain::forward(std::size_t stage) const
{
    const std::uint32_t from = stage == 0 ? 0 : m_ends[stage - 1];
    return std::span(m_halves.forward).subspan(from, m_ends[stage] - from);
}

std::span<const OpId> CutChain::gradient(std::size_t stage) const
{
    const std::size_t from = stage + 1 == size() ? 0 : m_gradientEnd[stage + 1];
    return std::span(m_halves.gradient).subspan(from, m_gradientEnd[stage] - from);
}

void CutChain::findCrossing()
{
    const std::vector<std::uint32_t> last = lastForwardReads(m_graph, m_halves.forward);
    m_crossing.resize(size());
    m_crossingBytes.assign(size(), 0);
    for (std::size_t stage = 0; stage < size(); ++stage) {
        for (OpValueId id = 0; id < m_stageOfValue.size(); ++id) {
            const bool isPlanned = m_stageOfValue[id] != kNone && !m_graph.value(id).isPinned;
            if (isPlanned && m_stageOfValue[id] <= stage && last[id] > m_ends[stage]) {
                m_crossing[stage].push_back(id);
                m_crossingBytes[stage] += m_graph.value(id).bytes;
            }
        }
    }
}

void CutChain::giveGradients()
{
    // A gradient belongs to the stage behind the last forward value that it reads; none runs before one of its order.
    std::vector<std::uint32_t> place(m_halves.gradient.size(), 0);
    std::vector<std::uint32_t> position(m_graph.values().size(), 0);
    for (std::uint32_t at = 0; at < m_halves.forward.size(); ++at) {
        for (const OpValueId output : m_graph.op(m_halves.forward[at]).outputs) {
            position[output] = at + 1;
        }
    }
    std::uint32_t latest = 0;
    for (std::size_t at = place.size(); at-- > 0;) {
        for (const OpValueId input : m_graph.reads(m_halves.gradient[at])) {
            latest = std::max(latest, position[input]);
        }
        place[at] = std::min(latest, m_ends.back() - 1);
    }
    m_gradientEnd.assign(size(), 0);
    for (std::size_t stage = 0; stage < size(); ++stage) {
        const std::uint32_t from = stage == 0 ? 0 : m_ends[stage - 1];
        const auto beyond =
            std::partition_point(place.begin(), place.end(), [&](std::uint32_t at) { return at >= from; });
        m_gradientEnd[stage] = static_cast<std::size_t>(beyond - place.begin());
    }
}

std::vector<std::uint32_t> regularEnds(std::size_t length, std::size_t size)
{
    std::vector<std::uint32_t> ends;
    for (std::size_t end = size; end < length; end += size) {
        ends.push_back(static_cast<std::uint32_t>(end));
    }
    ends.push_back(static_cast<std::uint32_t>(length));
    return ends;
}

std::vector<std::uint32_t> narrowEnds(const OpGraph& graph, const std::vector<OpId>& forward, std::size_t most)
{
    const std::vector<std::uint64_t> crossing = crossingProfile(graph, forward);
    most = std::max<std::size_t>(1, most);
    const std::size_t width = std::max<std::size_t>(1, (forward.size() + most - 1) / most);
    std::vector<std::uint32_t> ends;
    for (std::size_t from = 0; from + width < forward.size();) {
        // The narrowest boundary within a quarter of the width, so that stages keep about their size.
        const std::size_t low = from + std::max<std::size_t>(1, (3 * width + 3) / 4);
        const std::size_t high = std::min(forward.size() - 1, from + width + width / 4);
        std::size_t best = low;
        for (std::size_t end = low; end <= high; ++end) {
            best = crossing[end - 1] < crossing[best - 1] ? end : best;
        }
        ends.push_back(static_cast<std::uint32_t>(best));
        from = best;
    }
    ends.push_back(static_cast<std::uint32_t>(forward.size()));
    return ends;
}

std::optional<IntervalReplay> replayIntervals(const CutChain& chain, const Splitter& splitter, int states)
{
    Replayer replayer(chain, splitter);
    const auto end = static_cast<std::uint32_t>(chain.size());
    const std::uint32_t root = replayer.addNode(0, end);
    if (!replayer.visit(0, end, states, root)) {
        return std::nullopt;
    }
    return std::move(replayer).take();
}

Split MidpointSplitter::split(std::uint32_t low, std::uint32_t high, int) const
{
    if (high - low <= m_leaf) {
        return {};
    }
    return {{low + (high - low) / 2}, {}, true};
}

Split FlatSplitter::split(std::uint32_t low, std::uint32_t high, int) const
{
    Split split;
    for (std::uint32_t stage = low + 1; stage < high; ++stage) {
        split.cuts.push_back(stage);
    }
    return split;
}

std::vector<Interval> bottomUpTree(std::uint32_t leaves)
{
    std::vector<Interval> nodes;
    std::vector<std::uint32_t> level;
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        level.push_back(leaf);
        nodes.push_back({leaf, leaf + 1, kNone, kNone});
    }
    while (level.size() > 1) {
        std::vector<std::uint32_t> above;
        for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
            above.push_back(static_cast<std::uint32_t>(nodes.size()));
            nodes.push_back({nodes[level[i]].low, nodes[level[i + 1]].high, level[i], level[i + 1]});
        }
        if (level.size() % 2 == 1) {
            above.push_back(level.back());
        }
        level = std::move(above);
    }
    // Root first: ids turn around.
    std::reverse(nodes.begin(), nodes.end());
    const auto turned = [&](std::uint32_t id) {
        return id == kNone ? kNone : static_cast<std::uint32_t>(nodes.size() - 1 - id);
    };
    for (Interval& node : nodes) {
        node.left = turned(node.left);
        node.right = turned(node.right);
    }
    return nodes;
}

} // namespace retro::schedule
