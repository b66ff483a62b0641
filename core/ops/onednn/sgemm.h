// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/matrix.h"

namespace retro::ops::onednn
{

/// Whether the library's BLAS interface can take the matrix: as it lies in memory, or turned.
[[nodiscard]] bool isDenseAlongAnAxis(const reference::MatrixView<float>& m);

/// c = a·b + beta·c through the BLAS interface, which packs blocks of both factors as it goes: as fast as weights that
/// were packed beforehand, without a second copy of them. Rows of c lie `stride` elements apart; a and b dense along an
/// axis. On the threads that OpenMP has for the calling one. False when the library refused.
[[nodiscard]] bool sgemm(const reference::MatrixView<float>& a, const reference::MatrixView<float>& b, float beta,
                         float* c, std::int64_t stride);

} // namespace retro::ops::onednn
