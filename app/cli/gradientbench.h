// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/traversalbench.h"

namespace retro::app
{

/// A chain of 100,000 scalar operators that is compiled to a tape and run back: "gradient/chain100k". It is bound
/// before.
[[nodiscard]] base::Result<TimedBody> chainBenchmark();

/// A gradient with respect to the input of a network, forward and back, bound and warmed before: "gradient/resnet50".
[[nodiscard]] base::Result<TimedBody> networkGradientBenchmark(const std::string& network);

/// Networks of networkGradientBenchmark().
[[nodiscard]] std::vector<std::string> gradientNetworks();

} // namespace retro::app
