// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/forward.h"
#include "core/lrp/traversal/passmemory.h"

#include <memory>
#include <span>
#include <vector>

namespace retro::engine
{

/// What an explanation leaves behind for the next one of the same input: its forward pass, and what its relevance pass
/// computed (ExplainRequest::keepsPass). Used by one thread at a time.
struct LastPass
{
    std::shared_ptr<const execute::BoundModel> model;
    std::vector<tensor::Tensor> inputs;
    execute::SavePolicy save = execute::SavePolicy::Autograd;
    std::vector<base::ValueId> kept;    ///< values that the forward pass kept beside what the policy says
    std::vector<base::ValueId> targets; ///< where relevance started, each once
    std::vector<tensor::Tensor> starts; ///< of each
    execute::ForwardResult forward;
    lrp::PassMemory memory;

    /// Its forward pass is that of these inputs, and has every value of `wanted`.
    [[nodiscard]] bool isOf(const std::shared_ptr<const execute::BoundModel>& other,
                            std::span<const tensor::Tensor> otherInputs, execute::SavePolicy policy,
                            std::span<const base::ValueId> wanted) const;
    /// Relevance starts at these values. Those of `others` that have the bits of the last pass become the same tensors,
    /// by which its results are recognised; without the same values everything in the memory is forgotten.
    void take(const std::vector<base::ValueId>& values, std::vector<tensor::Tensor>& others);
};

} // namespace retro::engine
