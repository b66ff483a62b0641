// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/plan.h"

#include <string>

namespace retro::schedule
{

/// A budget as people write it: bytes ("4096", "1.5GiB", base::parseBytes), or a share of the store-all peak of `joint`
/// ("50%"). Errors: Usage.
[[nodiscard]] base::Result<std::uint64_t> parseBudget(const std::string& text, const analysis::OpGraph& joint);

/// "NAME=BYTES": a place that values may be moved to, with so many bytes per second both ways ("disk=500MB",
/// base::parseBytes). Errors: Usage.
[[nodiscard]] base::Result<Tier> parseTier(const std::string& text);

} // namespace retro::schedule
