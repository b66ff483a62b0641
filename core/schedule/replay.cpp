// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/replay.h"

#include <algorithm>

namespace retro::schedule
{

using analysis::Phase;

namespace
{

/// Longest sequence that is built; more is no plan that anybody would run.
constexpr std::size_t kMostComputations = 8'000'000;

/// Position, among the gradients, of the last one that reads a value; 0 for none, else 1 + position.
std::vector<std::size_t> lastGradients(const OpGraph& graph, const std::vector<OpId>& gradient)
{
    std::vector<std::size_t> last(graph.values().size(), 0);
    for (std::size_t at = 0; at < gradient.size(); ++at) {
        for (const OpValueId input : graph.reads(gradient[at])) {
            last[input] = at + 1;
        }
    }
    return last;
}

/// What stays held whatever a planner says.
std::vector<bool> alwaysKept(const OpGraph& graph, const Halves& halves, std::vector<bool> isKept)
{
    isKept.resize(graph.values().size(), false);
    for (OpValueId id = 0; id < isKept.size(); ++id) {
        const OpId producer = graph.value(id).producer;
        const bool isOnce = producer == kNone || !graph.op(producer).mayRepeat();
        isKept[id] = isKept[id] || isOnce || graph.value(id).isPinned;
    }
    for (const OpId op : halves.gradient) {
        for (const OpValueId output : graph.op(op).outputs) {
            isKept[output] = true; // gradients are made once
        }
    }
    return isKept;
}

/// The forward operators once; what stays, and what the first gradient reads, is held then.
bool sweepForward(const OpGraph& graph, const Halves& halves, const std::vector<bool>& stays, Replay& replay)
{
    const bool isRight = std::ranges::all_of(halves.forward, [&](OpId op) { return replay.ensure(op); });
    std::vector<bool> isHeld = stays;
    if (!halves.gradient.empty()) {
        std::ranges::for_each(graph.reads(halves.gradient.front()), [&](OpValueId input) { isHeld[input] = true; });
    }
    for (const OpValueId made : replay.takeMade()) {
        if (!isHeld[made]) {
            replay.drop(made);
        }
    }
    return isRight;
}

} // namespace

Replay::Replay(const OpGraph& graph)
    : m_graph(graph), m_isHeld(graph.values().size(), false), m_hasRun(graph.size(), false)
{
    for (OpValueId id = 0; id < m_isHeld.size(); ++id) {
        m_isHeld[id] = graph.value(id).producer == kNone;
    }
}

void Replay::compute(OpId op)
{
    m_sequence.push_back(op);
    m_hasRun[op] = true;
    for (const OpValueId output : m_graph.op(op).outputs) {
        m_isHeld[output] = true;
        m_made.push_back(output);
    }
}

bool Replay::provide(OpId op)
{
    struct Frame
    {
        OpId op;
        std::size_t next;
    };
    std::vector<Frame> stack{{op, 0}};
    while (!stack.empty()) {
        Frame& frame = stack.back();
        const auto reads = m_graph.reads(frame.op);
        const auto missing = std::find_if(reads.begin() + static_cast<std::ptrdiff_t>(frame.next), reads.end(),
                                          [&](OpValueId input) { return !m_isHeld[input]; });
        frame.next = static_cast<std::size_t>(missing - reads.begin());
        if (missing == reads.end()) {
            if (frame.op != op) {
                compute(frame.op);
            }
            stack.pop_back();
            continue;
        }
        const OpId producer = m_graph.value(*missing).producer;
        if (m_hasRun[producer] && !m_graph.op(producer).mayRepeat()) {
            return false;
        }
        stack.push_back({producer, 0});
    }
    return true;
}

bool Replay::run(OpId op)
{
    const std::size_t length = m_sequence.size();
    if (length > kMostComputations || !provide(op)) {
        m_sequence.resize(length);
        return false;
    }
    compute(op);
    return true;
}

bool Replay::ensure(OpId op)
{
    const auto isHere = [&](OpValueId output) { return m_isHeld[output]; };
    return (m_hasRun[op] && std::ranges::all_of(m_graph.op(op).outputs, isHere)) || run(op);
}

std::vector<OpValueId> Replay::takeMade() { return std::exchange(m_made, {}); }

Halves halvesOf(const OpGraph& graph, const std::vector<OpId>& base)
{
    Halves halves;
    for (const OpId op : base) {
        (graph.op(op).phase == Phase::Gradient ? halves.gradient : halves.forward).push_back(op);
    }
    return halves;
}

std::vector<OpId> expandKept(const OpGraph& graph, const std::vector<OpId>& base, const std::vector<bool>& isKept,
                             Rebuilt policy)
{
    const Halves halves = halvesOf(graph, base);
    const std::vector<bool> stays = alwaysKept(graph, halves, isKept);
    const std::vector<std::size_t> last = lastGradients(graph, halves.gradient);
    Replay replay(graph);
    bool isRight = sweepForward(graph, halves, stays, replay);
    std::vector<OpValueId> open; // rebuilt, and relied on
    for (std::size_t at = 0; at < halves.gradient.size() && isRight; ++at) {
        isRight = replay.run(halves.gradient[at]);
        const std::vector<OpValueId> made = replay.takeMade();
        open.insert(open.end(), made.begin(), made.end());
        std::erase_if(open, [&](OpValueId id) {
            const bool goes = policy == Rebuilt::OnlyHere || last[id] <= at + 1;
            if (goes && !stays[id]) {
                replay.drop(id);
            }
            return goes || stays[id];
        });
    }
    return isRight ? replay.sequence() : std::vector<OpId>();
}

} // namespace retro::schedule
