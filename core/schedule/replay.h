// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/plan.h"

namespace retro::schedule
{

/// Builds a sequence of computations from what is held at each time: what is missing is computed again, operands first,
/// in operand order. What is not held may still be in memory (optimal free insertion decides that); it is not relied
/// on.
class Replay
{
public:
    explicit Replay(const OpGraph& graph);

    /// Runs an operator; everything that it reads and that is not held is computed first. False when that would run an
    /// operator again that may not: the sequence then stays as it was before.
    [[nodiscard]] bool run(OpId op);
    /// Runs it unless all its results are held.
    [[nodiscard]] bool ensure(OpId op);
    /// No longer relies on a value.
    void drop(OpValueId value) { m_isHeld[value] = false; }
    [[nodiscard]] bool isHeld(OpValueId value) const { return m_isHeld[value]; }
    [[nodiscard]] bool hasRun(OpId op) const { return m_hasRun[op]; }
    /// Values that were computed since takeMade() was called last.
    std::vector<OpValueId> takeMade();
    [[nodiscard]] const std::vector<OpId>& sequence() const { return m_sequence; }

private:
    [[nodiscard]] bool provide(OpId op);
    void compute(OpId op);

    const OpGraph& m_graph;
    std::vector<bool> m_isHeld;
    std::vector<bool> m_hasRun;
    std::vector<OpId> m_sequence;
    std::vector<OpValueId> m_made;
};

/// The forward operators and the gradient operators of a base order, each in that order.
struct Halves
{
    std::vector<OpId> forward;
    std::vector<OpId> gradient;
};
/// Parts a base order of the whole graph.
[[nodiscard]] Halves halvesOf(const OpGraph& graph, const std::vector<OpId>& base);

/// How long a value that was computed again is relied on.
enum class Rebuilt : std::uint8_t {
    UntilLastGradient, ///< until the last gradient operator that reads it
    OnlyHere           ///< for the gradient operator that it was rebuilt for
};

/// The forward operators once; then the gradients in their order, before each what is missing. Held from the forward
/// sweep: the values with `isKept`, what operators made that may not run again, and what the first gradient operator
/// reads. Empty when that takes more than eight million computations. O(length of the result).
[[nodiscard]] std::vector<OpId> expandKept(const OpGraph& graph, const std::vector<OpId>& base,
                                           const std::vector<bool>& isKept, Rebuilt policy);

} // namespace retro::schedule
