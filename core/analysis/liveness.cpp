// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/liveness.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace retro::analysis
{

namespace
{

std::vector<std::uint8_t> reachingOutput(const StorageProblem& problem)
{
    std::vector<std::uint8_t> reaches(problem.valueCount(), 0);
    reaches[problem.output] = 1;
    for (auto value = static_cast<std::uint32_t>(problem.valueCount()); value-- > problem.leafCount();) {
        for (const std::uint32_t operand : problem.node(value).operands) {
            reaches[operand] = reaches[operand] != 0 || reaches[value] != 0 ? 1 : 0;
        }
    }
    return reaches;
}

class LivenessBuilder
{
public:
    LivenessBuilder(const StorageProblem& problem, const std::set<std::uint32_t>& recompute)
        : m_problem(problem), m_recompute(recompute)
    {}

    Liveness build()
    {
        listSteps();
        m_lives.values.assign(m_problem.valueCount(), {});
        m_lives.gradients.assign(m_problem.valueCount(), {});
        liveForward();
        liveBackward();
        liveGradients();
        addUp();
        return std::move(m_lives);
    }

private:
    void listSteps()
    {
        const std::vector<std::uint8_t> reaches = reachingOutput(m_problem);
        const auto first = static_cast<std::uint32_t>(m_problem.leafCount());
        const auto end = static_cast<std::uint32_t>(m_problem.valueCount());
        for (std::uint32_t value = first; value < end; ++value) {
            m_lives.steps.push_back({false, value});
        }
        for (std::uint32_t value = end; value-- > first;) {
            if (reaches[value] != 0) {
                m_lives.steps.push_back({true, value});
            }
        }
    }

    [[nodiscard]] bool isStored(std::uint32_t value) const { return !m_recompute.contains(value); }

    void liveForward()
    {
        const std::size_t end = m_lives.steps.size() - 1;
        for (std::uint32_t leaf = 0; leaf < m_problem.leafCount(); ++leaf) {
            m_lives.values[leaf] = {0, end};
        }
        for (std::size_t step = 0; step < m_problem.nodes.size(); ++step) {
            const std::uint32_t value = m_lives.steps[step].value;
            m_lives.values[value] = {step, step};
            for (const std::uint32_t operand : m_problem.node(value).operands) {
                m_lives.values[operand].last = std::max(m_lives.values[operand].last, step);
            }
        }
    }

    void liveBackward()
    {
        for (std::size_t step = m_problem.nodes.size(); step < m_lives.steps.size(); ++step) {
            for (const std::uint32_t read : m_problem.node(m_lives.steps[step].value).backwardReads) {
                if (isStored(read)) {
                    m_lives.values[read].last = std::max(m_lives.values[read].last, step);
                }
            }
        }
    }

    void liveGradients()
    {
        if (!m_problem.isLeaf(m_problem.output)) {
            touch(m_problem.output, m_problem.nodes.size());
        }
        for (std::size_t step = m_problem.nodes.size(); step < m_lives.steps.size(); ++step) {
            const std::uint32_t value = m_lives.steps[step].value;
            touch(value, step);
            for (const std::uint32_t operand : m_problem.node(value).operands) {
                touch(operand, m_problem.isLeaf(operand) ? m_lives.steps.size() - 1 : step, step);
            }
        }
    }

    void touch(std::uint32_t value, std::size_t last) { touch(value, last, last); }
    void touch(std::uint32_t value, std::size_t last, std::size_t first)
    {
        LiveInterval& interval = m_lives.gradients[value];
        interval = interval.exists() ? LiveInterval{std::min(interval.first, first), std::max(interval.last, last)}
                                     : LiveInterval{first, last};
    }

    /// What has to be computed again inside a backward step.
    [[nodiscard]] std::vector<std::uint32_t> rebuiltAt(std::size_t step) const
    {
        std::set<std::uint32_t> rebuilt;
        std::vector<std::uint32_t> open = m_problem.node(m_lives.steps[step].value).backwardReads;
        while (!open.empty()) {
            const std::uint32_t value = open.back();
            open.pop_back();
            if (m_problem.isLeaf(value) || m_lives.values[value].holds(step) || !rebuilt.insert(value).second) {
                continue;
            }
            const std::vector<std::uint32_t>& operands = m_problem.node(value).operands;
            open.insert(open.end(), operands.begin(), operands.end());
        }
        return {rebuilt.begin(), rebuilt.end()};
    }

    void addUp()
    {
        std::vector<std::int64_t> change(m_lives.steps.size() + 1, 0);
        const auto add = [&](const LiveInterval& interval, std::int64_t bytes) {
            if (interval.exists()) {
                change[interval.first] += bytes;
                change[interval.last + 1] -= bytes;
            }
        };
        for (std::uint32_t value = 0; value < m_problem.valueCount(); ++value) {
            add(m_lives.values[value], m_problem.sizeOf(value));
            add(m_lives.gradients[value], m_problem.sizeOf(value));
        }
        std::int64_t bytes = 0;
        for (std::size_t step = 0; step < m_lives.steps.size(); ++step) {
            bytes += change[step];
            m_lives.resident.push_back(bytes + (m_lives.steps[step].isBackward ? rebuild(step) : 0));
            m_lives.peak = std::max(m_lives.peak, m_lives.resident.back());
        }
    }

    std::int64_t rebuild(std::size_t step)
    {
        const std::vector<std::uint32_t> rebuilt = rebuiltAt(step);
        std::int64_t bytes = 0;
        for (const std::uint32_t value : rebuilt) {
            bytes += m_problem.sizeOf(value);
            m_lives.extraCost += m_problem.node(value).cost;
        }
        if (!rebuilt.empty()) {
            m_lives.rebuilt[m_lives.steps[step].value] = rebuilt;
        }
        return bytes;
    }

    const StorageProblem& m_problem;
    const std::set<std::uint32_t>& m_recompute;
    Liveness m_lives;
};

/// Branch and bound over "rebuild or store" per candidate.
class Chooser
{
public:
    Chooser(const StorageProblem& problem, std::int64_t budget, std::size_t limit)
        : m_problem(problem), m_budget(budget), m_limit(limit), m_candidates(storageCandidates(problem))
    {}

    StorageChoice choose()
    {
        decide(0);
        StorageChoice choice;
        if (m_best) {
            choice = *m_best;
        }
        choice.isProven = m_visited < m_limit;
        return choice;
    }

private:
    /// Least bytes per step that the decided part needs: undecided values count as resident for rebuilding and as
    /// nothing for memory.
    [[nodiscard]] bool mayFit(std::size_t decided, const Liveness& allStored) const
    {
        std::vector<std::int64_t> change(allStored.resident.size() + 1, 0);
        for (std::size_t i = decided; i < m_candidates.size(); ++i) {
            const std::uint32_t value = m_candidates[i];
            const LiveInterval& whole = allStored.values[value];
            const std::size_t forwardEnd = m_forwardEnds[value];
            if (whole.last > forwardEnd) {
                change[forwardEnd + 1] -= m_problem.sizeOf(value);
                change[whole.last + 1] += m_problem.sizeOf(value);
            }
        }
        std::int64_t less = 0;
        for (std::size_t step = 0; step < allStored.resident.size(); ++step) {
            less += change[step];
            if (allStored.resident[step] + less > m_budget) {
                return false;
            }
        }
        return true;
    }

    void decide(std::size_t at)
    {
        if (++m_visited >= m_limit) {
            return;
        }
        if (m_forwardEnds.empty()) {
            findForwardEnds();
        }
        const Liveness lives = liveness(m_problem, m_chosen);
        if ((m_best && lives.extraCost > m_best->extraCost) || !mayFit(at, lives)) {
            return;
        }
        if (at == m_candidates.size()) {
            offer(lives);
            return;
        }
        decide(at + 1);
        m_chosen.insert(m_candidates[at]);
        decide(at + 1);
        m_chosen.erase(m_candidates[at]);
    }

    void findForwardEnds()
    {
        const Liveness nothingStored = liveness(m_problem, {m_candidates.begin(), m_candidates.end()});
        for (const LiveInterval& interval : nothingStored.values) {
            m_forwardEnds.push_back(interval.last);
        }
    }

    void offer(const Liveness& lives)
    {
        StorageChoice choice{true, true, m_chosen, lives.extraCost, lives.peak};
        const auto key = [](const StorageChoice& one) {
            return std::make_tuple(one.extraCost, one.peak, one.recompute.size(), one.recompute);
        };
        if (!m_best || key(choice) < key(*m_best)) {
            m_best = std::move(choice);
        }
    }

    const StorageProblem& m_problem;
    std::int64_t m_budget;
    std::size_t m_limit;
    std::vector<std::uint32_t> m_candidates;
    std::vector<std::size_t> m_forwardEnds;
    std::set<std::uint32_t> m_chosen;
    std::optional<StorageChoice> m_best;
    std::size_t m_visited = 0;
};

} // namespace

Liveness liveness(const StorageProblem& problem, const std::set<std::uint32_t>& recompute)
{
    return LivenessBuilder(problem, recompute).build();
}

std::vector<std::string> residentNames(const Liveness& lives, std::size_t step)
{
    std::vector<std::string> names;
    for (std::size_t value = 0; value < lives.values.size(); ++value) {
        if (lives.values[value].holds(step)) {
            names.push_back(fmt::format("v{}", value));
        }
        if (lives.gradients[value].holds(step)) {
            names.push_back(fmt::format("g{}", value));
        }
    }
    const auto rebuilt =
        lives.steps[step].isBackward ? lives.rebuilt.find(lives.steps[step].value) : lives.rebuilt.end();
    if (rebuilt != lives.rebuilt.end()) {
        for (const std::uint32_t value : rebuilt->second) {
            names.push_back(fmt::format("r{}", value));
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::uint32_t> storageCandidates(const StorageProblem& problem)
{
    const std::vector<std::uint8_t> reaches = reachingOutput(problem);
    std::set<std::uint32_t> candidates;
    for (auto value = static_cast<std::uint32_t>(problem.leafCount()); value < problem.valueCount(); ++value) {
        for (const std::uint32_t read : problem.node(value).backwardReads) {
            if (reaches[value] != 0 && !problem.isLeaf(read)) {
                candidates.insert(read);
            }
        }
    }
    return {candidates.begin(), candidates.end()};
}

StorageChoice chooseStorage(const StorageProblem& problem, std::int64_t budget, std::size_t limit)
{
    return Chooser(problem, budget, limit).choose();
}

} // namespace retro::analysis
