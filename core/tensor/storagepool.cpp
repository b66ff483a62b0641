// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/storagepool.h"

#include "core/base/memoryaccount.h"

#include <algorithm>
#include <cstdlib>

namespace retro::tensor
{

namespace
{

thread_local StoragePool* used = nullptr;

/// Of what the pool may hold anyway, the part that it still may when it fills up to the peak: sizes never fit exactly.
constexpr std::size_t kPartBeyondPeak = 4;

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

std::size_t StoragePool::limit() const
{
    if (!m_fillsUpToPeak) {
        return m_most;
    }
    const base::MemoryAccount& account = base::MemoryAccount::tensors();
    const std::int64_t room = std::max(account.peak(), m_peakBefore) - account.live();
    return std::max(m_most / kPartBeyondPeak, static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
}

void StoragePool::shrinkTo(std::size_t bytes)
{
    for (auto& [size, blocks] : m_blocks) {
        while (m_held > bytes && !blocks.empty()) {
            std::free(blocks.back());
            blocks.pop_back();
            m_held -= size;
        }
    }
}

void StoragePool::fillUpToPeak(bool isAllowed)
{
    m_fillsUpToPeak = isAllowed;
    if (!isAllowed) {
        shrinkTo(m_most);
    }
}

void StoragePool::endUse()
{
    m_peakBefore = base::MemoryAccount::tensors().peak();
    shrinkTo(limit());
}

bool StoragePool::give(std::byte* block, std::size_t bytes)
{
    if (m_held + bytes > limit()) {
        return false;
    }
    m_blocks[bytes].push_back(block);
    m_held += bytes;
    return true;
}

StoragePool* StoragePool::current() { return used; }

StoragePool::Use::Use(StoragePool& pool) : m_pool(&pool), m_before(used) { used = &pool; }

StoragePool::Use::~Use()
{
    m_pool->endUse();
    used = m_before;
}

} // namespace retro::tensor
