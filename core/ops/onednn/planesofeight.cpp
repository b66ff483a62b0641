// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/planesofeight.h"

#include "core/ops/threads.h"

#include <algorithm>
#include <cstring>

namespace retro::ops::onednn
{

namespace
{

constexpr std::int64_t kEight = 8;

/// Positions that are moved at a time: each plane gets a kilobyte of neighbours, and what is read stays in a cache
/// until all planes have had their part of it.
constexpr std::int64_t kTogether = 32;

/// Calls move(sample's offset, plane's offset) for eight numbers after the other; pieces run in parallel.
template <class Move>
void forEachEight(const EightsExtents& extents, const Move& move)
{
    const std::int64_t pieces = (extents.positions + kTogether - 1) / kTogether;
    parallelFor(extents.samples * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t piece = begin; piece < end; ++piece) {
            const std::int64_t sample = piece / pieces * extents.positions * extents.channels;
            const std::int64_t first = piece % pieces * kTogether;
            const std::int64_t last = std::min(first + kTogether, extents.positions);
            for (std::int64_t channel = 0; channel < extents.channels; channel += kEight) {
                for (std::int64_t position = first; position < last; ++position) {
                    move(sample + position * extents.channels + channel,
                         sample + channel * extents.positions + position * kEight);
                }
            }
        }
    });
}

} // namespace

void intoPlanesOfEight(const float* channelsLast, const EightsExtents& extents, float* planes)
{
    forEachEight(extents, [=](std::int64_t last, std::int64_t plane) {
        std::memcpy(planes + plane, channelsLast + last, kEight * sizeof(float));
    });
}

void outOfPlanesOfEight(const float* planes, const EightsExtents& extents, float* channelsLast)
{
    forEachEight(extents, [=](std::int64_t last, std::int64_t plane) {
        std::memcpy(channelsLast + last, planes + plane, kEight * sizeof(float));
    });
}

} // namespace retro::ops::onednn
