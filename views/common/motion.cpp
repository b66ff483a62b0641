// SPDX-License-Identifier: Apache-2.0
#include "views/common/motion.h"

namespace retro::views
{

namespace
{
bool isReducedNow = false;
}

bool isMotionReduced() { return isReducedNow; }

void setMotionReduced(bool isReduced) { isReducedNow = isReduced; }

} // namespace retro::views
