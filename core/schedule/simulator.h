// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/plan.h"

namespace retro::schedule
{

/// What a plan is judged by.
struct SimulationOptions
{
    std::optional<std::uint64_t> budget; ///< bytes; none = the plan's own; with neither, memory is unbounded
    double secondsPerCost = 1;           ///< of the graph's cost unit; for the time of computations beside copies
    bool restoresRandomState = false;    ///< whoever runs the plan restores generators: such operators may run again
};

/// Why a plan is no plan.
enum class PlanErrorKind : std::uint8_t {
    WrongGraph,      ///< made for another graph
    UnknownId,       ///< an operator, value or tier that does not exist
    MissingInput,    ///< an operand is not in memory
    AlreadyLive,     ///< computed while a result of it is in memory
    DeadFree,        ///< frees or moves what is not in memory
    PinnedMoved,     ///< frees or moves a pinned value
    GradientTwice,   ///< a gradient runs a second time
    NotRepeatable,   ///< an operator that may run once runs again
    NeverRun,        ///< an operator, gradient or not, never runs
    NotThere,        ///< a prefetch of what is in no tier
    OverBudget,      ///< more bytes than the budget
    RequiredMissing, ///< a required value is not in memory at the end
};

/// "missing input", "over budget", …
[[nodiscard]] std::string_view nameOf(PlanErrorKind kind);

/// The first thing that is wrong with a plan.
struct PlanError
{
    PlanErrorKind kind = PlanErrorKind::MissingInput;
    std::optional<std::size_t> step; ///< none: only the end shows it
    std::string text;                ///< names operator and value
};

/// Memory and time of one step.
struct SimulatedStep
{
    std::uint64_t before = 0;    ///< bytes in memory
    std::uint64_t transient = 0; ///< while it runs: results and workspace included
    std::uint64_t after = 0;
    double start = 0; ///< seconds
    double stall = 0; ///< of those: waited for the copy stream before it could start
    bool isRecompute = false;
};

/// When a value is in memory: steps from … until, the last excluded.
struct Stay
{
    OpValueId value = 0;
    std::uint32_t from = 0;
    std::uint32_t until = 0;
};

/// What the simulator says. Everything up to the error is filled when there is one.
struct Simulation
{
    std::optional<PlanError> error;
    std::vector<SimulatedStep> steps;
    std::vector<Stay> stays; ///< the occupancy matrix, by start
    std::uint64_t peak = 0;
    std::size_t peakAt = 0;        ///< first step that reaches it
    std::vector<OpValueId> atPeak; ///< what is in memory there, results included
    double cost = 0;               ///< of all computations
    double recomputeCost = 0;      ///< of those after an operator's first
    double recomputeFlops = 0;
    std::size_t recomputations = 0;
    std::vector<std::uint32_t> runs; ///< per operator
    std::size_t frees = 0;
    std::uint64_t movedBytes = 0;     ///< both ways
    double seconds = 0;               ///< until the last computation and copy have ended
    double stalls = 0;                ///< seconds that computations waited for copies
    double byteSeconds = 0;           ///< area under the memory curve
    std::vector<OpValueId> leftAtEnd; ///< in memory, neither required nor pinned: a leak, which is no error

    [[nodiscard]] bool ok() const { return !error.has_value(); }
};

/// Judges a plan; written apart from every planner. Computations run one after another, copies on a stream of their
/// own, first come first served. An offloaded value leaves memory when its copy has ended; where room is wanted earlier
/// (there is a budget), the computation or prefetch waits. A prefetch takes room when it is issued; a reader waits for
/// its end. Inputs stay until a step's end, so a step needs operands, results and workspace at once. O(steps +
/// operands).
[[nodiscard]] Simulation simulate(const OpGraph& graph, const Plan& plan, const SimulationOptions& options = {});

} // namespace retro::schedule
