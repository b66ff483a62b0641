// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <span>
#include <string_view>

namespace retro::app
{

/// A network of a known shape with random weights, for timing forward passes. tests/bench/forward.py builds the same
/// shapes for the peer.
struct BenchmarkModel
{
    std::string_view name; ///< "resnet50"
    tensor::Shape input;   ///< of its one input, float32
    base::Result<graph::Graph> (*make)();
};

/// resnet50 and vgg16 on 1 × 3 × 224 × 224; gpt2: twelve blocks of width 768 and 12 heads on 1 × 128 embedded tokens.
[[nodiscard]] std::span<const BenchmarkModel> benchmarkModels();

} // namespace retro::app
