// SPDX-License-Identifier: Apache-2.0
// The two walks over a row that every softmax takes, with the widest registers that the processor has.
#pragma once

#include <cstdint>

namespace retro::ops
{

/// The largest element; NaN is passed over. −∞ of no element.
[[nodiscard]] float largestOf(const float* x, std::int64_t length);
[[nodiscard]] double largestOf(const double* x, std::int64_t length);

/// y = exp(x − shift).
void exponentials(const float* x, float shift, float* y, std::int64_t length);
void exponentials(const double* x, double shift, double* y, std::int64_t length);

} // namespace retro::ops
