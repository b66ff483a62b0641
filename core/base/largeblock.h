// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>

namespace retro::base
{

/// Blocks of ordinary memory from here on are bounded by base::MemoryLimit.
inline constexpr std::size_t kLeastLargeBlock = std::size_t{64} << 20U;

/// Thrown by operator new for a block that is beyond the limit or the memory of the machine.
class LargeBlockRefused final : public std::bad_alloc
{
public:
    explicit LargeBlockRefused(std::size_t bytes) : m_bytes(bytes) {}

    [[nodiscard]] std::size_t bytes() const { return m_bytes; }

private:
    std::size_t m_bytes;
};

/// False where the limit, the thread's MemoryAllowance or the machine has no room for a block of so many bytes.
[[nodiscard]] bool isLargeBlockAllowed(std::size_t bytes);

} // namespace retro::base
