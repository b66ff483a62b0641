// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <stop_token>

namespace retro::base
{

/// Cancelled once a stop was requested; for loops and between stages of long work. Costs one atomic read.
[[nodiscard]] inline Result<void> checkStop(const std::stop_token& stop)
{
    return stop.stop_requested() ? Result<void>(Error{ErrorCode::Cancelled, "stopped", {}}) : Result<void>();
}

} // namespace retro::base
