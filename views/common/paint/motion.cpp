// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/motion.h"

#include <QGuiApplication>

namespace retro::views
{

namespace
{
bool isReducedNow = false;
}

bool isMotionReduced() { return isReducedNow; }

void setMotionReduced(bool isReduced) { isReducedNow = isReduced; }

bool isMotionSeen()
{
    const QString platform = QGuiApplication::platformName();
    return !isReducedNow && platform != QLatin1String("offscreen") && platform != QLatin1String("minimal");
}

} // namespace retro::views
