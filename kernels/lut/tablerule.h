// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::lut
{

/// How the relevance of a table goes to the comparisons that chose its row. All conserve it, the last two together with
/// what they leave to the table itself. With f_k = what undoing comparison k takes away, d_k = 1 / (1 + |u_k|):
enum class TableRule {
    FlipContrast, ///< by |f_k| d_k; evenly where no effect is left
    WeakestBit,   ///< all of it to the comparison through which the gradient goes
    SignedFlip,   ///< f_k d_k / n of n comparisons, whatever its sign; the rest stays with the table
    Shapley,      ///< Shapley value of each comparison over all rows; their mean stays with the table
};

/// Most comparisons (bits of a row) that TableRule::Shapley works with: it reads every row of a table.
inline constexpr std::uint32_t kMaxShapleyBits = 10;

} // namespace retro::lut
