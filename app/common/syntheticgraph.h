// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace retro::app
{

/// A graph of `nodes` operators for benchmarks and scale tests: blocks of MatMul, Relu, MatMul, Add with the block's
/// input, scopes "block<i>", on vectors of
/// 4. It is a valid model: it can be written, read, run and explained.
[[nodiscard]] base::Result<graph::Graph> chainAndResidualGraph(std::size_t nodes);

} // namespace retro::app
