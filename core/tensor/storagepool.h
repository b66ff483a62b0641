// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace retro::tensor
{

/// Memory of tensors that were let go, for the next tensors of the same size or a little less: a program that runs
/// again and again asks for the same sizes in the same order. While a Use lives, the tensors of its thread take their
/// bytes from the pool and give them back to it; a tensor may outlive both. What lies in a pool counts for no memory
/// account. Used by one thread at a time.
class StoragePool
{
public:
    /// `mostBytes`: what would go beyond is returned to the system.
    explicit StoragePool(std::size_t mostBytes = std::size_t{64} << 20U) : m_most(mostBytes) {}
    /// The pool keeps what fits below the most that tensors have taken at once in this use or the one before it and a
    /// sixteenth, and three quarters of `mostBytes` in any case: a run that lets go what it reads no more then asks the
    /// system for next to nothing that a run before had, and takes little more at once. The most of a use is that of
    /// the account, whose highest value its owner resets. When that is not allowed any more, what lies beyond
    /// `mostBytes` is returned.
    void fillUpToPeak(bool isAllowed);
    ~StoragePool();
    StoragePool(const StoragePool&) = delete;
    StoragePool& operator=(const StoragePool&) = delete;

    /// A block for a tensor of so many bytes, from the thread's pool where that has one; null when the system has
    /// no memory, also with what lies in the pool.
    [[nodiscard]] static std::byte* newBlock(std::size_t bytes);
    /// Gives a block of newBlock() to the thread's pool, or to the system where that has no room.
    static void dropBlock(std::byte* block);
    /// Bytes that lie in the pool.
    [[nodiscard]] std::size_t held() const { return m_held; }
    /// The pool that the calling thread uses; null when none.
    [[nodiscard]] static StoragePool* current();

    /// Makes the calling thread use a pool until this is destroyed; what it keeps beyond its limit then is returned.
    class Use
    {
    public:
        explicit Use(StoragePool& pool);
        ~Use();
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

    private:
        StoragePool* m_pool;
        StoragePool* m_before;
    };

private:
    using Blocks = std::map<std::size_t, std::vector<std::byte*>>; // by size; none is empty

    std::byte* takeAt(Blocks::iterator at);
    /// The smallest block that holds `bytes` and is not much larger; null when there is none.
    [[nodiscard]] std::byte* take(std::size_t bytes);
    /// False when the pool is full.
    [[nodiscard]] bool give(std::byte* block);
    /// Bytes that the pool may hold at this moment.
    [[nodiscard]] std::size_t limit() const;
    void shrinkTo(std::size_t bytes);
    /// The next use is another one: remembers what this one took.
    void endUse();

    Blocks m_blocks;
    std::size_t m_held = 0;
    std::size_t m_most;
    std::int64_t m_peakBefore = 0; ///< of the use before this one
    bool m_fillsUpToPeak = false;
};

} // namespace retro::tensor
