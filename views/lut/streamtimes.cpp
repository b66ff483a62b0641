// SPDX-License-Identifier: Apache-2.0
#include "views/lut/streamtimes.h"

#include <algorithm>
#include <map>

namespace retro::views
{

namespace
{

using lut::BufferId;

bool hasAllRows(BufferId id) { return id == BufferId::FiringStatistics || id == BufferId::BeforeDetectorsGradients; }

bool goesOverAllRows(lut::KernelId kernel) { return kernel == lut::KernelId::DensifyFiringStat; }

/// Bytes of the rows that a pass visits: one per sample (or pair of positions) and table.
std::uint64_t visitedBytes(const lut::Schedule& schedule, const lut::Buffer& weights)
{
    const lut::Buffer* rows = schedule.find(BufferId::LookupIndices);
    if (rows == nullptr || rows->shape.size() < 2 || weights.shape.size() != 3) {
        return weights.bytes;
    }
    std::uint64_t visits = rows->shape.front() * rows->shape.back();
    if (rows->shape.size() == 3) {
        visits *= lut::pairCount(static_cast<std::uint32_t>(rows->shape[1]));
    }
    const std::uint64_t real =
        weights.bytes / std::max<std::uint64_t>(weights.shape[0] * weights.shape[1] * weights.shape[2], 1);
    return visits * weights.shape[2] * real;
}

} // namespace

std::uint64_t bytesMoved(const lut::Schedule& schedule, const lut::Launch& launch)
{
    std::uint64_t bytes = 0;
    const auto add = [&](BufferId id) {
        const lut::Buffer* buffer = schedule.find(id);
        if (buffer == nullptr) {
            return;
        }
        const bool isRows = id == BufferId::Weights || (hasAllRows(id) && !goesOverAllRows(launch.kernel));
        const lut::Buffer* weights = schedule.find(BufferId::Weights);
        const std::uint64_t visited = isRows && weights != nullptr ? visitedBytes(schedule, *weights) : buffer->bytes;
        bytes += std::min(buffer->bytes, visited);
    };
    std::ranges::for_each(launch.reads, add);
    std::ranges::for_each(launch.writes, add);
    return bytes;
}

std::vector<LaunchTime> launchTimes(const std::vector<lut::Schedule>& schedules, const StreamModel& model)
{
    std::vector<LaunchTime> times;
    double passStart = 0;
    for (std::size_t pass = 0; pass < schedules.size(); ++pass) {
        std::map<std::uint32_t, double> free; // by stream
        const std::size_t first = times.size();
        double end = passStart;
        for (std::size_t i = 0; i < schedules[pass].launches.size(); ++i) {
            const lut::Launch& launch = schedules[pass].launches[i];
            LaunchTime time{pass, i, passStart, 0, 0, bytesMoved(schedules[pass], launch)};
            for (const std::size_t other : launch.waitsFor) {
                time.waitsUntil = std::max(time.waitsUntil, times[first + other].end);
            }
            time.start = std::max({passStart, free[launch.stream], time.waitsUntil});
            time.end = time.start + model.launchSeconds + static_cast<double>(time.bytes) / model.bytesPerSecond;
            free[launch.stream] = time.end;
            end = std::max(end, time.end);
            times.push_back(time);
        }
        passStart = end;
    }
    return times;
}

} // namespace retro::views
