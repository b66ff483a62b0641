// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/plan.h"

namespace retro::schedule
{

/// A value that may be kept from the forward sweep: what keeping it costs and what it saves.
struct KeepItem
{
    OpValueId value = 0;
    std::uint64_t bytes = 0;
    double saved = 0; ///< cost of rebuilding it from what else would be there
};

/// Values that gradient operators read and that may be rebuilt, with the cost of their producers.
[[nodiscard]] std::vector<KeepItem> keepItems(const OpGraph& joint);
/// The items of the largest saving within `room` bytes, in 1,000 steps of memory; exact up to that rounding (sizes up).
/// Ascending values.
[[nodiscard]] std::vector<OpValueId> chooseKept(const std::vector<KeepItem>& items, std::uint64_t room);

} // namespace retro::schedule
