// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::tensor
{

base::Result<std::uint64_t> checkedBytes(const Shape& shape, DType dtype, std::uint64_t limit)
{
    if (shape.size() > kMaxRank) {
        return base::inputError(fmt::format("the shape has {} axes; at most {} are read", shape.size(), kMaxRank));
    }
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; })) {
        return base::inputError("the shape " + toText(shape) + " has a negative extent");
    }
    bool isEmpty = false;
    std::uint64_t bytes = sizeOf(dtype);
    for (const std::int64_t extent : shape) {
        isEmpty = isEmpty || extent == 0;
        const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)); // strides must fit as well
        if (factor > limit / bytes) {
            return base::inputError(
                fmt::format("the shape {} of {} needs more than {} bytes", toText(shape), nameOf(dtype), limit));
        }
        bytes *= factor;
    }
    return isEmpty ? 0 : bytes;
}

} // namespace retro::tensor
