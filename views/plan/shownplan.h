// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/portfolio.h"
#include "views/plan/memorystack.h"
#include "views/plan/plansubject.h"
#include "views/plan/runaxis.h"
#include "views/plan/schedulematrix.h"

#include <QString>

#include <vector>

namespace retro::views
{

/// A box of the interval tree: rows from … until, the last excluded.
struct TreeBox
{
    std::uint32_t level = 0; ///< 0 = the whole graph
    std::uint32_t from = 0;
    std::uint32_t until = 0;
    QString label;
};

/// Intervals of operators beside the matrix: those by which the plan was made, or, where values are chosen one by one,
/// those between the narrowest cuts of the graph.
struct BlockTree
{
    std::vector<TreeBox> boxes; ///< parents before their children
    std::uint32_t levels = 0;
    bool isOfPlan = false; ///< the plan's own; else the graph's

    /// The deepest box around a row; −1 when there is none.
    [[nodiscard]] int boxAt(std::uint32_t row) const;
};

/// Most levels that are drawn.
inline constexpr std::uint32_t kMaxTreeLevels = 4;

[[nodiscard]] BlockTree blockTree(const analysis::JointGraph& joint, const schedule::Plan& plan,
                                  const ScheduleMatrix& matrix);

/// A plan with all that its views draw. Immutable; made off the GUI thread.
struct ShownPlan
{
    PlanSubjectPointer subject;
    PlanQuestion question;
    schedule::PlanResult result; ///< result.plan is there
    schedule::Simulation run;
    ScheduleMatrix matrix;
    BlockTree tree;
    std::optional<SavingNumbers> saving; ///< of a relevance pass by it; none = nobody knows
    MemoryStack stack;                   ///< memory by tensor at the plan's own steps
    RunAxisPointer axis;                 ///< of the run whose time the columns are; null = they are steps of the plan

    [[nodiscard]] const analysis::OpGraph& graph() const { return subject->graph(); }
    [[nodiscard]] const schedule::Plan& plan() const { return *result.plan; }
    /// Needs more than was asked for; only plans of the user's own choices do.
    [[nodiscard]] bool isOverBudget() const { return result.peak > question.budget; }
    /// What is in memory at each column: measured where the columns are a run's, else as the simulator has it.
    [[nodiscard]] const MemoryStack& memory() const { return axis ? axis->stack : stack; }
    /// Cost over that of computing nothing twice: 0.04 = 4 % more.
    [[nodiscard]] double extraWork() const;
    [[nodiscard]] std::size_t rebuiltTensors() const;
    /// Name of the tensor of a row.
    [[nodiscard]] QString rowName(std::uint32_t row) const;
    /// The same for a narrow place, without what every name has: "stem/input/norm".
    [[nodiscard]] QString rowLabel(std::uint32_t row) const;
    /// Of an operator, which may make a gradient or relevance: the name of what it makes that of.
    [[nodiscard]] QString operatorLabel(std::uint32_t op) const;
    /// "gradient of b2.attn", "recompute b2.probs".
    [[nodiscard]] QString stepWords(std::uint32_t column) const;
    /// Why the tensor of a row is kept, rebuilt or let go: the planner's reason, else the figures that speak for it.
    [[nodiscard]] QString reasonOf(std::uint32_t row) const;
    /// What becomes of the tensor of a row, in a sentence: when it goes, when and how it comes back, what making it
    /// costs.
    [[nodiscard]] QString storyOf(std::uint32_t row) const;
    /// Bytes of the tensor of a row.
    [[nodiscard]] std::uint64_t bytesOf(std::uint32_t row) const;
    /// Cost of making the tensor of a row, in the subject's unit.
    [[nodiscard]] double costOf(std::uint32_t row) const;
};
using ShownPlanPointer = std::shared_ptr<const ShownPlan>;

/// Everything about a plan; `result.plan` must be there.
[[nodiscard]] ShownPlanPointer shownPlan(PlanSubjectPointer subject, PlanQuestion question,
                                         schedule::PlanResult result);

/// The same over the time axis of a run that it carried out: columns are its visits, from the plan's first on. Null
/// where the run was carried out by no plan, or names values that the plan has not. O(events).
[[nodiscard]] ShownPlanPointer shownOverRun(const ShownPlanPointer& plan, std::shared_ptr<const trace::Run> run);

/// A planner's name for people: "store all", "peak shaving".
[[nodiscard]] QString plannerTitle(const std::string& planner);
/// "keep", "recompute", "let go".
[[nodiscard]] QString wordOf(Decision decision);
/// A cost for people: "0.40 GFLOP", "3.1 ms", "12 operators".
[[nodiscard]] QString costText(double cost, analysis::CostUnit unit);

/// One unit for a column of costs, chosen by the largest: "MFLOP", "GFLOP", "ms", "operators".
struct CostScale
{
    double divisor = 1;
    QString unit;
    int digits = 2;

    [[nodiscard]] static CostScale of(double largest, analysis::CostUnit unit);
    /// The figure without its unit.
    [[nodiscard]] QString figure(double cost) const;
};

} // namespace retro::views
