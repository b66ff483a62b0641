// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::views
{

/// True when nothing should move by itself: what would glide, pulse or run along a path is shown at its end at once.
/// Playing a run is asked for and goes on. GUI thread.
[[nodiscard]] bool isMotionReduced();
void setMotionReduced(bool isReduced);
/// True when a step may glide to its end: motion is not reduced, and there is a screen on which somebody sees it.
[[nodiscard]] bool isMotionSeen();

} // namespace retro::views
