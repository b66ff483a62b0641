// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retro::engine
{

/// Indices begin … end − 1 along an axis.
struct IndexRange
{
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool operator==(const IndexRange&) const = default;
};

/// "0:8,4:12": one range per axis, the ends excluded. Errors: Usage, at `option`.
[[nodiscard]] base::Result<std::vector<IndexRange>> parseRanges(const std::string& text, std::string_view option);
/// "2-4,7": numbers and ranges of them, the ends included. Errors: Usage, at `option`.
[[nodiscard]] base::Result<std::vector<IndexRange>> parseList(const std::string& text, std::string_view option);

/// Calls f(indices) for every place of a shape, row-major.
template <class F>
void forEachPlace(const tensor::Shape& shape, const F& f)
{
    tensor::Shape place(shape.size(), 0);
    const std::int64_t count = tensor::elementCount(shape);
    for (std::int64_t i = 0; i < count; ++i) {
        f(static_cast<const tensor::Shape&>(place));
        for (std::size_t axis = shape.size(); axis-- > 0 && ++place[axis] == shape[axis];) {
            place[axis] = 0;
        }
    }
}

} // namespace retro::engine
