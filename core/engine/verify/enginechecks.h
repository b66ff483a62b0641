// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain.h"
#include "core/engine/verify/property.h"

namespace retro::engine
{

/// The same question to the promise engine, to the compiled program, to the engine with everything saved and to the
/// oracle: relevance of every value, bit for bit. Then the conservation ledger of the oracle. Engines that refuse the
/// question make the property not applicable, with their reason. Errors: Cancelled; what the first of them refuses.
[[nodiscard]] base::Result<PropertyResults> checkEngines(const LoadedModel& model, const ExplainRequest& request,
                                                         const std::stop_token& stop);

} // namespace retro::engine
