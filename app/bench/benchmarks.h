// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <string>
#include <vector>

namespace retro::app
{

struct BenchmarkRequest
{
    std::vector<std::string> names; ///< starts of names; empty = all
    std::string sample = "samples/clever-hans";
    int runs = 5;
};

/// Wall seconds of one benchmark.
struct BenchmarkFigure
{
    std::string name;
    double least = 0;
    double median = 0;
    double most = 0;
    int runs = 0;
    double goal = 0;            ///< the median should be below; 0 = none stated
    bool isGoalOfLeast = false; ///< it is the fastest run that should be below
};

/// Least, median and most of the times of one benchmark. There is at least one.
[[nodiscard]] BenchmarkFigure figureOf(std::string name, std::vector<double> seconds, double goal);

/// Runs the chosen benchmarks through Google Benchmark, each several times. Errors: Usage (no such benchmark, or the
/// program was built without the library), Input (no sample).
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runBenchmarks(const BenchmarkRequest& request);

} // namespace retro::app
