// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/beamorder.h"

#include "core/analysis/orderstate.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

namespace retro::analysis
{

namespace
{

/// One way on from one partial order.
struct Choice
{
    std::uint64_t peak = 0;
    std::uint64_t live = 0;
    std::uint64_t set = 0; ///< hash of the set of done operators
    std::size_t state = 0;
    OpId op = 0;

    [[nodiscard]] auto key() const { return std::tie(peak, live, state, op); }
};

/// A number per operator; the sum of those of a set identifies it (up to the chance of 2^-64).
std::uint64_t markOf(OpId op)
{
    std::uint64_t x = (static_cast<std::uint64_t>(op) + 1) * 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
}

struct Partial
{
    OrderState state;
    std::uint64_t set = 0;
};

void addChoices(const Partial& partial, std::size_t at, std::vector<Choice>& choices)
{
    std::vector<Choice> own;
    for (const OpId op : partial.state.ready()) {
        own.push_back({std::max(partial.state.peak(), partial.state.transientOf(op)), partial.state.liveAfter(op),
                       partial.set + markOf(op), at, op});
    }
    const std::size_t count = std::min(own.size(), kBeamChoices);
    std::partial_sort(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count), own.end(),
                      [](const Choice& a, const Choice& b) { return a.key() < b.key(); });
    choices.insert(choices.end(), own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count));
}

std::vector<Partial> takeBest(const std::vector<Partial>& beam, std::vector<Choice>& choices)
{
    std::sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) { return a.key() < b.key(); });
    std::unordered_set<std::uint64_t> seen;
    std::vector<Partial> next;
    for (const Choice& choice : choices) {
        if (next.size() == kBeamWidth) {
            break;
        }
        if (seen.insert(choice.set).second) {
            next.push_back({beam[choice.state].state, choice.set});
            next.back().state.run(choice.op);
        }
    }
    return next;
}

} // namespace

std::vector<OpId> beamOrder(const OpGraph& graph, const std::stop_token& stop)
{
    std::vector<Partial> beam{{OrderState(graph), 0}};
    for (std::size_t step = 0; step < graph.size(); ++step) {
        if (stop.stop_requested()) {
            return {};
        }
        std::vector<Choice> choices;
        for (std::size_t at = 0; at < beam.size(); ++at) {
            addChoices(beam[at], at, choices);
        }
        beam = takeBest(beam, choices);
    }
    return beam.front().state.order();
}

} // namespace retro::analysis
