// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

namespace retro::graph
{

/// The extents of data, as a value declares them.
[[nodiscard]] inline std::vector<Dimension> dimensionsOf(const tensor::Shape& shape)
{
    std::vector<Dimension> dimensions(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
        dimensions[i].extent = shape[i];
    }
    return dimensions;
}

} // namespace retro::graph
