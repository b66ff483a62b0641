// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/ruleapplication.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace retro::lrp
{

/// What one constant operand of a node got of the relevance that went through the node.
struct ParameterShare
{
    std::size_t slot = 0;
    Tensor relevance;   ///< of the operand's shape; invalid when nothing is said of it
    std::string reason; ///< why, in words; empty otherwise
    /// Where a composite multiplies gradients by what they are of: this is a product already.
    bool isProduct = false;
};

/// Which values parameterShares() reads of a node: its data operands and what the rule reads.
[[nodiscard]] ops::Reads readsForParameters(const execute::BoundModel& model, NodeId node, const RuleSite& site);

/// Operand slots of a node that hold floating constants.
[[nodiscard]] std::vector<std::size_t> parameterSlots(const execute::BoundModel& model, NodeId node);

/// The relevance of the constant operands of a node, taken apart as the node's rule carried it (docs/parameters.md):
///
/// - weights of a linear map z = x·W + b: Σ over terms of sign · W′ ⊙ (x′ᵀs) with s = R / stab(D), so that all weights
///   together have what the operand got (as ECQˣ, Becking et al. 2021, has it for the epsilon rule); its bias: b′ ⊙ s
///   summed over positions, which is what the ledger books as lost to the bias;
/// - scale and bias of a LayerNormalization under the rule "detached-deviation": each itself times the gradient of Σ
/// s·y
///   by it; the scale has what the operand got, the bias what the ledger books as lost to it;
/// - a constant factor or divisor, and the scale of a normalisation that hands relevance on as it is: what the other
/// operand got, since all of that went through it;
/// - a constant in a sum under the rule "norm", and elements that a shape map picks from a constant (an embedding's
///   table): what the rule gives to an operand in that place;
/// - under the rule "gradient": the gradient of the operand.
///
/// Other constants get a reason. `relevance` per output (invalid = zero, at least one is valid); `values` hold what
/// readsForParameters() says, and the constants.
[[nodiscard]] std::vector<ParameterShare> parameterShares(const execute::BoundModel& model, NodeId node,
                                                          const RuleSite& site, std::span<const Tensor> relevance,
                                                          const NodeValues& values);

} // namespace retro::lrp
