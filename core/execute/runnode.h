// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace retro::execute
{

/// Where the value of an operand that is no constant comes from.
using ValueSource = std::function<Tensor(ValueId)>;

/// The operands of a node, per slot. Errors (Input): data that the operator cannot work with, by node.
[[nodiscard]] base::Result<std::vector<Tensor>> operandsOf(const BoundModel& model, NodeId id,
                                                           const ValueSource& valueOf);

/// What a computation of a node is to its pass, for whoever watches (event::PerformanceObserver).
enum class RunKind {
    First, ///< of the forward pass
    Again, ///< of what was computed before
    Aside  ///< of no pass: nobody is told
};

/// Runs one operator: one tensor per output. Constants come from the model, the other operands from `valueOf`, asked
/// for once per slot. Errors, by node: Input for data that the operator cannot work with; as ops::runForward().
[[nodiscard]] base::Result<std::vector<Tensor>> runNode(const BoundModel& model, NodeId id, const ValueSource& valueOf,
                                                        RunKind kind);

/// The values that nodes make which are run again, in their order, from what `kept` has, with the bits of the forward
/// pass. `onRun` is told of each. It ends where an operator refuses its data, as the forward pass would have.
[[nodiscard]] std::map<ValueId, Tensor> computedAgain(const BoundModel& model, const std::set<NodeId>& nodes,
                                                      const ValueSource& kept,
                                                      const std::function<void(NodeId)>& onRun = {});

} // namespace retro::execute
