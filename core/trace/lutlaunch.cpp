// SPDX-License-Identifier: Apache-2.0
#include "core/trace/lutlaunch.h"

#include "core/event/launchevent.h"
#include "core/graph/attributes.h"
#include "core/ops/tablelookup.h"
#include "kernels/lut/schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::trace
{

namespace
{

/// A layer of the smallest sizes in the mode of a node: which buffers a launch touches does not depend on sizes.
lut::ScheduleRequest smallest(const graph::Node& node, lut::Pass pass)
{
    lut::ScheduleRequest request;
    request.shape = {2, 1, 1, 1, 0, 1, false};
    request.shape.isSequence = isSet(node, "sequence");
    if (request.shape.isSequence) {
        request.shape.length = 2;
        request.shape.codeBits = 1;
    }
    request.isSparse =
        node.inputs.size() > ops::TableLookup::kColumns && node.inputs[ops::TableLookup::kColumns].isValid();
    request.synapses = request.maxForwardGroups = request.isSparse ? 1 : 0;
    request.batch = 1;
    request.path = isSet(node, "documented") ? lut::Path::Documented : lut::Path::Fused;
    request.pass = pass;
    return request;
}

std::string namesOf(const std::vector<lut::BufferId>& buffers)
{
    std::string names;
    for (const lut::BufferId id : buffers) {
        names += names.empty() ? "" : ", ";
        names += lut::nameOf(id);
    }
    return names;
}

/// The buffers that a launch on the processor wrote, as the run keeps them behind it; none in older runs.
std::vector<lut::BufferId> recordedWrites(const Run& run, std::uint64_t step)
{
    std::vector<lut::BufferId> written;
    while (++step < run.events.size() && run.events[step].kind == event::EventKind::Buffer) {
        if ((run.events[step].flag & event::kBufferWritten) != 0) {
            written.push_back(static_cast<lut::BufferId>(run.events[step].branch2));
        }
    }
    return written;
}

} // namespace

std::string kernelName(const event::Event& launch)
{
    const std::uint32_t kernel = event::kernelIn(launch);
    return kernel < lut::kKernelCount ? std::string(lut::nameOf(static_cast<lut::KernelId>(kernel)))
                                      : fmt::format("kernel {}", kernel);
}

std::string launchTime(const event::Event& launch)
{
    const std::optional<double> seconds = event::secondsIn(launch);
    const char* where = (launch.flag & event::kLaunchOnDevice) != 0 ? " on the GPU" : "";
    return seconds ? fmt::format(", {:.4g} µs{}", *seconds * 1e6, where) : std::string();
}

std::string bufferName(const event::Event& buffer)
{
    return buffer.branch2 <= static_cast<std::uint32_t>(lut::BufferId::PairMap)
               ? std::string(lut::nameOf(static_cast<lut::BufferId>(buffer.branch2)))
               : fmt::format("buffer {}", buffer.branch2);
}

LaunchBuffers launchBuffers(const Run& run, std::uint64_t step)
{
    const event::Event& launch = run.events[step];
    constexpr std::uint32_t kPasses = 3;
    if (launch.node >= run.graph->nodeCount() || launch.branch >= kPasses) {
        return {};
    }
    lut::Schedule schedule;
    const auto pass = static_cast<lut::Pass>(launch.branch);
    const lut::Status status = lut::makeSchedule(smallest(run.graph->nodes()[launch.node], pass), schedule);
    if (status.ok() && launch.slot < schedule.launches.size()) {
        std::vector<lut::BufferId>& writes = schedule.launches[launch.slot].writes;
        const std::vector<lut::BufferId> written = recordedWrites(run, step);
        const bool isWhole = (launch.flag & event::kLaunchOnDevice) == 0 && !written.empty();
        std::erase_if(writes,
                      [&](lut::BufferId id) { return isWhole && std::ranges::find(written, id) == written.end(); });
    }
    const bool isThere = status.ok() && launch.slot < schedule.launches.size() &&
                         static_cast<std::uint32_t>(schedule.launches[launch.slot].kernel) == event::kernelIn(launch);
    return isThere ? LaunchBuffers{namesOf(schedule.launches[launch.slot].reads),
                                   namesOf(schedule.launches[launch.slot].writes)}
                   : LaunchBuffers{};
}

} // namespace retro::trace
