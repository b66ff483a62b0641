// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/bench/benchmarks.h"

#include <vector>

namespace retro::app
{

/// Scrolls a made-up text of 2,000 tokens × 32 layers × 32 heads with its links, frame by frame, along the words and
/// along the layers: "window/text_frame_median" and "_p99" (goal: 60 frames a second). Needs an application.
void benchTexts(std::vector<BenchmarkFigure>& figures);

} // namespace retro::app
