// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::ops
{

/// A function of elements that is computed in place, row by row.
class RowsOver
{
public:
    virtual ~RowsOver() = default;
    /// row[i] = f(row[i]) for i < count. For several threads at once.
    virtual void over(float* row, std::int64_t count) const = 0;
};

} // namespace retro::ops
