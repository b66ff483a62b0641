// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"
#include "views/verify/storagefacts.h"

namespace retro::app
{

/// Largest graph whose choices are followed at once: rebuilding is quadratic in the values.
inline constexpr std::size_t kMostStorageValues = 5000;

/// What a forward pass and a gradient of `target` keep in memory, of the planning graph of a bound model
/// (core/analysis): every value with its size, what the reverse rules read, and what computing it costs. Errors
/// (Input): what analysis::planningGraph refuses; (Usage) more than kMostStorageValues values, a target that is
/// not planned for.
[[nodiscard]] base::Result<views::StorageFacts> storageFacts(const execute::BoundModel& model, base::ValueId target);

} // namespace retro::app
