// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace retro::base
{

/// What memory there is for this process, in bytes.
struct MachineMemory
{
    std::uint64_t total = 0;     ///< of the machine, or of the control group or the process limit where that is less
    std::uint64_t available = 0; ///< that can be taken now without swapping, within the same bounds
};

/// Reads it from the system (Linux: /proc/meminfo, control groups of version 1 and 2, RLIMIT_AS). `root` stands before
/// the paths, for tests. Costs some system calls. What cannot be read does not bound.
[[nodiscard]] MachineMemory machineMemory(const std::filesystem::path& root = "/");

/// How many bytes the tensors of this process may take together: the one bound on memory, which the user may set.
/// Tensors look at it before they ask the system. Thread-safe.
class MemoryLimit
{
public:
    /// The limit in force: what was chosen, else kUsualPercent of machineMemory().total.
    [[nodiscard]] static std::uint64_t bytes();
    /// The limit that a user asks for; nothing brings the usual one back.
    static void choose(std::optional<std::uint64_t> bytes);
    /// True when somebody chose it.
    [[nodiscard]] static bool isChosen();
    /// What may be made while nothing is computed yet, when a model is bound or its loops are written out: the limit
    /// where somebody chose it, else at most kUsualBeforeRun. Small files must not take gigabytes by being looked at.
    [[nodiscard]] static std::uint64_t beforeRun();

    static constexpr std::uint64_t kUsualPercent = 80;
    static constexpr std::uint64_t kUsualBeforeRun = 768ULL << 20U;
    /// Blocks from here on are asked for only when the system has so much: it would give addresses without memory.
    static constexpr std::uint64_t kLargeBlock = 256ULL << 20U;
};

/// While one lives on a thread, tensors that this thread makes may take no more than `bytes` beyond what was there
/// before (MemoryAccount::tensors()), and no more than an allowance around it leaves. Without one, or inside one that
/// was made of nothing, the limit alone bounds.
class MemoryAllowance
{
public:
    explicit MemoryAllowance(std::optional<std::uint64_t> bytes);
    ~MemoryAllowance();
    MemoryAllowance(const MemoryAllowance&) = delete;
    MemoryAllowance& operator=(const MemoryAllowance&) = delete;

private:
    std::int64_t m_before;
};

/// Throws a Failure (Memory) when `bytes` more for tensors are beyond the limit or the thread's allowance.
void claimMemory(std::uint64_t bytes);
/// Throws a Failure (Memory) where the system has less than `bytes` for a library that ends the process, or reads what
/// it did not get, when it gets no memory.
void requireRoom(std::size_t bytes);
/// The same question as claimMemory without an exception: nothing, or the Memory error.
[[nodiscard]] std::optional<Error> whyNoMemory(std::uint64_t bytes);

/// The error (Memory) of an allocation that failed: `needed` bytes, or unknown.
[[nodiscard]] Error outOfMemory(std::optional<std::uint64_t> needed = std::nullopt);

} // namespace retro::base
