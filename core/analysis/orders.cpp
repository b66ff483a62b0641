// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/orders.h"

#include "core/analysis/frontier.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace retro::analysis
{

namespace
{

/// Partial orders that are kept side by side, and next operators that are tried for each.
constexpr std::size_t kBeamWidth = 32;
constexpr std::size_t kBeamChoices = 8;

/// A partial order: what was run, what is ready, what is live. Running an operator costs O(operands + readers).
class OrderState
{
public:
    explicit OrderState(const OpGraph& graph);

    /// Ready operators, in no particular order.
    [[nodiscard]] const std::vector<OpId>& ready() const { return m_ready; }
    [[nodiscard]] std::uint64_t live() const { return m_live; }
    [[nodiscard]] std::uint64_t peak() const { return m_peak; }
    [[nodiscard]] std::uint64_t peakLive() const { return m_peakLive; }
    [[nodiscard]] const std::vector<OpId>& order() const { return m_order; }
    /// Bytes in memory while `op` (ready) would run.
    [[nodiscard]] std::uint64_t transientOf(OpId op) const;
    /// Bytes in memory after `op` (ready) would have run.
    [[nodiscard]] std::uint64_t liveAfter(OpId op) const { return m_live + keptBytes(op) - freedBytes(op); }
    /// Runs a ready operator. `changed` (may be null) gets the operators whose liveAfter − live changed or that became
    /// ready.
    void run(OpId op, std::vector<OpId>* changed = nullptr);

    /// Bytes that running it would add for good, and take away.
    [[nodiscard]] std::uint64_t keptBytes(OpId op) const;
    [[nodiscard]] std::uint64_t freedBytes(OpId op) const;

private:
    void release(OpValueId output, std::vector<OpId>* changed);
    void noteLastReader(OpValueId value, std::vector<OpId>* changed) const;

    const OpGraph* m_graph;
    std::vector<std::uint32_t> m_missing; ///< producers that have not run, per operator
    std::vector<std::uint32_t> m_readersLeft;
    std::vector<bool> m_isDone;
    std::vector<OpId> m_ready;
    std::vector<std::uint32_t> m_readyAt; ///< position in m_ready
    std::vector<OpId> m_order;
    std::uint64_t m_live = 0;
    std::uint64_t m_peak = 0;
    std::uint64_t m_peakLive = 0;
};

OrderState::OrderState(const OpGraph& graph)
    : m_graph(&graph), m_missing(graph.size(), 0), m_readersLeft(graph.values().size(), 0),
      m_isDone(graph.size(), false), m_readyAt(graph.size(), kNone)
{
    for (OpId op = 0; op < graph.size(); ++op) {
        for (const OpValueId input : graph.reads(op)) {
            m_missing[op] += graph.value(input).producer != kNone ? 1 : 0;
            ++m_readersLeft[input];
        }
        if (m_missing[op] == 0) {
            m_readyAt[op] = static_cast<std::uint32_t>(m_ready.size());
            m_ready.push_back(op);
        }
    }
}

std::uint64_t OrderState::transientOf(OpId op) const
{
    return m_live + m_graph->outputBytes(op, true) + m_graph->op(op).workspace;
}

std::uint64_t OrderState::keptBytes(OpId op) const
{
    std::uint64_t bytes = 0;
    for (const OpValueId output : m_graph->op(op).outputs) {
        const OpValue& value = m_graph->value(output);
        bytes += value.isOutput || value.isRequired || m_readersLeft[output] > 0 ? value.bytes : 0;
    }
    return bytes;
}

std::uint64_t OrderState::freedBytes(OpId op) const
{
    std::uint64_t bytes = 0;
    for (const OpValueId input : m_graph->reads(op)) {
        const OpValue& value = m_graph->value(input);
        const bool goes = value.producer != kNone && !value.isOutput && !value.isRequired && m_readersLeft[input] == 1;
        bytes += goes ? value.bytes : 0;
    }
    return bytes;
}

void OrderState::release(OpValueId output, std::vector<OpId>* changed)
{
    for (const OpId reader : m_graph->readers(output)) {
        if (--m_missing[reader] == 0) {
            m_readyAt[reader] = static_cast<std::uint32_t>(m_ready.size());
            m_ready.push_back(reader);
            if (changed != nullptr) {
                changed->push_back(reader);
            }
        }
    }
}

void OrderState::noteLastReader(OpValueId value, std::vector<OpId>* changed) const
{
    if (changed == nullptr || m_readersLeft[value] != 1) {
        return;
    }
    const auto readers = m_graph->readers(value);
    const auto last = std::find_if(readers.begin(), readers.end(), [&](OpId reader) { return !m_isDone[reader]; });
    if (last != readers.end() && m_readyAt[*last] != kNone) {
        changed->push_back(*last);
    }
}

void OrderState::run(OpId op, std::vector<OpId>* changed)
{
    m_peak = std::max(m_peak, transientOf(op));
    m_live = liveAfter(op);
    m_peakLive = std::max(m_peakLive, m_live);
    m_isDone[op] = true;
    m_order.push_back(op);
    const std::uint32_t at = m_readyAt[op];
    m_ready[at] = m_ready.back();
    m_readyAt[m_ready[at]] = at;
    m_ready.pop_back();
    m_readyAt[op] = kNone;
    for (const OpValueId input : m_graph->reads(op)) {
        --m_readersLeft[input];
        noteLastReader(input, changed);
    }
    for (const OpValueId output : m_graph->op(op).outputs) {
        release(output, changed);
    }
}

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

/// The order with the least peak that a beam search finds: partial orders are compared by (peak, live), and of those
/// that ran the same set of operators one is kept. Empty when stopped. O(operators · (width · choices + operators)).
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

constexpr int kRounds = 4;
/// Places that are tried for one operator.
constexpr std::size_t kPlaces = 16;

using Score = std::pair<std::uint64_t, double>; // peak, area

Score scoreOf(const OpGraph& graph, const std::vector<OpId>& order)
{
    const FrontierProfile profile = frontierProfile(graph, order);
    const double area = std::accumulate(profile.live.begin(), profile.live.end(), 0.0,
                                        [](double sum, std::uint64_t bytes) { return sum + double(bytes); });
    return {*std::max_element(profile.transient.begin(), profile.transient.end()), area};
}

/// Positions between which an operator may stand: behind its producers, before its readers.
std::pair<std::size_t, std::size_t> slackOf(const OpGraph& graph, const std::vector<std::size_t>& position, OpId op)
{
    std::size_t low = 0;
    std::size_t high = position.size() - 1;
    for (const OpValueId input : graph.reads(op)) {
        if (graph.value(input).producer != kNone) {
            low = std::max(low, position[graph.value(input).producer] + 1);
        }
    }
    for (const OpValueId output : graph.op(op).outputs) {
        for (const OpId reader : graph.readers(output)) {
            high = std::min(high, position[reader] - 1);
        }
    }
    return {low, high};
}

std::vector<OpId> moved(const std::vector<OpId>& order, std::size_t from, std::size_t to)
{
    std::vector<OpId> result = order;
    const auto at = [&](std::size_t i) { return result.begin() + static_cast<std::ptrdiff_t>(i); };
    if (from < to) {
        std::rotate(at(from), at(from + 1), at(to + 1));
    } else {
        std::rotate(at(to), at(from), at(from + 1));
    }
    return result;
}

/// Tries places for one operator; true when the order became better.
bool improveOne(const OpGraph& graph, std::vector<OpId>& order, Score& score, OpId op)
{
    std::vector<std::size_t> position(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        position[order[i]] = i;
    }
    const auto [low, high] = slackOf(graph, position, op);
    const std::size_t stride = std::max<std::size_t>(1, (high - low + 1) / kPlaces);
    for (std::size_t to = low; to <= high; to += stride) {
        if (to == position[op]) {
            continue;
        }
        std::vector<OpId> candidate = moved(order, position[op], to);
        const Score now = scoreOf(graph, candidate);
        if (now < score) {
            score = now;
            order = std::move(candidate);
            return true;
        }
    }
    return false;
}

/// Moves single operators inside their slack (between their last producer and their first reader) as long as the peak
/// falls, or stays with less live bytes summed over the positions. Never returns a worse order. Ends after a fixed
/// number of rounds, or when stopped.
std::vector<OpId> improveOrder(const OpGraph& graph, std::vector<OpId> order, const std::stop_token& stop)
{
    Score score = scoreOf(graph, order);
    bool isBetter = true;
    for (int round = 0; round < kRounds && isBetter; ++round) {
        isBetter = false;
        for (OpId op = 0; op < graph.size(); ++op) {
            if (stop.stop_requested()) {
                return order;
            }
            isBetter = improveOne(graph, order, score, op) || isBetter;
        }
    }
    return order;
}

/// Order of merit of a ready operator; smaller is better. `stamp` tells stale entries from the newest.
struct Entry
{
    std::int64_t change = 0; ///< live bytes after it, less those before
    std::uint64_t bytes = 0; ///< its outputs
    OpId op = 0;
    std::uint32_t stamp = 0;
    bool operator>(const Entry& other) const
    {
        return std::tie(change, bytes, op) > std::tie(other.change, other.bytes, other.op);
    }
};

/// Ready operators by merit; entries are renewed when the merit changes and old ones are skipped.
class ReadyQueue
{
public:
    ReadyQueue(const OpGraph& graph, const OrderState& state) : m_graph(graph), m_state(state), m_stamp(graph.size(), 0)
    {
        for (const OpId op : state.ready()) {
            push(op);
        }
    }

    void push(OpId op)
    {
        const auto change =
            static_cast<std::int64_t>(m_state.keptBytes(op)) - static_cast<std::int64_t>(m_state.freedBytes(op));
        m_queue.push({change, m_graph.outputBytes(op, true), op, ++m_stamp[op]});
    }

    /// The best entry that is up to date; none when there is no ready operator left.
    std::optional<Entry> pop()
    {
        while (!m_queue.empty()) {
            const Entry entry = m_queue.top();
            m_queue.pop();
            if (entry.stamp == m_stamp[entry.op]) {
                return entry;
            }
        }
        return std::nullopt;
    }

    void giveBack(const Entry& entry) { m_queue.push(entry); }

private:
    const OpGraph& m_graph;
    const OrderState& m_state;
    std::vector<std::uint32_t> m_stamp;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> m_queue;
};

std::vector<OpId> leastLive(const OpGraph& graph)
{
    OrderState state(graph);
    ReadyQueue queue(graph, state);
    std::vector<OpId> changed;
    while (const std::optional<Entry> best = queue.pop()) {
        changed.clear();
        state.run(best->op, &changed);
        for (const OpId op : changed) {
            queue.push(op);
        }
    }
    return state.order();
}

/// How many of the best are looked at for one that fits under the peak.
constexpr std::size_t kLookAhead = 32;

Entry chooseUnderPeak(ReadyQueue& queue, const OrderState& state, const Entry& first)
{
    if (state.transientOf(first.op) <= state.peak()) {
        return first;
    }
    std::vector<Entry> seen{first};
    while (seen.size() < kLookAhead && state.transientOf(seen.back().op) > state.peak()) {
        const std::optional<Entry> next = queue.pop();
        if (!next) {
            break;
        }
        seen.push_back(*next);
    }
    // The last one fits, or none does: then the one that raises the peak least.
    const auto best = std::min_element(seen.begin(), seen.end(), [&](const Entry& a, const Entry& b) {
        const std::uint64_t overA = std::max(state.transientOf(a.op), state.peak());
        const std::uint64_t overB = std::max(state.transientOf(b.op), state.peak());
        return overA < overB;
    });
    const Entry chosen = *best;
    for (const Entry& entry : seen) {
        if (entry.op != chosen.op) {
            queue.giveBack(entry);
        }
    }
    return chosen;
}

std::vector<OpId> fitsUnderPeak(const OpGraph& graph)
{
    OrderState state(graph);
    ReadyQueue queue(graph, state);
    std::vector<OpId> changed;
    while (const std::optional<Entry> best = queue.pop()) {
        const Entry chosen = chooseUnderPeak(queue, state, *best);
        changed.clear();
        state.run(chosen.op, &changed);
        for (const OpId op : changed) {
            queue.push(op);
        }
    }
    return state.order();
}

/// Producers of an operator's operands, largest (peak − result) of their subtrees first.
std::vector<OpId> producersByGain(const OpGraph& graph, OpId op, const std::vector<std::uint64_t>& gain)
{
    std::vector<OpId> producers;
    for (const OpValueId input : graph.reads(op)) {
        if (graph.value(input).producer != kNone) {
            producers.push_back(graph.value(input).producer);
        }
    }
    std::sort(producers.begin(), producers.end());
    producers.erase(std::unique(producers.begin(), producers.end()), producers.end());
    std::stable_sort(producers.begin(), producers.end(), [&](OpId a, OpId b) { return gain[a] > gain[b]; });
    return producers;
}

/// Peak less result of every operator's subtree, as if it were a tree (Liu's recurrence).
std::vector<std::uint64_t> subtreeGains(const OpGraph& graph)
{
    std::vector<std::uint64_t> gain(graph.size(), 0);
    for (const OpId op : graph.order()) {
        const std::uint64_t result = graph.outputBytes(op, true);
        std::uint64_t held = 0;
        std::uint64_t peak = 0;
        for (const OpId producer : producersByGain(graph, op, gain)) {
            const std::uint64_t size = graph.outputBytes(producer, true);
            peak = std::max(peak, std::min(held + size + gain[producer], kMaxTotalBytes));
            held = std::min(held + size, kMaxTotalBytes);
        }
        gain[op] = std::max(peak, held + result + graph.op(op).workspace) - result;
    }
    return gain;
}

/// Puts `root` and what it needs behind the order, producers first.
void visitDepthFirst(const OpGraph& graph, OpId root, const std::vector<std::uint64_t>& gain, std::vector<bool>& isSeen,
                     std::vector<OpId>& order)
{
    struct Frame
    {
        OpId op;
        std::vector<OpId> producers;
        std::size_t next = 0;
    };
    std::vector<Frame> stack;
    const auto open = [&](OpId op) {
        isSeen[op] = true;
        stack.push_back({op, producersByGain(graph, op, gain)});
    };
    open(root);
    while (!stack.empty()) {
        Frame& frame = stack.back();
        if (frame.next == frame.producers.size()) {
            order.push_back(frame.op);
            stack.pop_back();
            continue;
        }
        const OpId producer = frame.producers[frame.next++];
        if (!isSeen[producer]) {
            open(producer);
        }
    }
}

std::vector<OpId> depthFirst(const OpGraph& graph)
{
    const std::vector<std::uint64_t> gain = subtreeGains(graph);
    std::vector<bool> isSeen(graph.size(), false);
    std::vector<OpId> order;
    for (OpId op = 0; op < graph.size(); ++op) {
        const auto isRead = [&](OpValueId output) { return !graph.readers(output).empty(); };
        if (std::ranges::none_of(graph.op(op).outputs, isRead) && !isSeen[op]) {
            visitDepthFirst(graph, op, gain, isSeen, order);
        }
    }
    return order;
}

ScoredOrder scored(const OpGraph& graph, OrderHeuristic heuristic, std::vector<OpId> order)
{
    const FrontierSummary summary = summarise(frontierProfile(graph, order));
    return {heuristic, std::move(order), summary.peak, summary.peakLive};
}

std::optional<std::vector<OpId>> fastOrder(const OpGraph& graph, OrderHeuristic heuristic)
{
    switch (heuristic) {
    case OrderHeuristic::FirstReady:
        return std::vector<OpId>(graph.order().begin(), graph.order().end());
    case OrderHeuristic::LeastLive:
        return leastLive(graph);
    case OrderHeuristic::FitsUnderPeak:
        return fitsUnderPeak(graph);
    case OrderHeuristic::DepthFirst:
        return depthFirst(graph);
    default:
        return std::nullopt;
    }
}

std::optional<ScoredOrder> bestFast(const OpGraph& graph)
{
    std::optional<ScoredOrder> best;
    for (const OrderHeuristic heuristic : kOrderHeuristics) {
        if (std::optional<std::vector<OpId>> order = fastOrder(graph, heuristic)) {
            ScoredOrder candidate = scored(graph, heuristic, std::move(*order));
            if (!best || candidate.peak < best->peak) {
                best = std::move(candidate);
            }
        }
    }
    return best;
}

} // namespace

std::string_view nameOf(OrderHeuristic heuristic)
{
    switch (heuristic) {
    case OrderHeuristic::FirstReady:
        return "kahn";
    case OrderHeuristic::LeastLive:
        return "greedy";
    case OrderHeuristic::FitsUnderPeak:
        return "under_peak";
    case OrderHeuristic::DepthFirst:
        return "depth_first";
    case OrderHeuristic::Beam:
        return "beam";
    case OrderHeuristic::LocalSearch:
        return "local_search";
    }
    return "";
}

std::string_view descriptionOf(OrderHeuristic heuristic)
{
    switch (heuristic) {
    case OrderHeuristic::FirstReady:
        return "first ready, first run";
    case OrderHeuristic::LeastLive:
        return "the operator after which the least is live";
    case OrderHeuristic::FitsUnderPeak:
        return "an operator that fits under the peak so far and frees most";
    case OrderHeuristic::DepthFirst:
        return "depth first, the operand whose subtree gains most from going first (optimal on trees)";
    case OrderHeuristic::Beam:
        return "the best 32 partial orders side by side";
    case OrderHeuristic::LocalSearch:
        return "the best of the others, then single operators moved while the peak falls";
    }
    return "";
}

std::optional<ScoredOrder> orderBy(const OpGraph& graph, OrderHeuristic heuristic, const std::stop_token& stop)
{
    if (std::optional<std::vector<OpId>> order = fastOrder(graph, heuristic)) {
        return scored(graph, heuristic, std::move(*order));
    }
    if (heuristic == OrderHeuristic::Beam && graph.size() <= kMaxBeamOps) {
        std::vector<OpId> order = beamOrder(graph, stop);
        return order.empty() ? std::nullopt : std::optional(scored(graph, heuristic, std::move(order)));
    }
    if (heuristic == OrderHeuristic::LocalSearch && graph.size() <= kMaxLocalSearchOps) {
        std::optional<ScoredOrder> best = bestFast(graph);
        return scored(graph, heuristic, improveOrder(graph, std::move(best->order), stop));
    }
    return std::nullopt;
}

base::Result<std::vector<OpId>> orderNamed(const OpGraph& graph, std::string_view name)
{
    std::string known;
    for (const OrderHeuristic heuristic : kOrderHeuristics) {
        if (name != nameOf(heuristic)) {
            known += (known.empty() ? "" : ", ") + std::string(nameOf(heuristic));
            continue;
        }
        std::optional<ScoredOrder> order = orderBy(graph, heuristic);
        if (!order) {
            return base::usageError("the graph is too large for this order", std::string(name));
        }
        return std::move(order->order);
    }
    return base::usageError("there is no such order; there are " + known, std::string(name));
}

std::vector<ScoredOrder> allOrders(const OpGraph& graph, const std::stop_token& stop)
{
    std::vector<ScoredOrder> orders;
    for (const OrderHeuristic heuristic : kOrderHeuristics) {
        if (std::optional<ScoredOrder> order = orderBy(graph, heuristic, stop)) {
            orders.push_back(std::move(*order));
        }
    }
    std::stable_sort(orders.begin(), orders.end(),
                     [](const ScoredOrder& a, const ScoredOrder& b) { return a.peak < b.peak; });
    return orders;
}

} // namespace retro::analysis
