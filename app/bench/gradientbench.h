// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/bench/traversalbench.h"

#include <string>
#include <vector>

namespace retro::app
{

/// A chain of scalar operators that is compiled to a tape and run back, by one of the names of gradientChains(). It is
/// bound before.
[[nodiscard]] base::Result<TimedBody> chainBenchmark(const std::string& name);

/// "gradient/chain10k", "gradient/chain100k", "gradient/chain1m": as many operators.
[[nodiscard]] std::vector<std::string> gradientChains();
/// The chain that has a goal in seconds; it runs when nothing is named.
inline constexpr const char* kTimedChain = "gradient/chain100k";
/// Ten times the operators may take this many times as long: a fourth more for caches that they no longer fit in.
inline constexpr double kLinearFactor = 12.5;

/// The rewrites that are on by default, on a chain of 100,000 scalar operators.
[[nodiscard]] base::Result<TimedBody> rewriteBenchmark();
inline constexpr const char* kRewrittenChain = "rewrite/chain100k";

/// What the interfaces cost: a chain of products of 512 × 512 elements as a tape with operators and reverse rules
/// behind interfaces ("gradient/operators/tape"), and the same kernels called one after the other
/// ("gradient/operators/direct").
[[nodiscard]] base::Result<std::vector<TimedBody>> overheadBenchmarks();
/// The tape may take this much of the time of the direct calls.
inline constexpr double kInterfaceFactor = 1.05;

/// A gradient with respect to the input of a network, forward and back, bound and warmed before: "gradient/resnet50".
[[nodiscard]] base::Result<TimedBody> networkGradientBenchmark(const std::string& network);

/// Networks of networkGradientBenchmark().
[[nodiscard]] std::vector<std::string> gradientNetworks();

} // namespace retro::app
