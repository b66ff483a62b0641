// SPDX-License-Identifier: Apache-2.0
#include "app/cli/memorysnapshot.h"

#include "core/base/bytesize.h"
#include "core/formats/memorycourse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace retro::app
{

namespace
{

using base::Result;
using nlohmann::ordered_json;

/// Blocks at the peak by the line of source, most bytes first.
struct LineAtPeak
{
    std::string line;
    std::uint64_t bytes = 0;
    std::size_t blocks = 0;
};

std::vector<LineAtPeak> linesAtPeak(const formats::MemorySnapshot& snapshot, const formats::MemoryCourse& course)
{
    std::map<std::string, LineAtPeak> byLine;
    for (const formats::StackAtPeak& row : course.atPeak) {
        LineAtPeak& line = byLine[formats::frameText(snapshot, row.stack)];
        line.bytes += row.bytes;
        line.blocks += row.blocks;
    }
    std::vector<LineAtPeak> lines;
    for (auto& [text, line] : byLine) {
        line.line = text;
        lines.push_back(line);
    }
    std::ranges::stable_sort(lines, [](const LineAtPeak& a, const LineAtPeak& b) { return a.bytes > b.bytes; });
    return lines;
}

ordered_json courseJson(const formats::MemorySnapshot& snapshot, const formats::MemoryCourse& course)
{
    ordered_json moments = ordered_json::array();
    for (const formats::MemoryMoment& moment : course.moments) {
        moments.push_back({moment.event, moment.allocated, moment.reserved});
    }
    ordered_json lines = ordered_json::array();
    for (const LineAtPeak& line : linesAtPeak(snapshot, course)) {
        lines.push_back({{"frame", line.line}, {"bytes", line.bytes}, {"blocks", line.blocks}});
    }
    return {{"device", course.device},
            {"events", course.events},
            {"allocated_peak", course.peak.allocated},
            {"reserved_at_peak", course.peak.reserved},
            {"reserved_peak", course.reservedPeak},
            {"peak_event", course.peak.event},
            {"peak_time_us", course.peakTime},
            {"at_peak", lines},
            {"course", moments}};
}

} // namespace

Result<void> analyzeSnapshot(const Context& context, const std::string& file, std::size_t rows)
{
    RETRO_TRY(const formats::MemorySnapshot snapshot, formats::readMemorySnapshot(file));
    const std::vector<formats::MemoryCourse> courses = formats::memoryCourses(snapshot);
    ordered_json devices = ordered_json::array();
    for (const formats::MemoryCourse& course : courses) {
        if (context.json) {
            devices.push_back(courseJson(snapshot, course));
            continue;
        }
        context.say(fmt::format("device {}: {} events, allocated at most {} (behind event {}), reserved at most {}",
                                course.device, course.events, base::bothBytesText(course.peak.allocated),
                                course.peak.event, base::bothBytesText(course.reservedPeak)));
        const std::vector<LineAtPeak> lines = linesAtPeak(snapshot, course);
        for (std::size_t i = 0; i < (rows == 0 ? lines.size() : std::min(rows, lines.size())); ++i) {
            context.say(fmt::format("{:>12}  {:>6} {}  {}", base::bytesText(lines[i].bytes), lines[i].blocks,
                                    lines[i].blocks == 1 ? "block " : "blocks", lines[i].line));
        }
    }
    if (context.json) {
        context.answer({{"kind", "memory snapshot"},
                        {"segments", snapshot.segments.size()},
                        {"stacks", snapshot.stacks.size()},
                        {"devices", devices}});
    } else if (courses.empty()) {
        context.say("the snapshot has no trace and no block in use");
    }
    return {};
}

} // namespace retro::app
