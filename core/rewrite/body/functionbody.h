// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/ops/boundoperator.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace retro::rewrite
{

/// An operand of a node whose body is asked for.
struct BodyOperand
{
    ops::TensorType type;
    tensor::Tensor constant; ///< the data when it is a constant, else invalid
    bool isGiven = true;     ///< false: an empty optional operand
    bool isDetached = false; ///< it carries no relevance where the node stands, so it shall carry none inside either
};

/// A node that does many steps in one, written out as a graph of operators that have relevance rules.
struct FunctionBody
{
    /// Its inputs are operands of the node that are given and no constants; its outputs are results of the node.
    std::shared_ptr<const graph::Graph> graph;
    std::vector<std::size_t> operands; ///< per input of `graph`: the operand slot
    std::vector<std::size_t> results;  ///< per output of `graph`: which output of the node it is
};

/// The body of Attention, RNN, GRU, LSTM or DeformConv for operands of these types, which the operator must have been
/// bound to before. Errors (Input, without a place): the operator has no body, or not with these operands; the message
/// says what to do.
[[nodiscard]] base::Result<FunctionBody> functionBody(const graph::Node& node, std::span<const BodyOperand> operands);

/// An error (Input, without a place) for RNN, GRU and LSTM whose weights are computed: relevance is carried through
/// them where they are constants alone.
[[nodiscard]] base::Result<void> checkConstantWeights(const graph::Node& node, std::span<const BodyOperand> operands);

/// A copy of `graph` in which the inputs that are marked hand on their values but take no relevance.
[[nodiscard]] base::Result<graph::Graph> withDetached(const graph::Graph& graph, const std::vector<bool>& isDetached);

} // namespace retro::rewrite
