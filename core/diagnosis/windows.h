// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::diagnosis
{

/// How a node of a model's file goes over the positions of its operand 0: Conv, pooling.
struct Windows
{
    std::vector<std::int64_t> kernel;   ///< per spatial axis
    std::vector<std::int64_t> stride;   ///< likewise
    [[nodiscard]] bool isPoint() const; ///< every kernel is 1
    /// Share of the positions that no window reads: 1 − Π min(1, kernel/stride). Dilated kernels count their taps.
    [[nodiscard]] double unread() const;
};

/// Nothing for nodes that read all of their operand. The kernel of a convolution may follow from its weight.
[[nodiscard]] std::optional<Windows> windowsOf(const ModelFacts& model, const graph::Node& node);

/// Shape of a value of the model's file: as it ran, else as the file declares it; empty where nobody knows.
[[nodiscard]] tensor::Shape shapeInFile(const Facts& facts, ValueId value);

} // namespace retro::diagnosis
