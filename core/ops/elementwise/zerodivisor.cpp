// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elementwise/zerodivisor.h"

#include "core/ops/kernel/elementmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace retro::ops
{

base::Result<void> expectNoZeroDivisor(const tensor::Tensor& divisor)
{
    if (tensor::isFloating(divisor.dtype())) {
        return {};
    }
    const std::vector<std::int64_t> numbers = integersOf(divisor);
    const auto zero = std::find(numbers.begin(), numbers.end(), 0);
    if (zero != numbers.end()) {
        return base::inputError(
            fmt::format("integers are divided by 0: element {} of operand 1", zero - numbers.begin()));
    }
    return {};
}

} // namespace retro::ops
