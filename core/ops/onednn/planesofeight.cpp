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

/// Where the numbers lie: in runs of neighbouring positions, `perSample` of them in each sample.
struct Runs
{
    std::int64_t perSample = 0;
    std::int64_t length = 0;    ///< positions; the last run of a sample may have fewer
    std::int64_t positions = 0; ///< of a sample
    std::int64_t planeSize = 0; ///< positions of a plane
    std::int64_t sampleAt = 0;  ///< numbers from one sample's first plane to the next one's
    std::int64_t runAt = 0;     ///< positions from one run to the next in a plane
};

Runs runsOf(const EightsExtents& extents)
{
    const std::int64_t positions = extents.rows * extents.columns;
    if (extents.step == 0) {
        return {(positions + kTogether - 1) / kTogether,
                kTogether,
                positions,
                positions,
                positions * extents.channels,
                kTogether};
    }
    const std::int64_t wide = (extents.samples - 1) * extents.step + extents.columns;
    return {extents.rows, extents.columns, positions, extents.rows * wide, extents.step * kEight, wide};
}

/// Calls move(sample's offset, plane's offset) for eight numbers after the other; runs go in parallel.
template <class Move>
void forEachEight(const EightsExtents& extents, const Move& move)
{
    const Runs runs = runsOf(extents);
    parallelFor(extents.samples * runs.perSample, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
            const std::int64_t sample = at / runs.perSample;
            const std::int64_t run = at % runs.perSample;
            const std::int64_t first = run * runs.length;
            const std::int64_t count = std::min(runs.length, runs.positions - first);
            const std::int64_t last = (sample * runs.positions + first) * extents.channels;
            const std::int64_t plane = sample * runs.sampleAt + run * runs.runAt * kEight;
            for (std::int64_t channel = 0; channel < extents.channels; channel += kEight) {
                for (std::int64_t i = 0; i < count; ++i) {
                    move(last + i * extents.channels + channel, plane + channel * runs.planeSize + i * kEight);
                }
            }
        }
    });
}

} // namespace

void intoPlanesOfEight(const float* channelsLast, const EightsExtents& extents, float* planes)
{
    if (extents.step != 0) {
        std::fill_n(planes, runsOf(extents).planeSize * extents.channels, 0.0F);
    }
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
