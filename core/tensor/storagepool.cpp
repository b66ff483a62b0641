// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/storagepool.h"

#include "core/base/memoryaccount.h"

#include <cstdlib>

namespace retro::tensor
{

namespace
{

thread_local StoragePool* used = nullptr;

/// Of what the pool may hold anyway, the part that it still may when it fills up to the peak: sizes never fit exactly.
constexpr std::size_t kPartBeyondPeak = 4;

/// What tensors hold and so many bytes more are no more than they have held at once.
bool isBelowPeak(std::size_t bytes)
{
    const base::MemoryAccount& account = base::MemoryAccount::tensors();
    return account.live() + static_cast<std::int64_t>(bytes) <= account.peak();
}

} // namespace

StoragePool::~StoragePool()
{
    for (const auto& [bytes, blocks] : m_blocks) {
        for (std::byte* block : blocks) {
            std::free(block);
        }
    }
}

std::byte* StoragePool::take(std::size_t bytes)
{
    const auto at = m_blocks.find(bytes);
    if (at == m_blocks.end() || at->second.empty()) {
        return nullptr;
    }
    std::byte* block = at->second.back();
    at->second.pop_back();
    m_held -= bytes;
    return block;
}

void StoragePool::fillUpToPeak(bool isAllowed)
{
    m_fillsUpToPeak = isAllowed;
    for (auto& [bytes, blocks] : m_blocks) {
        while (!isAllowed && m_held > m_most && !blocks.empty()) {
            std::free(blocks.back());
            blocks.pop_back();
            m_held -= bytes;
        }
    }
}

bool StoragePool::give(std::byte* block, std::size_t bytes)
{
    const std::size_t most = m_fillsUpToPeak ? m_most / kPartBeyondPeak : m_most;
    if (m_held + bytes > most && !(m_fillsUpToPeak && isBelowPeak(m_held + bytes))) {
        return false;
    }
    m_blocks[bytes].push_back(block);
    m_held += bytes;
    return true;
}

StoragePool* StoragePool::current() { return used; }

StoragePool::Use::Use(StoragePool& pool) : m_before(used) { used = &pool; }

StoragePool::Use::~Use() { used = m_before; }

} // namespace retro::tensor
