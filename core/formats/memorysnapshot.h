// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace retro::formats
{

/// Largest snapshot that is read.
inline constexpr std::uint64_t kMaxSnapshotBytes = 64ULL << 30U;

/// No stack was recorded.
inline constexpr std::uint32_t kNoStack = 0xFFFFFFFF;

/// What an allocator did.
enum class AllocatorAction : std::uint8_t {
    Alloc,         ///< a block was handed out
    FreeRequested, ///< somebody let it go; a stream may still use it
    FreeCompleted, ///< it can be handed out again
    SegmentAlloc,  ///< memory was taken from the device ("segment_map" too)
    SegmentFree,   ///< and given back ("segment_unmap" too)
    Other          ///< out of memory, snapshot, and what newer versions add
};

/// One entry of a device trace.
struct AllocatorEvent
{
    std::uint64_t address = 0;
    std::uint64_t size = 0; ///< bytes
    std::int64_t time = 0;  ///< microseconds; 0 = not recorded
    std::uint32_t stack = kNoStack;
    AllocatorAction action = AllocatorAction::Other;
};

/// A line of source.
struct StackFrame
{
    std::uint32_t file = 0; ///< position in MemorySnapshot::texts
    std::uint32_t function = 0;
    std::int64_t line = 0;
};

/// A part of a segment when the snapshot was taken.
struct SnapshotBlock
{
    std::uint64_t address = 0;
    std::uint64_t size = 0; ///< bytes
    std::uint32_t stack = kNoStack;
    bool isActive = false; ///< in use, or let go and still used by a stream
};

/// Memory that an allocator had taken from a device.
struct SnapshotSegment
{
    std::int64_t device = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::vector<SnapshotBlock> blocks;
};

/// What `torch.cuda.memory._dump_snapshot` writes, as far as it is about memory.
struct MemorySnapshot
{
    std::vector<std::string> texts;
    std::vector<StackFrame> frames;
    std::vector<std::vector<std::uint32_t>> stacks; ///< positions in `frames`, innermost first
    std::vector<SnapshotSegment> segments;
    std::vector<std::vector<AllocatorEvent>> traces; ///< per device, oldest first
};

/// True for a file that begins as a pickle does, of any protocol from 2 on.
[[nodiscard]] bool looksLikePickle(const std::filesystem::path& path);

/// Reads a snapshot. A pickle is a programme for a small machine: only instructions that make numbers, texts, lists,
/// tuples, dicts and references to them are known here; one that names or calls something is refused by its name, and
/// nothing is ever carried out. The file is read as a stream: of a trace only its events stay, so that memory grows
/// with their number. Errors (Input) name the file and the position: not a pickle, an instruction that is refused or
/// unknown, a file that ends early, nesting beyond kMaxPickleDepth (picklemachine.h), something that is no snapshot.
[[nodiscard]] base::Result<MemorySnapshot> readMemorySnapshot(const std::filesystem::path& path);

} // namespace retro::formats
