// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace retro::tape
{

/// A gradient written as a graph of operators of the ONNX standard.
struct GradientGraph
{
    std::shared_ptr<const graph::Graph> graph;
    std::string seed;                   ///< name of the input that takes the gradient at the target, in its shape
    std::vector<std::string> forwarded; ///< names of the inputs that take forward values; none when joined
    std::vector<std::string> gradients; ///< outputs: the gradient per floating input of the model, in order
};

/// The gradient of `target` with respect to every floating input that it depends on. Joined, the graph has the inputs
/// and outputs of the model as well and computes both; alone, it takes the forward values that its rules read as inputs
/// of their names. `from`: the inputs that get a gradient; none: every one. Shapes are those of the bound model. Errors
/// (Input): an operator without a rule, or one whose rule cannot be applied (by node, with the reason and what to do);
/// Usage: a target that depends on no floating input.
[[nodiscard]] base::Result<GradientGraph> gradientGraph(const execute::BoundModel& model, graph::ValueId target,
                                                        bool isJoined, std::span<const graph::ValueId> from = {});

} // namespace retro::tape
