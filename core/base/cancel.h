// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/mappedfile.h"
#include "core/base/result.h"

#include <stop_token>

namespace retro::base
{

/// Cancelled once a stop was requested; an Engine error once weights on the disk are missing (mappedfile.h). For loops
/// and between stages of long work. Costs two atomic reads.
[[nodiscard]] inline Result<void> checkStop(const std::stop_token& stop)
{
    if (hasMissingPage()) {
        return checkMappedFiles();
    }
    return stop.stop_requested() ? Result<void>(Error{ErrorCode::Cancelled, "stopped", {}}) : Result<void>();
}

} // namespace retro::base
