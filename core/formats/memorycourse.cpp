// SPDX-License-Identifier: Apache-2.0
#include "core/formats/memorycourse.h"

#include "core/base/visibletext.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace retro::formats
{

namespace
{

using Blocks = std::unordered_map<std::uint64_t, SnapshotBlock>; ///< in use, by address

/// What a device holds when the snapshot is taken.
struct AtEnd
{
    Blocks blocks;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
};

AtEnd atEndOf(const MemorySnapshot& snapshot, std::size_t device)
{
    AtEnd end;
    for (const SnapshotSegment& segment : snapshot.segments) {
        if (segment.device != static_cast<std::int64_t>(device)) {
            continue;
        }
        end.reserved += static_cast<std::int64_t>(segment.bytes);
        for (const SnapshotBlock& block : segment.blocks) {
            if (block.isActive) {
                end.allocated += static_cast<std::int64_t>(block.size);
                end.blocks[block.address] = block;
            }
        }
    }
    return end;
}

std::int64_t allocatedBy(const AllocatorEvent& event)
{
    const auto size = static_cast<std::int64_t>(event.size);
    return event.action == AllocatorAction::Alloc ? size : event.action == AllocatorAction::FreeCompleted ? -size : 0;
}

std::int64_t reservedBy(const AllocatorEvent& event)
{
    const auto size = static_cast<std::int64_t>(event.size);
    return event.action == AllocatorAction::SegmentAlloc  ? size
           : event.action == AllocatorAction::SegmentFree ? -size
                                                          : 0;
}

std::uint64_t atLeastNone(std::int64_t bytes) { return static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)); }

/// A curve of at most so many moments: of neighbours that are too many the highest stays.
class Curve
{
public:
    Curve(std::size_t events, std::size_t most)
        : m_every(std::max<std::size_t>(1, events / std::max<std::size_t>(most, 1)))
    {}

    void add(const MemoryMoment& moment)
    {
        const std::size_t group = moment.event / m_every;
        if (m_moments.empty() || group != m_group) {
            m_moments.push_back(moment);
        } else if (moment.allocated > m_moments.back().allocated) {
            m_moments.back() = moment;
        }
        m_group = group;
    }
    std::vector<MemoryMoment> take() { return std::move(m_moments); }

private:
    std::size_t m_every;
    std::size_t m_group = 0;
    std::vector<MemoryMoment> m_moments;
};

/// The blocks in use behind the event at `at`: from the end of the trace backwards.
Blocks blocksAt(const std::vector<AllocatorEvent>& trace, std::size_t at, Blocks blocks)
{
    for (std::size_t i = trace.size(); i > at; --i) {
        const AllocatorEvent& event = trace[i - 1];
        if (event.action == AllocatorAction::Alloc) {
            blocks.erase(event.address);
        } else if (event.action == AllocatorAction::FreeCompleted) {
            blocks[event.address] = {event.address, event.size, kNoStack, true};
        }
    }
    return blocks;
}

/// Gives blocks the stacks of the events that handed them out.
void findStacks(const std::vector<AllocatorEvent>& trace, std::size_t at, Blocks& blocks)
{
    std::size_t missing = blocks.size();
    for (std::size_t i = at; i > 0 && missing > 0; --i) {
        const AllocatorEvent& event = trace[i - 1];
        const auto block = event.action == AllocatorAction::Alloc ? blocks.find(event.address) : blocks.end();
        if (block != blocks.end() && block->second.isActive) {
            block->second.stack = event.stack;
            block->second.isActive = false; // found
            --missing;
        }
    }
}

std::vector<StackAtPeak> byStack(const Blocks& blocks)
{
    std::map<std::uint32_t, StackAtPeak> rows;
    for (const auto& [address, block] : blocks) {
        StackAtPeak& row = rows[block.stack];
        row.stack = block.stack;
        row.bytes += block.size;
        ++row.blocks;
    }
    std::vector<StackAtPeak> sorted;
    std::ranges::transform(rows, std::back_inserter(sorted), [](const auto& row) { return row.second; });
    std::ranges::stable_sort(sorted, [](const StackAtPeak& a, const StackAtPeak& b) { return a.bytes > b.bytes; });
    return sorted;
}

