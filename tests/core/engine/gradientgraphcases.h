// SPDX-License-Identifier: Apache-2.0
// Single operators whose gradients are written as graphs.
#pragma once

#include "core/graph/graph.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace retro::tests
{

using graph::Attributes;
using tensor::Shape;
using tensor::Tensor;

/// float64 numbers from 0.05 to 2.05.
[[nodiscard]] Tensor drawn(const Shape& shape, std::uint32_t seed);

/// A vector of int64.
[[nodiscard]] Tensor ints(const std::vector<std::int64_t>& values);

/// One operator over inputs of the given shapes and constants; constants stand behind the inputs.
struct Case
{
    std::string op;
    std::vector<Shape> inputs;
    std::vector<Tensor> constants;
    Attributes attributes;
    std::size_t outputs = 1;
    std::int64_t opset = 17;
    double shift = 0;                    ///< of what is drawn for the inputs
    double scale = 1;                    ///< of what is drawn and shifted
    bool isOfFirst = false;              ///< the target is the first result, not the last
    std::vector<std::size_t> order = {}; ///< which input or constant stands where; as they are listed where empty
};

using Cases = std::vector<std::pair<std::string, Case>>;

[[nodiscard]] Cases gradientGraphCases();

} // namespace retro::tests
