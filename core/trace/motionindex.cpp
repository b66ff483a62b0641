// SPDX-License-Identifier: Apache-2.0
// Speeds, easing, and the index of intervals behind core/trace/motion.h.
#include "core/trace/motion.h"

#include <algorithm>
#include <utility>

namespace retro::trace
{

namespace
{

constexpr std::size_t kMostAlive = 4U << 20; // entries of an index before its chunks get longer
constexpr std::uint64_t kLeastStride = 256;  // steps per chunk of an index
constexpr double kBriefFrom = 4;             // visits per second above which tails and rings go
constexpr double kVisitFrom = 16;            // … above which the pulses of a visit go together
constexpr double kSumFrom = 60;              // … above which there are no single pulses

} // namespace

SpeedClass speedClassOf(double visitsPerSecond)
{
    if (visitsPerSecond <= kBriefFrom) {
        return SpeedClass::Each;
    }
    if (visitsPerSecond <= kVisitFrom) {
        return SpeedClass::Brief;
    }
    return visitsPerSecond <= kSumFrom ? SpeedClass::Visit : SpeedClass::Sum;
}

double easedInOut(double share)
{
    const double t = std::clamp(share, 0.0, 1.0);
    const double rest = 2 - 2 * t;
    return t < 0.5 ? 4 * t * t * t : 1 - rest * rest * rest / 2;
}

double easedOut(double share)
{
    const double rest = 1 - std::clamp(share, 0.0, 1.0);
    return 1 - rest * rest * rest;
}

Motion::Index::Index(std::vector<Interval> intervals, std::uint64_t count) : m_intervals(std::move(intervals))
{
    // A chunk costs what is alive at its start; the sum over the intervals bounds it.
    m_stride = kLeastStride;
    const auto entries = [&] {
        std::size_t sum = 0;
        for (const Interval& each : m_intervals) {
            sum += static_cast<std::size_t>(each.end / m_stride - each.begin / m_stride);
        }
        return sum;
    };
    while (m_stride < count && entries() > kMostAlive) {
        m_stride *= 2;
    }
    const auto chunks = static_cast<std::size_t>(count / m_stride) + 1;
    m_offsets.assign(chunks + 1, 0);
    const auto each = [&](auto visit) {
        for (std::size_t i = 0; i < m_intervals.size(); ++i) {
            const std::uint64_t last = std::min<std::uint64_t>(m_intervals[i].end / m_stride, chunks - 1);
            for (std::uint64_t chunk = m_intervals[i].begin / m_stride + 1; chunk <= last; ++chunk) {
                visit(static_cast<std::size_t>(chunk), static_cast<std::uint32_t>(i));
            }
        }
    };
    each([&](std::size_t chunk, std::uint32_t) { ++m_offsets[chunk + 1]; });
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        m_offsets[chunk + 1] += m_offsets[chunk];
    }
    m_alive.resize(m_offsets.back());
    std::vector<std::uint32_t> next(m_offsets.begin(), m_offsets.end() - 1);
    each([&](std::size_t chunk, std::uint32_t i) { m_alive[next[chunk]++] = i; });
}

} // namespace retro::trace
