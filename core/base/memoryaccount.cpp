// SPDX-License-Identifier: Apache-2.0
#include "core/base/memoryaccount.h"

namespace retro::base
{

MemoryAccount& MemoryAccount::tensors()
{
    static MemoryAccount account;
    return account;
}

MemoryAccount& MemoryAccount::workspace()
{
    thread_local MemoryAccount account;
    return account;
}

void MemoryAccount::add(std::int64_t bytes)
{
    const std::int64_t now = m_live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::int64_t seen = m_peak.load(std::memory_order_relaxed);
    while (now > seen && !m_peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
}

} // namespace retro::base
