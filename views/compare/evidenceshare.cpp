// SPDX-License-Identifier: Apache-2.0
#include "views/compare/evidenceshare.h"

#include "views/common/numbertext.h"

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

/// A share as it is shown: one decimal of a percentage.
double shownShare(double share) { return std::round(share * 1000) / 1000; }

/// Sum of what is positive, or of what is negative, over what of `area` lies in the plane.
double signedSum(const Plane& plane, const QRect& area, bool isPositive)
{
    const QRect inside = area.intersected(QRect(0, 0, plane.width, plane.height));
    double sum = 0;
    for (int y = inside.top(); y <= inside.bottom(); ++y) {
        for (int x = inside.left(); x <= inside.right(); ++x) {
            sum += isPositive ? std::max(0.0, plane.at(x, y)) : std::min(0.0, plane.at(x, y));
        }
    }
    return sum;
}

double positiveSum(const Plane& plane, const QRect& area) { return signedSum(plane, area, true); }

} // namespace

EvidenceShare evidenceShare(const Plane& plane, const QRect& box, const std::optional<QRect>& object)
{
    EvidenceShare share;
    if (plane.isEmpty()) {
        return share;
    }
    const QRect whole(0, 0, plane.width, plane.height);
    const QRect inside = box.intersected(whole);
    const double all = positiveSum(plane, whole);
    share.speaksFor = all;
    share.speaksAgainst = -signedSum(plane, whole, false);
    share.netInBox = positiveSum(plane, inside) + signedSum(plane, inside, false);
    share.inBox = all > 0 ? positiveSum(plane, inside) / all : 0;
    share.outside = all > 0 ? 1 - share.inBox : 0;
    if (object) {
        const double onObject = positiveSum(plane, *object) - positiveSum(plane, object->intersected(inside));
        share.onObject = all > 0 ? std::max(0.0, onObject) / all : 0;
    }
    share.boxArea =
        static_cast<double>(inside.width()) * inside.height() / (static_cast<double>(plane.width) * plane.height);
    return share;
}

EvidenceTexts evidenceTexts(const EvidenceShare& share)
{
    // The last figure is what the others leave, not rounded on its own.
    const double onObject = share.onObject.value_or(0);
    const double box = shownShare(share.inBox);
    const double object = std::min(shownShare(onObject), 1 - box);
    const double left = shownShare(1 - box - object);
    const double rest = share.hasEvidence() ? left : 0;
    const auto text = [](double shown, double exact) { return percentText(shown > 0 ? shown : std::max(exact, 0.0)); };
    return {text(box, share.inBox), share.onObject ? text(object, onObject) : QString(),
            text(rest, share.outside - onObject), percentText(share.hasEvidence() ? 1 : 0)};
}

} // namespace retro::views