MemoryCourse courseOf(const MemorySnapshot& snapshot, std::size_t device, std::size_t most)
{
    static const std::vector<AllocatorEvent> kNone;
    const std::vector<AllocatorEvent>& trace = device < snapshot.traces.size() ? snapshot.traces[device] : kNone;
    AtEnd end = atEndOf(snapshot, device);
    std::int64_t allocated = end.allocated;
    std::int64_t reserved = end.reserved;
    for (const AllocatorEvent& event : trace) {
        allocated -= allocatedBy(event);
        reserved -= reservedBy(event);
    }
    // Segments that the trace gives back were there before it; without segments in the file nothing is known of them.
    allocated = std::max<std::int64_t>(allocated, 0);
    reserved = std::max<std::int64_t>(reserved, 0);
    MemoryCourse course;
    course.device = device;
    course.events = trace.size();
    Curve curve(trace.size(), most);
    MemoryMoment now{0, atLeastNone(allocated), atLeastNone(reserved)};
    course.peak = now;
    course.reservedPeak = now.reserved;
    curve.add(now);
    for (std::size_t i = 0; i < trace.size(); ++i) {
        const std::int64_t more = allocatedBy(trace[i]);
        const std::int64_t moreReserved = reservedBy(trace[i]);
        if (more == 0 && moreReserved == 0) {
            continue;
        }
        allocated += more;
        reserved += moreReserved;
        now = {i + 1, atLeastNone(allocated), atLeastNone(reserved)};
        curve.add(now);
        course.reservedPeak = std::max(course.reservedPeak, now.reserved);
        if (now.allocated > course.peak.allocated) {
            course.peak = now;
            course.peakTime = trace[i].time;
        }
    }
    course.moments = curve.take();
    Blocks blocks = blocksAt(trace, course.peak.event, std::move(end.blocks));
    findStacks(trace, course.peak.event, blocks);
    course.atPeak = byStack(blocks);
    return course;
}

bool isOfTorch(const std::string& file) { return file.find("/torch/") != std::string::npos || !file.ends_with(".py"); }

} // namespace

std::vector<MemoryCourse> memoryCourses(const MemorySnapshot& snapshot, std::size_t moments)
{
    std::size_t devices = snapshot.traces.size();
    for (const SnapshotSegment& segment : snapshot.segments) {
        const bool isDevice = segment.device >= 0 && segment.device < 4096;
        devices = isDevice ? std::max(devices, static_cast<std::size_t>(segment.device) + 1) : devices;
    }
    std::vector<MemoryCourse> courses;
    for (std::size_t device = 0; device < devices; ++device) {
        MemoryCourse course = courseOf(snapshot, device, moments);
        if (course.events > 0 || course.peak.allocated > 0 || course.reservedPeak > 0) {
            courses.push_back(std::move(course));
        }
    }
    return courses;
}

std::string frameText(const MemorySnapshot& snapshot, std::uint32_t stack)
{
    if (stack >= snapshot.stacks.size() || snapshot.stacks[stack].empty()) {
        return "no stack was recorded";
    }
    const std::vector<std::uint32_t>& frames = snapshot.stacks[stack];
    const auto own = std::ranges::find_if(
        frames, [&](std::uint32_t frame) { return !isOfTorch(snapshot.texts[snapshot.frames[frame].file]); });
    const StackFrame& frame = snapshot.frames[own == frames.end() ? frames.front() : *own];
    return fmt::format("{}:{} {}", base::visibleText(snapshot.texts[frame.file]), frame.line,
                       base::visibleText(snapshot.texts[frame.function]));
}

} // namespace retro::formats
