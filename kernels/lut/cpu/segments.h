// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/indexing.h"

#include <array>
#include <cstdint>
#include <vector>

namespace retro::lut::cpu
{

/// Bits of an item's number in a packed entry; the row takes the rest.
inline constexpr std::uint32_t kItemBits = 40;

/// Sorts items by row and hands out the runs of equal rows. Items of one row stay in the order in which they came.
class Segments
{
public:
    /// Forgets all items.
    void clear() { m_entries.clear(); }
    /// One more item of a row.
    void add(std::uint32_t row, std::uint64_t item) { m_entries.push_back(std::uint64_t{row} << kItemBits | item); }
    [[nodiscard]] std::size_t size() const { return m_entries.size(); }

    /// Calls f(row, items, count) for each run. Counting sort by twelve bits at a time: O(size · rowBits / 12).
    template <class F>
    void forEach(std::uint32_t rowBits, const F& f)
    {
        for (std::uint32_t low = 0; low < rowBits; low += kDigitBits) {
            sortBy(kItemBits + low);
        }
        m_items.resize(m_entries.size());
        for (std::size_t i = 0; i < m_entries.size(); ++i) {
            m_items[i] = m_entries[i] & ((std::uint64_t{1} << kItemBits) - 1);
        }
        for (std::size_t begin = 0, end = 0; begin < m_entries.size(); begin = end) {
            const std::uint64_t row = m_entries[begin] >> kItemBits;
            while (end < m_entries.size() && m_entries[end] >> kItemBits == row) {
                ++end;
            }
            f(static_cast<std::uint32_t>(row), m_items.data() + begin, end - begin);
        }
    }

private:
    static constexpr std::uint32_t kDigitBits = 12;

    void sortBy(std::uint32_t shift)
    {
        constexpr std::uint64_t kDigits = std::uint64_t{1} << kDigitBits;
        std::array<std::size_t, kDigits> starts{};
        for (const std::uint64_t entry : m_entries) {
            ++starts[entry >> shift & (kDigits - 1)];
        }
        std::size_t before = 0;
        for (std::size_t& start : starts) {
            const std::size_t count = start;
            start = before;
            before += count;
        }
        m_sorted.resize(m_entries.size());
        for (const std::uint64_t entry : m_entries) {
            m_sorted[starts[entry >> shift & (kDigits - 1)]++] = entry;
        }
        m_entries.swap(m_sorted);
    }

    std::vector<std::uint64_t> m_entries;
    std::vector<std::uint64_t> m_sorted;
    std::vector<std::uint64_t> m_items;
};

} // namespace retro::lut::cpu
