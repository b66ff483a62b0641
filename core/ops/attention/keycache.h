// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"

namespace retro::ops
{

/// CacheAppend of the domain retrograde: new keys or values behind those of a cache, the way GroupQueryAttention of
/// com.microsoft keeps them. Operands: new rows and the past, batch × heads × rows × width each (the past may be
/// absent); seqlens_k, the number of the last key per image; total_sequence_length. Outputs: the rows that queries
/// read; the cache for the next run; per image the number of rows that count; the position of each new token; which
/// rows the window of each query holds. Errors (Input): extents that do not fit, by the names of the operands.
[[nodiscard]] BoundResult bindCacheAppend(const BindContext& context);

} // namespace retro::ops
