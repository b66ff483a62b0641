// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/modelfacts.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::diagnosis
{

/// The constant weight of a linear node of a model's file: Conv, ConvTranspose, Gemm, MatMul by a constant.
struct LinearWeight
{
    std::size_t slot = 1; ///< operand that it is
    Tensor weight;
    std::size_t outputAxis = 0; ///< of `weight`: an index per output channel (of a group, where grouped transposed)
    std::size_t inputAxis = 1;  ///< an index per input channel
    std::int64_t group = 1;

    /// ‖·‖ of the weights of each output channel.
    [[nodiscard]] std::vector<double> outputNorms(const ModelFacts& model) const;
};

/// Nothing for nodes that are none, or whose weight is not there.
[[nodiscard]] std::optional<LinearWeight> linearWeightOf(const ModelFacts& model, const graph::Node& node);

} // namespace retro::diagnosis
