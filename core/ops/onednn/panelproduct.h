// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/matrix.h"

namespace retro::ops::onednn
{

/// Whether a·b is better made in panels of b. Where registers are of 256 bits the library reads b in place when a has
/// few rows; with rows of b a multiple of 2 KiB apart, what it reads together falls on the same few lines of the cache,
/// and the product takes up to twice as long.
[[nodiscard]] bool wantsPanels(const reference::MatrixView<float>& a, const reference::MatrixView<float>& b);

/// c = a·b, c dense and row-major, with panels of b copied to rows that lie apart; a dense along an axis, rows of b
/// dense. Sums over more than a panel's depth differ from the whole product's in their rounding. False when the library
/// refused; c then holds nothing of use.
[[nodiscard]] bool multiplyInPanels(const reference::MatrixView<float>& a, const reference::MatrixView<float>& b,
                                    float* c);

} // namespace retro::ops::onednn
