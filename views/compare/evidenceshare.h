// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/plane.h"

#include <QRect>
#include <QString>

namespace retro::views
{

/// Where the positive relevance of a heatmap lies.
struct EvidenceShare
{
    double inBox = 0;   ///< share of the positive relevance inside the box, 0…1
    double outside = 0; ///< the rest; both 0 when nothing is positive
    double boxArea = 0; ///< share of the pixels that the box covers

    [[nodiscard]] bool hasEvidence() const { return inBox + outside > 0; }
};

/// Sums max(v, 0) inside and outside `box` (pixels of the plane; clipped to it).
[[nodiscard]] EvidenceShare evidenceShare(const Plane& plane, const QRect& box);

/// The shares for people, rounded so that the two figures add up to the sum that is shown.
struct EvidenceTexts
{
    QString inBox;   ///< "77.6 %"
    QString outside; ///< "22.4 %"
    QString sum;     ///< "100.0 %", or "0.0 %" when nothing is positive
};
[[nodiscard]] EvidenceTexts evidenceTexts(const EvidenceShare& share);

} // namespace retro::views
