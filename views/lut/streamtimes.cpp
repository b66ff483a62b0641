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

/// Seconds of each launch of a pass, where a run recorded them.
std::vector<std::optional<double>> recordedOf(const lut::Schedule& schedule, const RecordedSeconds& recorded)
{
    std::vector<std::optional<double>> seconds;
    for (std::size_t i = 0; i < schedule.launches.size(); ++i) {
        seconds.push_back(recorded ? recorded(schedule.pass, i) : std::nullopt);
    }
    return seconds;
}

/// Adds the launches of a pass that begins at `start`: measured where `known` has numbers, else as they `ran`, else by
/// the model. The end of the last one.
double addPass(std::size_t pass, const lut::Schedule& schedule, std::span<const double> known,
               const std::vector<std::optional<double>>& ran, const StreamModel& model, double start,
               std::vector<LaunchTime>& times)
{
    std::map<std::uint32_t, double> free; // by stream
    const std::size_t first = times.size();
    const bool isPassRecorded =
        std::ranges::any_of(ran, [](const std::optional<double>& seconds) { return seconds.has_value(); });
    double end = start;
    for (std::size_t i = 0; i < schedule.launches.size(); ++i) {
        const lut::Launch& launch = schedule.launches[i];
        LaunchTime time{pass, i, start, 0, 0, lut::bytesMoved(schedule, launch)};
        for (const std::size_t other : launch.waitsFor) {
            time.waitsUntil = std::max(time.waitsUntil, times[first + other].end);
        }
        time.start = std::max({start, free[launch.stream], time.waitsUntil});
        time.isMeasured = !known.empty();
        time.isRecorded = !time.isMeasured && ran[i].has_value();
        time.isIdle = !time.isMeasured && isPassRecorded && !ran[i].has_value();
        const double modelled =
            time.isIdle ? 0 : model.launchSeconds + static_cast<double>(time.bytes) / model.bytesPerSecond;
        time.end = time.start + (time.isMeasured ? known[i] : ran[i].value_or(modelled));
        free[launch.stream] = time.end;
        end = std::max(end, time.end);
        times.push_back(time);
    }
    return end;
}

} // namespace

std::vector<LaunchTime> launchTimes(const std::vector<lut::Schedule>& schedules, const ops::LutDeviceTimes* measured,
                                    const RecordedSeconds& recorded, const StreamModel& model)
{
    std::vector<LaunchTime> times;
    double passStart = 0;
    for (std::size_t pass = 0; pass < schedules.size(); ++pass) {
        const lut::Schedule& schedule = schedules[pass];
        passStart = addPass(pass, schedule, measuredOf(schedule, measured), recordedOf(schedule, recorded), model,
                            passStart, times);
    }
    return times;
}

} // namespace retro::views
