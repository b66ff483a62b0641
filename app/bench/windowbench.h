// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/bench/benchmarks.h"

namespace retro::app
{

/// Names of the benchmarks of the window, all starting with "window/".
[[nodiscard]] const std::vector<std::string>& windowBenchmarks();

/// Runs the chosen benchmarks of the window on the offscreen platform, with the widgets that people use: opening graphs
/// that are made up, steps, seeks, frames, stopping a job, and the cold start of the program beside this one. Each
/// figure carries its goal. Errors: Input (a model cannot be made or
/// opened), Output (no temporary folder).
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runWindowBenchmarks(const BenchmarkRequest& request);

} // namespace retro::app
