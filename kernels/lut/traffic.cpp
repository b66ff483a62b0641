// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/traffic.h"

#include <algorithm>

namespace retro::lut
{

namespace
{

bool isDense(BufferId id) { return id == BufferId::FiringStatistics || id == BufferId::BeforeDetectorsGradients; }

/// Rows that a pass visits: one per sample (or pair of positions) and table; 0 when nothing says so.
std::uint64_t visitsOf(const Schedule& schedule)
{
    const Buffer* rows = schedule.find(BufferId::LookupIndices);
    if (rows == nullptr || rows->shape.size() < 2) {
        return 0;
    }
    const std::uint64_t pairs = rows->shape.size() == 3 ? pairCount(rows->shape[1]) : 1;
    return rows->shape.front() * rows->shape.back() * pairs;
}

/// Bytes of one element of a buffer.
std::uint64_t elementBytes(const Buffer& buffer)
{
    std::uint64_t elements = 1;
    for (const std::uint64_t extent : buffer.shape) {
        elements *= extent;
    }
    return buffer.bytes / std::max<std::uint64_t>(elements, 1);
}

/// What a launch moves of one buffer.
std::uint64_t bytesOf(const Schedule& schedule, const Launch& launch, const Buffer& buffer)
{
    const std::uint64_t visits = visitsOf(schedule);
    if (buffer.id == BufferId::Weights && buffer.shape.size() == 3 && visits > 0) {
        return std::min(buffer.bytes, visits * buffer.shape[2] * elementBytes(buffer));
    }
    if (isDense(buffer.id) && launch.kernel != KernelId::DensifyFiringStat && visits > 0) {
        return std::min(buffer.bytes, 2 * visits * elementBytes(buffer)); // the chosen row and the alternative
    }
    return buffer.bytes;
}

} // namespace

std::uint64_t bytesMoved(const Schedule& schedule, const Launch& launch)
{
    std::uint64_t bytes = 0;
    for (const auto* ids : {&launch.reads, &launch.writes}) {
        for (const BufferId id : *ids) {
            const Buffer* buffer = schedule.find(id);
            bytes += buffer != nullptr ? bytesOf(schedule, launch, *buffer) : 0;
        }
    }
    return bytes;
}

std::uint64_t bytesHeld(const Schedule& schedule, Role role)
{
    std::uint64_t bytes = 0;
    for (const Buffer& buffer : schedule.buffers) {
        bytes += buffer.role == role ? buffer.bytes : 0;
    }
    return bytes;
}

} // namespace retro::lut
