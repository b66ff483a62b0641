// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/programcache.h"

#include <cstdint>
#include <memory>
#include <stop_token>

namespace retro::engine
{

/// Largest composite file that is read.
inline constexpr std::uint64_t kMaxCompositeFileBytes = 16ULL << 20;

/// Binds the model for a request and gives its nodes their rules; what `cache` (may be null) has of it is used, and the
/// rest kept there. Errors as explain(); Cancelled.
[[nodiscard]] base::Result<std::shared_ptr<const Prepared>>
prepare(const LoadedModel& model, const ExplainRequest& request, ProgramCache* cache, const std::stop_token& stop);

/// Writes model, composite, rules and what is to be told of them into a result. Errors (Usage): as checkTimesInput().
[[nodiscard]] base::Result<void> takeRules(const Prepared& prepared, ExplainResult& result);

} // namespace retro::engine
