// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace retro::trace
{

/// An array whose copies share their elements in blocks of `Block`; a block is copied when it is written while shared.
/// Copying costs one reference per block, so that a keyframe of a large state is cheap in time and memory. Reading is
/// by index or range-for; writing goes through edit(). Copies may live in different threads; one copy may not.
template <class T, std::size_t Block>
class CowVector
{
public:
    class Iterator
    {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = const T*;
        using reference = const T&;

        Iterator() = default;
        Iterator(const CowVector* owner, std::size_t at) : m_owner(owner), m_at(at) {}
        reference operator*() const { return (*m_owner)[m_at]; }
        pointer operator->() const { return &(*m_owner)[m_at]; }
        Iterator& operator++()
        {
            ++m_at;
            return *this;
        }
        Iterator operator++(int)
        {
            Iterator before = *this;
            ++m_at;
            return before;
        }
        bool operator==(const Iterator& other) const { return m_at == other.m_at; }

    private:
        const CowVector* m_owner = nullptr;
        std::size_t m_at = 0;
    };

    CowVector() = default;
    explicit CowVector(std::size_t size) { resize(size); }

    [[nodiscard]] std::size_t size() const { return m_size; }
    [[nodiscard]] bool empty() const { return m_size == 0; }
    [[nodiscard]] const T& operator[](std::size_t i) const
    {
        base::guard(i < m_size, "an element that is read is there");
        return m_blocks[i / Block]->items[i % Block];
    }
    [[nodiscard]] const T& back() const { return (*this)[m_size - 1]; }
    [[nodiscard]] Iterator begin() const { return {this, 0}; }
    [[nodiscard]] Iterator end() const { return {this, m_size}; }

    /// The element for writing; copies its block first when another CowVector shares it. The reference is good until
    /// this array is copied.
    [[nodiscard]] T& edit(std::size_t i)
    {
        base::guard(i < m_size, "an element that is written is there");
        return m_blocks[i / Block].unshared().items[i % Block];
    }
    void push_back(T item)
    {
        resize(m_size + 1);
        edit(m_size - 1) = std::move(item);
    }
    void pop_back()
    {
        edit(m_size - 1) = T();
        resize(m_size - 1);
    }
    /// New elements are default-constructed; removed ones must have been reset by their owner.
    void resize(std::size_t size)
    {
        m_blocks.resize((size + Block - 1) / Block);
        m_size = size;
    }

    bool operator==(const CowVector& other) const
    {
        if (m_size != other.m_size) {
            return false;
        }
        for (std::size_t i = 0; i < m_size; ++i) {
            if (i % Block == 0 && m_blocks[i / Block].isSameAs(other.m_blocks[i / Block])) {
                i += Block - 1;
            } else if (!((*this)[i] == other[i])) {
                return false;
            }
        }
        return true;
    }

    /// Calls `visit(item)` for every element of the blocks that `other` does not share.
    template <class Visit>
    void forEachUnshared(const CowVector& other, Visit&& visit) const
    {
        for (std::size_t b = 0; b < m_blocks.size(); ++b) {
            if (b < other.m_blocks.size() && m_blocks[b].isSameAs(other.m_blocks[b])) {
                continue;
            }
            for (const T& item : m_blocks[b]->items) {
                visit(item);
            }
        }
    }
    [[nodiscard]] std::size_t blockCount() const { return m_blocks.size(); }

private:
    struct Items
    {
        std::atomic<std::uint32_t> references{1};
        std::array<T, Block> items{};
    };

    /// Shares one block. The count is acquired before a block is written in place, so that everything that other owners
    /// read from it has been read.
    class BlockPointer
    {
    public:
        BlockPointer() : m_items(new Items) {}
        BlockPointer(const BlockPointer& other) noexcept : m_items(other.m_items)
        {
            m_items->references.fetch_add(1, std::memory_order_relaxed);
        }
        BlockPointer(BlockPointer&& other) noexcept : m_items(std::exchange(other.m_items, nullptr)) {}
        BlockPointer& operator=(BlockPointer other) noexcept
        {
            std::swap(m_items, other.m_items);
            return *this;
        }
        ~BlockPointer()
        {
            if (m_items != nullptr && m_items->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                delete m_items;
            }
        }
        const Items* operator->() const { return m_items; }
        [[nodiscard]] bool isSameAs(const BlockPointer& other) const { return m_items == other.m_items; }
        [[nodiscard]] Items& unshared()
        {
            if (m_items->references.load(std::memory_order_acquire) != 1) {
                BlockPointer copy;
                copy.m_items->items = m_items->items;
                *this = std::move(copy);
            }
            return *m_items;
        }

    private:
        Items* m_items;
    };

    std::vector<BlockPointer> m_blocks;
    std::size_t m_size = 0;
};

} // namespace retro::trace
