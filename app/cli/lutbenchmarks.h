// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace retro::app
{

/// A pass over a LUT layer of random weights, on one thread.
struct LutBenchmark
{
    std::string name;
    double goal = 0;            ///< seconds that the fastest run should stay below; 0 = none stated
    std::function<bool()> body; ///< false when the pass failed
};

/// Forward passes at three sizes, without and with what a backward pass needs of them, and backward passes. Makes the
/// layers: some 60 MB.
[[nodiscard]] std::vector<LutBenchmark> lutBenchmarks();

} // namespace retro::app
