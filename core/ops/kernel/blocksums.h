// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/algebra.h"
#include "core/ops/algebrasums.h"

#include <cstdint>

namespace retro::ops
{

/// Elements that are summed in lanes.
inline constexpr std::int64_t kSumBlock = 1024;
/// Elements of one task: sums do not depend on the number of threads.
inline constexpr std::int64_t kSumChunk = 16 * kSumBlock;

// Sums over short blocks in double, in sixteen lanes that are added pairwise at the end, with the widest registers that
// the processor has. Longer sums are made of these, so that their order depends on the length alone.

[[nodiscard]] double blockSum(const float* a, std::int64_t count);
[[nodiscard]] double blockSum(const double* a, std::int64_t count);
[[nodiscard]] double blockDot(const float* a, const float* b, std::int64_t count);
[[nodiscard]] double blockDot(const double* a, const double* b, std::int64_t count);
[[nodiscard]] algebra::SumAndMagnitude blockMagnitude(const float* a, std::int64_t count);
[[nodiscard]] algebra::SumAndMagnitude blockMagnitude(const double* a, std::int64_t count);

/// Σ (a + b − sum), each element exact: what the additions lost.
[[nodiscard]] double blockLost(const float* a, const float* b, const float* sum, std::int64_t count);
[[nodiscard]] double blockLost(const double* a, const double* b, const double* sum, std::int64_t count);

/// a = a·b·factor, rounded after each product.
void blockMultiply(float* a, const float* b, float factor, std::int64_t count);
void blockMultiply(double* a, const double* b, double factor, std::int64_t count);

/// sum = a + b.
void blockAdd(const float* a, const float* b, float* sum, std::int64_t count);
void blockAdd(const double* a, const double* b, double* sum, std::int64_t count);

/// s = r / stab(d), 0 where stab(d) is 0; a stabiliser of a constant step. s may be d. True when an element of d is 0
/// or infinite.
bool blockQuotient(const float* r, const float* d, const algebra::Stabiliser& stabiliser, float* s, std::int64_t count);
bool blockQuotient(const double* r, const double* d, const algebra::Stabiliser& stabiliser, double* s,
                   std::int64_t count);

} // namespace retro::ops
