// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/gradientreach.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>

namespace retro::views
{

QString wordOf(WhyLeftOut why)
{
    constexpr std::array kWords{QT_TRANSLATE_NOOP("retro::views::GradientReach", "stops it"),
                                QT_TRANSLATE_NOOP("retro::views::GradientReach", "no path to the output"),
                                QT_TRANSLATE_NOOP("retro::views::GradientReach", "path is stopped"),
                                QT_TRANSLATE_NOOP("retro::views::GradientReach", "needs no input"),
                                QT_TRANSLATE_NOOP("retro::views::GradientReach", "input is stopped")};
    return QCoreApplication::translate("retro::views::GradientReach", kWords[static_cast<std::size_t>(why)]);
}

const LeftOutFact* GradientReach::find(base::NodeId node) const
{
    const auto at =
        std::ranges::lower_bound(leftOut, node.index(), {}, [](const LeftOutFact& one) { return one.node.index(); });
    return at != leftOut.end() && at->node == node ? &*at : nullptr;
}

} // namespace retro::views
