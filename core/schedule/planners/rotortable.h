// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace retro::schedule
{

/// A chain of stages 1 … L with all sizes and times; index 0 stands for the input (Beaumont et al., arXiv 1911.13214).
struct RotorChain
{
    std::vector<double> forwardTime;              ///< uf
    std::vector<double> backwardTime;             ///< ub
    std::vector<std::uint64_t> outputBytes;       ///< wa
    std::vector<std::uint64_t> savedBytes;        ///< wabar: all that the backward needs, output included
    std::vector<std::uint64_t> gradientBytes;     ///< wd
    std::vector<std::uint64_t> forwardTemporary;  ///< of
    std::vector<std::uint64_t> backwardTemporary; ///< ob

    [[nodiscard]] std::size_t stages() const { return forwardTime.empty() ? 0 : forwardTime.size() - 1; }
};

/// What a persistent schedule does with a stage.
enum class RotorKind : std::uint8_t {
    ForwardKeepInput, ///< Fck
    ForwardForget,    ///< F0
    ForwardAll,       ///< Fall
    Backward          ///< B
};

/// One operation of a persistent schedule.
struct RotorStep
{
    RotorKind kind = RotorKind::Backward;
    std::uint32_t stage = 0;
};

/// "Fck3", "F04", "Fall8", "B2".
[[nodiscard]] std::string nameOf(const RotorStep& step);

/// Cheapest memory-persistent schedules of a chain at all budgets, by dynamic programming (docs/planning.md, `rotor`).
/// Memory is counted in memorySlots of `budget / memorySlots` bytes, sizes rounded up (exact where the budget has no
/// more bytes than memorySlots).
class RotorTable
{
public:
    /// O(stages³ · memorySlots). Where `isOver`, which is asked now and then, answers true the table ends unfinished.
    RotorTable(RotorChain chain, std::uint64_t budget, std::uint32_t memorySlots,
               const std::function<bool()>& isOver = {});

    /// False where time ran out: there is no schedule then, and nothing is known.
    [[nodiscard]] bool isFinished() const { return m_isFinished; }

    /// Least time within the budget; none when no persistent schedule fits.
    [[nodiscard]] std::optional<double> cost() const;
    /// The schedule; empty when there is none.
    [[nodiscard]] std::vector<RotorStep> steps() const;

private:
    /// Costs of a part of the chain, per memory that it has; infinite where it does not fit.
    using Row = std::vector<double>;

    /// A part of the chain that is still to be done, or the backward step of a stage.
    struct Task
    {
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        std::uint32_t memory = 0;
        bool isBackward = false;
    };

    void expand(const Task& task, std::vector<Task>& tasks, std::vector<RotorStep>& steps) const;
    [[nodiscard]] std::uint32_t slotsOf(std::uint64_t bytes) const;
    [[nodiscard]] std::uint32_t needAll(std::uint32_t first, std::uint32_t last) const;
    [[nodiscard]] std::uint32_t needSkip(std::uint32_t first, std::uint32_t last) const;
    [[nodiscard]] const Row& row(std::uint32_t first, std::uint32_t last) const;
    void fill(std::uint32_t first, std::uint32_t last);
    void trySplit(Row& part, std::uint32_t first, std::uint32_t last, std::uint32_t q, std::uint32_t least) const;
    [[nodiscard]] double costOfAll(std::uint32_t first, std::uint32_t last, std::uint32_t memory) const;
    [[nodiscard]] std::uint32_t splitOf(const Task& task) const;

    RotorChain m_chain;
    std::uint32_t m_stages = 0;
    std::uint64_t m_slotBytes = 1;
    std::uint32_t m_memory = 0;
    std::vector<std::uint32_t> m_output, m_saved, m_gradient, m_forwardTemporary,
        m_backwardTemporary; ///< in memorySlots
    std::vector<double> m_forwardSum;
    bool m_isFinished = true;
    std::vector<Row> m_rows; ///< [first · (stages + 1) + last]
};

} // namespace retro::schedule
