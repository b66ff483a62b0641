// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"

namespace retro::app
{

/// Says of a memory snapshot of PyTorch: reserved and allocated memory over its trace, and what fills the peak by the
/// line of source that asked for it, `rows` of them (0: all, in the JSON answer always).
[[nodiscard]] base::Result<void> analyzeSnapshot(const Context& context, const std::string& file, std::size_t rows);

} // namespace retro::app
