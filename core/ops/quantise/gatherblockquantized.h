// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"

#include <cstdint>

namespace retro::ops
{

/// What a node of com.microsoft's GatherBlockQuantized looks up.
struct GatheredTable
{
    Tensor table; ///< the numbers that its levels stand for, (level − zero)·scale
    std::int64_t axis = 0;
};

/// Errors (Input): a table, scales or zero points that are computed or do not fit, a form that is not supported, more
/// than `most` bytes.
[[nodiscard]] base::Result<GatheredTable> gatheredTable(const BindContext& context, tensor::DType type,
                                                        std::uint64_t most);

/// The node as a lookup in the packed table: of each slice that is picked the numbers are made, and of no other. Tokens
/// that choose the slices get the relevance of these. Errors as those of gatheredTable().
[[nodiscard]] BoundResult bindGatherBlockQuantized(const BindContext& context);

} // namespace retro::ops
