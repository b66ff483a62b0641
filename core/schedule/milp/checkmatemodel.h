// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/lifetimes.h"
#include "core/schedule/milp/milp.h"
#include "core/schedule/plan.h"

#include <optional>

namespace retro::schedule
{

/// Joint operators up to which a whole graph is one programme: beyond, CBC finds nothing in any time that people wait.
inline constexpr std::size_t kMostCheckmateOps = 120;

/// Which way sizes go that are no whole number of units: up, and every solution fits; down, and no plan that fits is
/// left out, so that the least cost of a solution bounds that of every plan in the order from below.
enum class SizeRounding : std::uint8_t { Up, Down };

/// The choice of what to compute again as a mixed integer programme (Jain et al., Checkmate, arXiv 1910.02653, in a
/// tightened form; docs/planning.md, "The integer programme"): operators stand in a fixed order; stage t ends with the
/// first run of operator t; in a stage every operator runs at most once. R says what runs, S what is in memory when a
/// stage starts, F what is dropped right after an operator, U the bytes then. Gradients, and what may not run again,
/// run in their own stage only.
class CheckmateModel
{
public:
    /// `order` is topological and complete. O(n² + n·operands).
    CheckmateModel(const OpGraph& joint, std::vector<OpId> order, std::uint64_t budget,
                   SizeRounding rounding = SizeRounding::Up);

    [[nodiscard]] const MilpProblem& problem() const { return m_problem; }
    /// Costs of the programme times this are those of the graph.
    [[nodiscard]] double costUnit() const { return m_costUnit; }
    /// False when sizes were rounded: up, "infeasible" proves nothing; down, solutions may not fit.
    [[nodiscard]] bool isExact() const { return m_isExact; }
    /// Computations in the order of a solution.
    [[nodiscard]] std::vector<OpId> sequenceOf(const std::vector<double>& values) const;
    /// The point of a sequence; empty when it runs an operator twice in one stage or first runs are in another order.
    [[nodiscard]] std::vector<double> pointOf(const std::vector<OpId>& sequence) const;
    /// Two-phase rounding of a relaxed solution: what is kept at least to the share `threshold` is kept, and the fewest
    /// computations follow.
    [[nodiscard]] std::vector<OpId> rounded(const std::vector<double>& values, double threshold) const;

private:
    using Position = std::uint32_t;

    struct Drop
    {
        Position after = 0; ///< the operator right after which the value may go
        int column = -1;
    };
    struct Held
    {
        OpValueId value = 0;
        Position producer = 0;
        Position last = 0; ///< last stage in which it can be of use
        double bytes = 0;  ///< in units
        std::vector<Position> readers;
        std::vector<int> resident;            ///< S by stage − producer − 1
        std::vector<std::vector<Drop>> drops; ///< F by stage − producer
    };

    /// A column that counts for so many units of memory.
    struct Amount
    {
        int column = -1;
        double bytes = 0;
    };
    struct StageFlow
    {
        std::vector<Amount> start;
        std::vector<std::vector<Amount>> made; ///< by position
        std::vector<std::vector<Amount>> dropped;
    };
    class Rounding;

    void findLastUses();
    [[nodiscard]] Position lastUseOf(OpValueId value) const;
    [[nodiscard]] bool isWanted(OpValueId value) const;
    void addHeld();
    void addHeld(OpValueId value, Position producer);
    void chooseUnits(std::uint64_t budget);
    void addRuns();
    void addAtMost(int column, std::initializer_list<int> sources);
    void addNotBoth(int a, int b);
    void addKeeping(const Held& held);
    void addReading(const Held& held);
    void addDrops(Held& held);
    [[nodiscard]] int addDrop(Held& held, Position stage, Position after);
    void addMemory();
    [[nodiscard]] StageFlow flowOf(Position stage) const;
    static void put(MilpRow& sum, const std::vector<Amount>& amounts, double sign);
    void addMemoryOf(Position stage);
    [[nodiscard]] bool mayRun(Position stage, Position op) const;
    [[nodiscard]] int run(Position stage, Position op) const;
    [[nodiscard]] static int resident(const Held& held, Position stage);
    [[nodiscard]] double units(std::uint64_t bytes) const;
    void addRow(std::vector<int> columns, std::vector<double> factors, char sense, double right);
    [[nodiscard]] std::optional<std::vector<Position>> stagesOf(const std::vector<OpId>& sequence) const;
    void setStay(const Held& held, const Instance& stay, const std::vector<OpId>& sequence,
                 const std::vector<Position>& stages, std::vector<double>& point) const;

    const OpGraph& m_joint;
    std::vector<OpId> m_order;
    std::vector<Position> m_at;           ///< by operator
    std::vector<Position> m_lastUse;      ///< by position: the last stage in which running it again can help
    std::vector<std::vector<int>> m_runs; ///< R by position of the operator, by stage − position
    std::vector<Held> m_held;
    std::vector<std::uint32_t> m_heldOf; ///< by value; kNone for those that take no room or are never read
    std::vector<std::uint64_t> m_own;    ///< by position: workspace and results that nobody reads
    MilpProblem m_problem;
    SizeRounding m_rounding;
    std::uint64_t m_unit = 1;
    double m_budget = 0;
    double m_costUnit = 1;
    bool m_isExact = true;
};

} // namespace retro::schedule
