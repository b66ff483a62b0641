// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/forward.h"
#include "core/lrp/composite/composite.h"

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// What a floating constant of the model got of the relevance of a pass.
struct ParameterRelevance
{
    base::ValueId value;
    tensor::Tensor relevance;         ///< of the constant's shape; invalid when a node that reads it says nothing
    std::vector<std::string> reasons; ///< why, in words, each once; empty otherwise
};

/// A finished relevance pass whose parameters are asked about.
struct ParameterQuestion
{
    const std::shared_ptr<const execute::BoundModel>& model;
    const lrp::RuleAssignment& rules;
    std::span<const base::ValueId> targets;    ///< where relevance started, each once
    std::span<const tensor::Tensor> relevance; ///< by ValueId; invalid where nothing arrived
    std::span<const tensor::Tensor> inputs;    ///< in the model's precision
    const execute::SavedValues* saved;         ///< what a forward pass kept; null = it is made again
    bool timesInput = false;                   ///< Composite::timesInput: gradients are multiplied by what they are of
    bool goesOnWhenNotFinite = false;
    std::stop_token stop;
};

/// The relevance of every floating constant that a node reads, in the order of values (lrp::parameterShares(); a
/// constant of several nodes gets the sum). Values that were not kept come from another forward pass. Errors: Engine
/// (NaN or infinity, with node and rule), Cancelled.
[[nodiscard]] base::Result<std::vector<ParameterRelevance>> parameterRelevance(const ParameterQuestion& question);

} // namespace retro::engine
