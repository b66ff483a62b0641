// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::ops::onednn
{

/// Samples of `positions` × `channels` numbers in channels-last order, and the same in the library's planes of eight
/// channels each: samples × channels/8 × positions × 8. `channels` is a multiple of eight.
struct EightsExtents
{
    std::int64_t samples = 1;
    std::int64_t channels = 0;
    std::int64_t positions = 0; ///< of all spatial axes
};

/// From channels-last order into planes of eight channels.
void intoPlanesOfEight(const float* channelsLast, const EightsExtents& extents, float* planes);
/// The way back.
void outOfPlanesOfEight(const float* planes, const EightsExtents& extents, float* channelsLast);

} // namespace retro::ops::onednn
