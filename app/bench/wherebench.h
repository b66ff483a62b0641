// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/bench/benchmarks.h"

#include <QString>

#include <vector>

namespace retro::app
{

/// Strokes of a region over the heatmap, from the move of the pointer until the panes show the answer: of the sample,
/// or of the model that RETRO_BENCH_MODEL names. Needs a QApplication. Errors: Input (the model does not run).
[[nodiscard]] base::Result<void> benchStrokes(const QString& file, int runs, std::vector<BenchmarkFigure>& figures);

/// The history of elements that are clicked, likewise: the first one of a run, and those after it.
[[nodiscard]] base::Result<void> benchHistories(const QString& file, int runs, std::vector<BenchmarkFigure>& figures);

} // namespace retro::app
