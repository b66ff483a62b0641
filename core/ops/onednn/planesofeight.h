// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::ops::onednn
{

/// Samples of `rows` × `columns` × `channels` numbers in channels-last order, and the same in the library's planes of
/// eight channels each. `channels` is a multiple of eight.
struct EightsExtents
{
    std::int64_t samples = 1;
    std::int64_t channels = 0;
    std::int64_t rows = 1;    ///< product of all spatial axes but the last
    std::int64_t columns = 0; ///< of the last
    /// 0: samples × channels/8 × rows × columns × 8. Else the samples share planes, beside each other: channels/8 ×
    /// rows × wide × 8, where a sample's columns begin so far behind those of the sample before it (samplesbeside.h).
    std::int64_t step = 0;
};

/// From channels-last order into planes of eight channels; zeros between samples that lie beside each other.
void intoPlanesOfEight(const float* channelsLast, const EightsExtents& extents, float* planes);
/// The way back.
void outOfPlanesOfEight(const float* planes, const EightsExtents& extents, float* channelsLast);

} // namespace retro::ops::onednn
