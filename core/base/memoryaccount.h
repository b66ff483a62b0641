// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace retro::base
{

/// Counts bytes that are held in this process, with the highest value since the last reset. Thread-safe.
class MemoryAccount
{
public:
    /// The account that every tensor storage books to, and workspace as well.
    static MemoryAccount& tensors();
    /// That of what the operator that the calling thread runs holds beside operands and results
    /// (ops::BoundOperator::workspace).
    static MemoryAccount& workspace();

    /// Books bytes that were taken, and raises the highest value where it is exceeded.
    void add(std::int64_t bytes);
    /// Books bytes that were given back.
    void remove(std::int64_t bytes) { m_live.fetch_sub(bytes, std::memory_order_relaxed); }
    /// Bytes held now.
    [[nodiscard]] std::int64_t live() const { return m_live.load(std::memory_order_relaxed); }
    /// Highest number of bytes held since resetPeak().
    [[nodiscard]] std::int64_t peak() const { return m_peak.load(std::memory_order_relaxed); }
    void resetPeak() { m_peak.store(live(), std::memory_order_relaxed); }

private:
    std::atomic<std::int64_t> m_live{0};
    std::atomic<std::int64_t> m_peak{0};
};

} // namespace retro::base
