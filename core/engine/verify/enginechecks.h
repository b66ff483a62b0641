// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/verify/property.h"

namespace retro::engine
{

/// The same question to the promise engine, to the compiled program, to the engine with everything saved and to the
/// oracle: relevance of every value, bit for bit. Then the conservation ledger of the oracle. An engine that refuses
/// the question, or ends at a number that is not finite, makes its property not applicable, with the reason; the oracle
/// makes all of them so. Errors: Cancelled, Usage.
[[nodiscard]] base::Result<PropertyResults> checkEngines(const LoadedModel& model, const ExplainRequest& request,
                                                         const std::stop_token& stop);

} // namespace retro::engine
