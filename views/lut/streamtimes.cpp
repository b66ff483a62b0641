// SPDX-License-Identifier: Apache-2.0
#include "views/lut/streamtimes.h"

#include "kernels/lut/traffic.h"

#include <algorithm>
#include <map>
#include <span>

namespace retro::views
{

namespace
{

/// Seconds of each launch of a pass; none where they were not measured.
std::span<const double> measuredOf(const lut::Schedule& schedule, const ops::LutDeviceTimes* measured)
{
    if (measured == nullptr || schedule.pass == lut::Pass::Relevance) {
        return {};
    }
    const std::vector<double>& all = schedule.pass == lut::Pass::Forward ? measured->forward : measured->backward;
    return all.size() == schedule.launches.size() ? std::span(all) : std::span<const double>();
}

} // namespace

std::vector<LaunchTime> launchTimes(const std::vector<lut::Schedule>& schedules, const ops::LutDeviceTimes* measured,
                                    const RecordedSeconds& recorded, const StreamModel& model)
{
    std::vector<LaunchTime> times;
    double passStart = 0;
    for (std::size_t pass = 0; pass < schedules.size(); ++pass) {
        std::map<std::uint32_t, double> free; // by stream
        const std::size_t first = times.size();
        const std::span<const double> known = measuredOf(schedules[pass], measured);
        const auto recordedAt = [&](std::size_t launch) {
            return recorded ? recorded(schedules[pass].pass, launch) : std::nullopt;
        };
        bool isPassRecorded = false;
        for (std::size_t i = 0; i < schedules[pass].launches.size(); ++i) {
            isPassRecorded = isPassRecorded || recordedAt(i).has_value();
        }
        double end = passStart;
        for (std::size_t i = 0; i < schedules[pass].launches.size(); ++i) {
            const lut::Launch& launch = schedules[pass].launches[i];
            LaunchTime time{pass, i, passStart, 0, 0, lut::bytesMoved(schedules[pass], launch)};
            for (const std::size_t other : launch.waitsFor) {
                time.waitsUntil = std::max(time.waitsUntil, times[first + other].end);
            }
            time.start = std::max({passStart, free[launch.stream], time.waitsUntil});
            time.isMeasured = !known.empty();
            const std::optional<double> ran = recordedAt(i);
            time.isRecorded = !time.isMeasured && ran.has_value();
            time.isIdle = !time.isMeasured && isPassRecorded && !ran.has_value();
            const double modelled =
                time.isIdle ? 0 : model.launchSeconds + static_cast<double>(time.bytes) / model.bytesPerSecond;
            time.end = time.start + (time.isMeasured ? known[i] : ran.value_or(modelled));
            free[launch.stream] = time.end;
            end = std::max(end, time.end);
            times.push_back(time);
        }
        passStart = end;
    }
    return times;
}

} // namespace retro::views
