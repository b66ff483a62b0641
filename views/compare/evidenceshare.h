// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/plane.h"

#include <QRect>

namespace retro::views
{

/// Where the positive relevance of a heatmap lies.
struct EvidenceShare
{
    double inBox = 0;   ///< share of the positive relevance inside the box, 0…1
    double outside = 0; ///< the rest; both 0 when nothing is positive
    double boxArea = 0; ///< share of the pixels that the box covers
};

/// Sums max(v, 0) inside and outside `box` (pixels of the plane; clipped to it).
[[nodiscard]] EvidenceShare evidenceShare(const Plane& plane, const QRect& box);

} // namespace retro::views
