// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/storagepool.h"

#include "core/base/memoryaccount.h"
#include "core/base/memorylimit.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace retro::tensor
{

namespace
{

thread_local StoragePool* used = nullptr;

/// Of what the pool may hold anyway, the quarters that it still may when it fills up to the peak: sizes never fit
/// exactly.
constexpr std::size_t kQuartersBeyondPeak = 3;

/// A block may be larger than the tensor in it, which the account does not see: of the peak, the part that such blocks
/// may be short of. Without it one block after the other would be given back and asked for again.
constexpr std::int64_t kPartOfPeak = 16;

/// How many times as large as what is asked for a block may be. Shapes of neighbouring layers differ by powers of two:
/// without a factor of two the blocks of one part of a pass lie idle in the next one.
constexpr std::size_t kMostTimes = 2;

constexpr std::size_t kAlignment = 64;

/// Asks for huge pages inside a large block: the first touch of an activation is then one fault for 2 MiB and not 512.
/// The ask may be refused, which costs nothing but time.
void preferHugePages(std::byte* block, std::size_t bytes)
{
#ifdef __linux__
    constexpr std::size_t kHuge = std::size_t{2} << 20U;
    const auto from = (reinterpret_cast<std::uintptr_t>(block) + kHuge - 1) / kHuge * kHuge;
    const auto to = (reinterpret_cast<std::uintptr_t>(block) + bytes) / kHuge * kHuge;
    if (from < to) {
        madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE); // NOLINT(performance-no-int-to-ptr)
    }
#else
    (void)block;
    (void)bytes;
#endif
}

/// What stands before the first byte of a block.
struct Head
{
    std::size_t capacity; // bytes behind it
};

static_assert(sizeof(Head) <= kAlignment);

std::size_t capacityOf(const std::byte* block) { return reinterpret_cast<const Head*>(block - kAlignment)->capacity; }

/// A large block is asked for only when the system has so much: it gives addresses without memory, and ends the
/// process when they are used. Costs some reads of /proc, next to nothing beside the first touch of such a block.
bool hasMemoryFor(std::size_t capacity)
{
    return capacity < base::MemoryLimit::kLargeBlock || capacity <= base::machineMemory().available;
}

std::byte* fromSystem(std::size_t capacity)
{
    if (!hasMemoryFor(capacity)) {
        return nullptr;
    }
    auto* whole = static_cast<std::byte*>(std::aligned_alloc(kAlignment, capacity + kAlignment));
    if (whole == nullptr) {
        return nullptr;
    }
    new (whole) Head{capacity};
    preferHugePages(whole, capacity + kAlignment);
    return whole + kAlignment;
}

void toSystem(std::byte* block) { std::free(block - kAlignment); }

} // namespace

StoragePool::~StoragePool()
{
    for (const auto& [bytes, blocks] : m_blocks) {
        for (std::byte* block : blocks) {
            toSystem(block);
        }
    }
}

std::byte* StoragePool::newBlock(std::size_t bytes)
{
    constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();
    if (bytes > kMost) { // the rounded size would wrap around
        return nullptr;
    }
    const std::size_t capacity = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
    if (std::byte* block = used == nullptr ? nullptr : used->take(capacity)) {
        return block;
    }
    std::byte* block = fromSystem(capacity);
    if (block == nullptr && used != nullptr && used->m_held > 0) {
        used->shrinkTo(0); // what lies in the pool is not needed
        block = fromSystem(capacity);
    }
    return block;
}

void StoragePool::dropBlock(std::byte* block)
{
    if (used == nullptr || !used->give(block)) {
        toSystem(block);
    }
}

std::byte* StoragePool::take(std::size_t bytes)
{
    const auto at = m_blocks.lower_bound(bytes);
    return at == m_blocks.end() || at->first / kMostTimes > bytes ? nullptr : takeAt(at);
}

std::byte* StoragePool::takeAt(Blocks::iterator at)
{
    std::byte* block = at->second.back();
    m_held -= at->first;
    at->second.pop_back();
    if (at->second.empty()) {
        m_blocks.erase(at);
    }
    return block;
}

std::size_t StoragePool::limit() const
{
    if (!m_fillsUpToPeak) {
        return m_most;
    }
    const base::MemoryAccount& account = base::MemoryAccount::tensors();
    const std::int64_t peak = std::max(account.peak(), m_peakBefore);
    const std::int64_t room = peak + peak / kPartOfPeak - account.live();
    return std::max(m_most / 4 * kQuartersBeyondPeak, static_cast<std::size_t>(std::max<std::int64_t>(room, 0)));
}

void StoragePool::shrinkTo(std::size_t bytes)
{
    while (m_held > bytes) {
        toSystem(takeAt(m_blocks.begin()));
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

bool StoragePool::give(std::byte* block)
{
    const std::size_t bytes = capacityOf(block);
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
