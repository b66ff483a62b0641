// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/plane.h"

#include <QRect>
#include <QString>

#include <optional>

namespace retro::views
{

/// Where the positive relevance of a heatmap lies.
struct EvidenceShare
{
    double inBox = 0;                 ///< share of the positive relevance inside the box, 0…1
    double outside = 0;               ///< the rest; both 0 when nothing is positive
    double boxArea = 0;               ///< share of the pixels that the box covers
    double speaksFor = 0;             ///< sum of what is positive
    double speaksAgainst = 0;         ///< size of the sum of what is negative
    double netInBox = 0;              ///< sum of all that lies in the box
    std::optional<double> onObject{}; ///< part of `outside` that lies in the object's box; none = no such box

    [[nodiscard]] bool hasEvidence() const { return inBox + outside > 0; }
    /// More speaks against the target than for it.
    [[nodiscard]] bool isAgainst() const { return speaksAgainst > speaksFor; }
};

/// Sums max(v, 0) inside and outside `box`, and in what of `object` lies outside `box` (pixels of the plane; clipped to
/// it).
[[nodiscard]] EvidenceShare evidenceShare(const Plane& plane, const QRect& box,
                                          const std::optional<QRect>& object = std::nullopt);

/// The shares for people, rounded so that the figures add up to the sum that is shown.
struct EvidenceTexts
{
    QString inBox;    ///< "77.6 %"
    QString onObject; ///< "15.1 %"; empty without an object's box
    QString outside;  ///< off the box and off the object: "7.3 %"
    QString sum;      ///< "100.0 %", or "0.0 %" when nothing is positive
};
[[nodiscard]] EvidenceTexts evidenceTexts(const EvidenceShare& share);

} // namespace retro::views
