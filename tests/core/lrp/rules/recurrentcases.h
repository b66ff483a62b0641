// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/lrp/rules/singlenode.h"

#include <utility>
#include <vector>

namespace retro::tests
{

/// Recurrent operators with everything that is optional, and a deformable convolution, each as a node by itself.
[[nodiscard]] std::vector<std::pair<const char*, SingleNode>> recurrentCases();

} // namespace retro::tests
