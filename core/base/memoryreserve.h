// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace retro::base
{

/// Memory that a process keeps back for the moment when there is none left. What must be done then, such as taking
/// objects apart, closing files and saying what happened, asks for small blocks itself, often where no exception may
/// leave (a destructor). operator new gives the reserve back to the system before it lets a small block fail; from
/// then on claimMemory() throws, unless there is memory for a new reserve. Thread-safe; nothing here throws.
class MemoryReserve
{
public:
    static constexpr std::size_t kBytes = std::size_t{4} << 20U;
    /// Blocks beyond this fail at once: who asks for them computes, and can stop.
    static constexpr std::size_t kLargestServed = std::size_t{64} << 10U;

    /// Takes the reserve for the first time. A process that never calls this has none.
    static void open() noexcept;
    /// Gives the reserve to the system. False where it is not held.
    [[nodiscard]] static bool release() noexcept;
    /// True from release() on, until renew() could take it again.
    [[nodiscard]] static bool hasEnded() noexcept;
    /// Takes it again. True where it is held (again).
    static bool renew() noexcept;
    /// True where the system would give a block of so many bytes now: asked before a library is called that does not
    /// bear a failure.
    [[nodiscard]] static bool hasRoom(std::size_t bytes) noexcept;
};

} // namespace retro::base
