// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include <algorithm>

namespace retro::app
{

BenchmarkFigure figureOf(std::string name, std::vector<double> seconds, double goal)
{
    std::sort(seconds.begin(), seconds.end());
    const auto runs = static_cast<int>(seconds.size());
    return {std::move(name), seconds.front(), seconds[seconds.size() / 2], seconds.back(), runs, goal, false};
}

} // namespace retro::app
