// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/bench/benchmarks.h"
#include "app/cli/context.h"

#include <string>
#include <vector>

namespace retro::app
{

/// A model file to time.
struct ModelBenchRequest
{
    ModelOptions model;             ///< its file, its inputs (none given: random:1 for each) and its rewrites
    std::vector<std::string> names; ///< forward, relevance/COMPOSITE; empty = forward
    int runs = 5;
};

/// Times passes over a model file, bound and run three times before, one benchmark after the other: `forward` is the
/// forward pass alone, `relevance/COMPOSITE` forward pass and relevance of the inputs. Errors: Usage (no such
/// benchmark), and as loading and running.
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runModelBenchmarks(const ModelBenchRequest& request,
                                                                            const Context& context);

} // namespace retro::app
