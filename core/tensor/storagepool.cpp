// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/storagepool.h"

#include <cstdlib>

namespace retro::tensor
{

namespace
{

thread_local StoragePool* used = nullptr;

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

bool StoragePool::give(std::byte* block, std::size_t bytes)
{
    if (m_held + bytes > m_most) {
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
