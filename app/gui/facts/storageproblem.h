// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"
#include "views/verify/storagefacts.h"

#include <memory>

namespace retro::app
{

/// Largest graph whose choices are followed at once: rebuilding is quadratic in the values.
inline constexpr std::size_t kMostStorageValues = 5000;

/// What a forward pass and a gradient of `target` keep in memory: every value that a reverse rule reads, which is what
/// `grad --forward-value` chooses for, with its size and what computing it costs. Errors (Usage): more than
/// kMostStorageValues values, a target that carries no gradient.
[[nodiscard]] base::Result<views::StorageFacts> storageFacts(const std::shared_ptr<const execute::BoundModel>& model,
                                                             base::ValueId target);

} // namespace retro::app
