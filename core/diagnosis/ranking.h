// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"
#include "core/diagnosis/finding.h"

#include <vector>

namespace retro::diagnosis
{

/// Puts findings that one cause explains under that one, and the others in order: by score, then by the order of the
/// pass. One finding remains per place and family.
[[nodiscard]] std::vector<Finding> ranked(const Facts& facts, std::vector<Finding> findings);

} // namespace retro::diagnosis
