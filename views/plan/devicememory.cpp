// SPDX-License-Identifier: Apache-2.0
#include "views/plan/devicememory.h"

#include <algorithm>
#include <map>
#include <optional>

namespace retro::views
{

namespace
{

constexpr std::uint64_t kBlock = 512;    ///< an allocator of PyTorch rounds up to that
constexpr std::size_t kMostAhead = 1024; ///< allocations that a result is looked for among

std::vector<LineAtPeak> linesOf(const formats::MemorySnapshot& snapshot, const formats::MemoryCourse& course)
{
    std::map<std::string, LineAtPeak> byLine;
    for (const formats::StackAtPeak& one : course.atPeak) {
        const std::string text = formats::frameText(snapshot, one.stack);
        LineAtPeak& line = byLine[text];
        line.line = QString::fromStdString(text);
        line.bytes += one.bytes;
        line.blocks += one.blocks;
    }
    std::vector<LineAtPeak> lines;
    for (auto& [text, line] : byLine) {
        lines.push_back(std::move(line));
    }
    std::ranges::stable_sort(lines, [](const LineAtPeak& a, const LineAtPeak& b) { return a.bytes > b.bytes; });
    return lines;
}

/// Between neighbours that are known, in equal steps; before the first and behind the last to the ends.
std::vector<double> filledIn(const std::vector<std::optional<double>>& known, double end)
{
    std::vector<double> all(known.size());
    std::size_t from = 0; // one past the last known column
    double at = 0;
    for (std::size_t i = 0; i <= known.size(); ++i) {
        if (i < known.size() && !known[i]) {
            continue;
        }
        const double next = i < known.size() ? *known[i] : end;
        const double steps = static_cast<double>(i - from + 1);
        for (std::size_t k = from; k < i; ++k) {
            all[k] = at + (next - at) * static_cast<double>(k - from + 1) / steps;
        }
        if (i < known.size()) {
            all[i] = next;
        }
        at = next;
        from = i + 1;
    }
    return all;
}

} // namespace

std::vector<DeviceMemoryPointer> deviceMemories(const formats::MemorySnapshot& snapshot, const QString& file)
{
    std::vector<DeviceMemoryPointer> all;
    for (formats::MemoryCourse& course : formats::memoryCourses(snapshot)) {
        auto memory = std::make_shared<DeviceMemory>();
        memory->file = file;
        memory->atPeak = linesOf(snapshot, course);
        if (course.device < snapshot.traces.size()) {
            const std::vector<formats::AllocatorEvent>& trace = snapshot.traces[course.device];
            for (std::size_t i = 0; i < trace.size(); ++i) {
                if (trace[i].action == formats::AllocatorAction::Alloc) {
                    memory->allocations.emplace_back(i + 1, trace[i].size);
                }
            }
        }
        memory->course = std::move(course);
        all.push_back(std::move(memory));
    }
    return all;
}

PlanOverTrace planOverTrace(const ShownPlan& plan, const DeviceMemory& memory)
{
    PlanOverTrace over;
    const auto columns = plan.matrix.columns();
    std::vector<std::optional<double>> known(columns.size());
    std::size_t next = 0; // the first allocation that is free
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i].op == analysis::kNone) {
            continue;
        }
        ++over.columns;
        for (const analysis::OpValueId id : plan.graph().op(columns[i].op).outputs) {
            const std::uint64_t bytes = plan.graph().value(id).bytes;
            const std::uint64_t most = (bytes + kBlock - 1) / kBlock * kBlock;
            const auto begin = memory.allocations.begin() + static_cast<std::ptrdiff_t>(next);
            const auto end = memory.allocations.begin() +
                             static_cast<std::ptrdiff_t>(std::min(next + kMostAhead, memory.allocations.size()));
            const auto found = std::find_if(
                begin, end, [&](const auto& one) { return one.second >= bytes && one.second <= most && bytes > 0; });
            if (found != end) {
                next = static_cast<std::size_t>(found - memory.allocations.begin()) + 1;
                known[i] = static_cast<double>(found->first);
            }
        }
        over.matched += known[i] ? 1 : 0;
    }
    over.events = filledIn(known, static_cast<double>(memory.course.events));
    return over;
}

} // namespace retro::views
