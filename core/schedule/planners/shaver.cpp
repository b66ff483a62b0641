// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/shaver.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::schedule
{

namespace
{

/// Longest chain of operands that is rebuilt for one value.
constexpr std::size_t kMostChain = 48;
/// Sequences from here on are shaved several values at a time, gains taken from sums.
constexpr std::size_t kLong = 1500;
/// Values that are dropped between two looks at a long sequence.
constexpr std::size_t kBatch = 64;

/// A value that could be dropped over a gap and rebuilt before its next reader.
struct Candidate
{
    OpValueId value = 0;
    std::uint32_t from = 0; ///< last use before the gap
    std::uint32_t to = 0;   ///< first use behind it
    double rank = 0;
    double gain = 0; ///< byte-steps over the budget
    double cost = 0;
    std::vector<OpId> chain; ///< what is computed before `to`, operands first
};

/// A sequence with its stays and memory.
class Rollout
{
public:
    Rollout(const OpGraph& graph, std::uint64_t budget, const std::vector<OpId>& sequence)
        : m_graph(graph), m_budget(budget), m_sequence(sequence), m_instances(instancesOf(graph, sequence)),
          m_memory(memoryOf(graph, sequence, m_instances))
    {
        indexInstances();
        indexReads();
        m_over.resize(m_memory.size());
        m_overSum.assign(m_memory.size() + 1, 0);
        for (std::size_t at = 0; at < m_memory.size(); ++at) {
            m_over[at] = over(m_memory[at]);
            m_overSum[at + 1] = m_overSum[at] + m_over[at];
        }
        const auto peak = std::max_element(m_memory.begin(), m_memory.end());
        m_peakAt = static_cast<std::uint32_t>(peak - m_memory.begin());
        m_work = m_sequence.size() + m_reads.size();
    }

    /// Positions that were looked at so far.
    [[nodiscard]] std::uint64_t work() const { return m_work; }
    [[nodiscard]] bool fits() const { return m_memory.empty() || m_memory[m_peakAt] <= m_budget; }
    [[nodiscard]] std::uint64_t peak() const { return m_memory.empty() ? 0 : m_memory[m_peakAt]; }
    [[nodiscard]] double overTotal() const { return m_overSum.back(); }

    /// All candidates at the peak with a gain, best first.
    [[nodiscard]] std::vector<Candidate> candidates(const ShaveOptions& options) const
    {
        std::vector<Candidate> found;
        for (std::size_t i = 0; i < m_instances.size(); ++i) {
            const Instance& instance = m_instances[i];
            if (instance.start >= m_peakAt) {
                break; // by start
            }
            if (instance.end > m_peakAt && m_graph.value(instance.value).bytes > 0) {
                addCandidate(i, options, found);
            }
        }
        std::stable_sort(found.begin(), found.end(),
                         [](const Candidate& a, const Candidate& b) { return a.rank > b.rank; });
        return found;
    }

    [[nodiscard]] std::uint64_t excess() const { return fits() ? 0 : m_memory[m_peakAt] - m_budget; }

private:
    [[nodiscard]] double over(std::uint64_t bytes) const
    {
        return bytes > m_budget ? static_cast<double>(bytes - m_budget) : 0;
    }

    void indexInstances()
    {
        m_firstOf.assign(m_graph.values().size() + 1, 0);
        for (const Instance& instance : m_instances) {
            ++m_firstOf[instance.value + 1];
        }
        for (std::size_t i = 1; i < m_firstOf.size(); ++i) {
            m_firstOf[i] += m_firstOf[i - 1];
        }
        std::vector<std::uint32_t> next(m_firstOf.begin(), m_firstOf.end() - 1);
        m_byValue.resize(m_instances.size());
        for (std::uint32_t i = 0; i < m_instances.size(); ++i) {
            m_byValue[next[m_instances[i].value]++] = i;
        }
    }

    void indexReads()
    {
        m_readStart.assign(m_graph.values().size() + 1, 0);
        for (const OpId op : m_sequence) {
            for (const OpValueId input : m_graph.reads(op)) {
                ++m_readStart[input + 1];
            }
        }
        for (std::size_t i = 1; i < m_readStart.size(); ++i) {
            m_readStart[i] += m_readStart[i - 1];
        }
        std::vector<std::uint32_t> next(m_readStart.begin(), m_readStart.end() - 1);
        m_reads.resize(m_readStart.back());
        for (std::uint32_t at = 0; at < m_sequence.size(); ++at) {
            for (const OpValueId input : m_graph.reads(m_sequence[at])) {
                m_reads[next[input]++] = at;
            }
        }
    }

    /// True when a value is in memory before and while the computation at `at` runs, not made by it.
    [[nodiscard]] bool isLiveAcross(OpValueId value, std::uint32_t at) const
    {
        if (m_graph.value(value).isPinned || m_graph.value(value).producer == kNone) {
            return true;
        }
        const auto begin = m_byValue.begin() + m_firstOf[value];
        const auto end = m_byValue.begin() + m_firstOf[value + 1];
        const auto behind =
            std::partition_point(begin, end, [&](std::uint32_t i) { return m_instances[i].start < at; });
        return behind != begin && m_instances[*(behind - 1)].end >= at;
    }

    void addCandidate(std::size_t at, const ShaveOptions& options, std::vector<Candidate>& found) const
    {
        const Instance& instance = m_instances[at];
        const OpId producer = m_graph.value(instance.value).producer;
        if (!m_graph.op(producer).mayRepeat()) {
            return;
        }
        const auto reads = m_reads.begin() + m_readStart[instance.value];
        const auto readsEnd = m_reads.begin() + m_readStart[instance.value + 1];
        const auto next = std::lower_bound(reads, readsEnd, m_peakAt);
        if (next == readsEnd || *next == m_peakAt || *next > instance.end) {
            return; // read at the peak, or kept for the end only
        }
        Candidate candidate;
        candidate.value = instance.value;
        candidate.from = next == reads ? instance.start : std::max(instance.start, *(next - 1));
        candidate.to = *next;
        double cost = 0;
        if (!findChain(producer, candidate, cost)) {
            return;
        }
        const double gain = gainOf(candidate);
        if (gain <= 0) {
            return;
        }
        candidate.gain = gain;
        candidate.cost = cost;
        candidate.rank = gain / std::pow(std::max(cost, 1e-9), options.costPower);
        if (options.noise > 0 && options.random != nullptr) {
            candidate.rank *= 1 + options.noise * static_cast<double>((*options.random)() >> 11U) * 0x1p-53;
        }
        found.push_back(std::move(candidate));
    }

    /// Operators that rebuild `producer` before `candidate.to`, operands first. False: too many, or one may run once.
    bool findChain(OpId producer, Candidate& candidate, double& cost) const
    {
        struct Frame
        {
            OpId op;
            std::size_t next;
        };
        std::vector<Frame> stack{{producer, 0}};
        while (!stack.empty()) {
            Frame& frame = stack.back();
            const auto inputs = m_graph.reads(frame.op);
            if (frame.next == inputs.size()) {
                candidate.chain.push_back(frame.op);
                cost += m_graph.op(frame.op).cost;
                stack.pop_back();
                continue;
            }
            const OpValueId input = inputs[frame.next++];
            const OpId maker = m_graph.value(input).producer;
            if (isLiveAcross(input, candidate.to) || isIn(candidate.chain, maker)) {
                continue;
            }
            if (!m_graph.op(maker).mayRepeat() || candidate.chain.size() + stack.size() >= kMostChain) {
                return false;
            }
            stack.push_back({maker, 0});
        }
        return true;
    }

    static bool isIn(const std::vector<OpId>& ops, OpId op)
    {
        return std::find(ops.begin(), ops.end(), op) != ops.end();
    }

    /// Byte-steps over the budget that go, less those that the chain adds.
    [[nodiscard]] double gainOf(const Candidate& candidate) const
    {
        const std::uint64_t bytes = m_graph.value(candidate.value).bytes;
        double gain = 0;
        m_work += candidate.chain.size() * candidate.chain.size() + 1;
        if (m_memory.size() >= kLong) {
            const double sum = m_overSum[candidate.to] - m_overSum[candidate.from + 1];
            gain = std::min(sum, static_cast<double>(bytes) * static_cast<double>(candidate.to - candidate.from - 1));
        } else {
            m_work += candidate.to - candidate.from;
            gain = overWithin(candidate.from + 1, candidate.to, static_cast<double>(bytes));
        }
        return gain - chainOver(candidate);
    }

    /// Byte-steps over the budget in [from, to) that go with so many bytes. All are whole numbers, so the sums are
    /// exact.
    [[nodiscard]] double overWithin(std::uint32_t from, std::uint32_t to, double bytes) const
    {
        constexpr std::uint32_t kTogether = 4;
        std::array<double, kTogether> sums{};
        for (; std::size_t{from} + kTogether <= to; from += kTogether) {
            for (std::uint32_t i = 0; i < kTogether; ++i) {
                sums[i] += std::min(m_over[from + i], bytes);
            }
        }
        for (; from < to; ++from) {
            sums[0] += std::min(m_over[from], bytes);
        }
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    [[nodiscard]] double chainOver(const Candidate& candidate) const
    {
        const OpId reader = m_sequence[candidate.to];
        std::uint64_t live = m_memory[candidate.to] - m_graph.outputBytes(reader, false) -
                             m_graph.op(reader).workspace - m_graph.value(candidate.value).bytes;
        double sum = 0;
        const std::vector<OpId>& chain = candidate.chain;
        for (std::size_t k = 0; k < chain.size(); ++k) {
            live += m_graph.outputBytes(chain[k], false);
            sum += over(live + m_graph.op(chain[k]).workspace);
            for (std::size_t made = 0; made <= k; ++made) {
                live -=
                    made + 1 < chain.size() && lastUse(chain, made) == k ? m_graph.outputBytes(chain[made], false) : 0;
            }
        }
        return sum;
    }

    /// Position in the chain of the last one that reads a result of chain[made]; its own without.
    [[nodiscard]] std::size_t lastUse(const std::vector<OpId>& chain, std::size_t made) const
    {
        for (std::size_t k = chain.size(); k-- > made + 1;) {
            const auto reads = m_graph.reads(chain[k]);
            const auto isMade = [&](OpValueId input) { return m_graph.value(input).producer == chain[made]; };
            if (std::ranges::any_of(reads, isMade)) {
                return k;
            }
        }
        return made;
    }

    const OpGraph& m_graph;
    std::uint64_t m_budget;
    const std::vector<OpId>& m_sequence;
    std::vector<Instance> m_instances; ///< by start
    std::vector<std::uint64_t> m_memory;
    std::vector<std::uint32_t> m_firstOf; ///< per value, into m_byValue
    std::vector<std::uint32_t> m_byValue;
    std::vector<std::uint32_t> m_readStart;
    std::vector<std::uint32_t> m_reads; ///< positions, grouped by value
    std::vector<double> m_over;         ///< bytes over the budget, per position
    std::vector<double> m_overSum;
    std::uint32_t m_peakAt = 0;
    mutable std::uint64_t m_work = 0;
};

/// Candidates that can be taken together: enough to bring the peak down, none rebuilt from what another drops.
std::vector<Candidate> takeTogether(const OpGraph& graph, std::vector<Candidate> candidates, std::uint64_t excess,
                                    bool isLong)
{
    if (!isLong) {
        candidates.resize(1);
        return candidates;
    }
    std::vector<Candidate> taken;
    std::vector<OpValueId> dropped;
    std::uint64_t gone = 0;
    for (Candidate& candidate : candidates) {
        const auto readsDropped = [&](OpId op) {
            return std::ranges::any_of(graph.reads(op), [&](OpValueId input) {
                return std::find(dropped.begin(), dropped.end(), input) != dropped.end();
            });
        };
        if (std::ranges::any_of(candidate.chain, readsDropped)) {
            continue;
        }
        gone += graph.value(candidate.value).bytes;
        dropped.push_back(candidate.value);
        taken.push_back(std::move(candidate));
        if (gone >= excess || taken.size() == kBatch) {
            break;
        }
    }
    return taken;
}

void tell(const OpGraph& graph, const std::vector<OpId>& sequence, const std::vector<Candidate>& taken,
          SearchListener& listener)
{
    for (const Candidate& one : taken) {
        listener.onDrop({one.value, event::PlanReason::Peak, one.gain, one.cost});
        for (std::size_t k = 0; k < one.chain.size(); ++k) {
            const OpId reader = k + 1 < one.chain.size() ? one.chain[k + 1] : sequence[one.to];
            listener.onRebuild({graph.op(one.chain[k]).outputs.front(), reader, graph.op(one.chain[k]).cost});
        }
    }
}

void insertChains(std::vector<OpId>& sequence, std::vector<Candidate> taken)
{
    std::stable_sort(taken.begin(), taken.end(), [](const Candidate& a, const Candidate& b) { return a.to < b.to; });
    std::vector<OpId> result;
    result.reserve(sequence.size() + taken.size() * 4);
    std::size_t next = 0;
    for (std::uint32_t at = 0; at < sequence.size(); ++at) {
        for (; next < taken.size() && taken[next].to == at; ++next) {
            result.insert(result.end(), taken[next].chain.begin(), taken[next].chain.end());
        }
        result.push_back(sequence[at]);
    }
    sequence = std::move(result);
}

/// Takes a round of candidates together; false when there is none.
bool shaveOnce(const OpGraph& graph, const Rollout& rollout, std::vector<OpId>& sequence, const ShaveOptions& options)
{
    std::vector<Candidate> candidates = rollout.candidates(options);
    if (options.work != nullptr) {
        *options.work += rollout.work();
    }
    if (candidates.empty()) {
        return false;
    }
    std::vector<Candidate> taken =
        takeTogether(graph, std::move(candidates), rollout.excess(), sequence.size() >= kLong);
    if (options.listener != nullptr) {
        tell(graph, sequence, taken, *options.listener);
    }
    insertChains(sequence, std::move(taken));
    return true;
}

} // namespace

bool shave(const OpGraph& graph, std::uint64_t budget, std::vector<OpId>& sequence, const ShaveOptions& options)
{
    const std::size_t mostLength = sequence.size() * 12 + 200;
    std::vector<OpId> best = sequence;
    std::uint64_t leastPeak = ~0ULL;
    while (true) {
        const Rollout rollout(graph, budget, sequence);
        if (rollout.fits()) {
            return true;
        }
        if (rollout.peak() < leastPeak) {
            leastPeak = rollout.peak();
            best = sequence;
        }
        const bool isEnd = sequence.size() > mostLength || (options.isOver && options.isOver());
        if (isEnd || !shaveOnce(graph, rollout, sequence, options)) {
            sequence = std::move(best);
            return false;
        }
    }
}

} // namespace retro::schedule
