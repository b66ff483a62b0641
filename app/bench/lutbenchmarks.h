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

/// One kernel of a pass, timed.
struct LutKernelFigure
{
    std::string layer; ///< sizes
    std::string kernel;
    double bytes = 0;   ///< that it must move
    double seconds = 0; ///< the least of the runs
};

/// Each kernel of the fused passes over the same layers, and over a sequence, on one thread: the least of `runs`.
[[nodiscard]] std::vector<LutKernelFigure> lutKernelsOnCpu(int runs);

/// The same on the CUDA device, by its clock; nothing without one.
[[nodiscard]] std::vector<LutKernelFigure> lutKernelsOnDevice(int runs);

/// Bytes that this thread copies in a second, read and written together: the best of `runs` copies of 256 MiB.
[[nodiscard]] double copyRate(int runs);

} // namespace retro::app
