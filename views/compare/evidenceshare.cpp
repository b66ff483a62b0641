// SPDX-License-Identifier: Apache-2.0
#include "views/compare/evidenceshare.h"

#include "views/common/numbertext.h"

#include <algorithm>
#include <cmath>

namespace retro::views
{

EvidenceShare evidenceShare(const Plane& plane, const QRect& box)
{
    EvidenceShare share;
    if (plane.isEmpty()) {
        return share;
    }
    const QRect inside = box.intersected(QRect(0, 0, plane.width, plane.height));
    double all = 0;
    for (int y = 0; y < plane.height; ++y) {
        for (int x = 0; x < plane.width; ++x) {
            const double positive = std::max(0.0, plane.at(x, y));
            all += positive;
            share.inBox += inside.contains(x, y) ? positive : 0;
        }
    }
    share.inBox = all > 0 ? share.inBox / all : 0;
    share.outside = all > 0 ? 1 - share.inBox : 0;
    share.boxArea =
        static_cast<double>(inside.width()) * inside.height() / (static_cast<double>(plane.width) * plane.height);
    return share;
}

EvidenceTexts evidenceTexts(const EvidenceShare& share)
{
    // One decimal of a percentage: the second figure is what the first leaves, not rounded on its own.
    const double shown = std::round(share.inBox * 1000) / 1000;
    const double rest = share.hasEvidence() ? 1 - shown : 0;
    return {percentText(shown > 0 ? shown : share.inBox), percentText(rest > 0 ? rest : share.outside),
            percentText(share.hasEvidence() ? 1 : 0)};
}

} // namespace retro::views
