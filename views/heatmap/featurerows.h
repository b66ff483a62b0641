// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/stepstrip.h"

#include <vector>

namespace retro::views
{

/// A table's row: a line for each feature from (0, 0), the largest magnitude first, none wider than `width`. In the
/// order of the features, as layoutSteps() gives cells.
[[nodiscard]] std::vector<QRectF> layoutFeatures(const StepStrip& strip, double width);
/// Draws name, number and relevance of each feature, the relevance also as a bar from the middle.
void paintFeatures(QPainter& painter, const StepStrip& strip, const std::vector<double>& numbers,
                   const std::vector<QRectF>& rows, const Theme& theme);

} // namespace retro::views
