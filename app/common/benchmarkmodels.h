// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <span>
#include <string_view>

namespace retro::app
{

/// A network of a known shape with random weights, for timing. tests/bench/forward.py and tests/bench/relevance.py
/// build the same shapes for the peers.
struct BenchmarkModel
{
    std::string_view name; ///< "resnet50"
    tensor::Shape input;   ///< of its one input, float32
    base::Result<graph::Graph> (*make)();
};

/// resnet18, resnet50 and vgg16 on N × 3 × 224 × 224 (`input` has N = 1); gpt2: twelve blocks of width 768 and 12 heads
/// on 1 × 128 embedded tokens.
[[nodiscard]] std::span<const BenchmarkModel> benchmarkModels();

} // namespace retro::app
