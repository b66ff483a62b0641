// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash128.h"
#include "core/layout/layeredlayout.h"
#include "core/layout/layoutinput.h"

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace retro::layout
{

/// True when a layout has a place for every box, edge and frame of an input, and the boxes have its sizes.
[[nodiscard]] bool fits(const LayeredLayout& layout, const LayoutInput& input);

/// Layouts in memory, by layoutKey(): what is built alike is laid out once. Beyond a number of boxes those that were
/// not asked for longest go. Safe to share between threads.
class LayoutMemo
{
public:
    explicit LayoutMemo(std::size_t mostBoxes = kMostBoxes) : m_mostBoxes(mostBoxes) {}

    /// The layout of that key if it fits the input, else null.
    [[nodiscard]] std::shared_ptr<const LayeredLayout> find(base::Hash128 key, const LayoutInput& input);
    /// Keeps a layout. One that alone exceeds the bound is not kept.
    void add(base::Hash128 key, std::shared_ptr<const LayeredLayout> layout);

    /// How often add() was called, and how often find() found something.
    [[nodiscard]] std::size_t made() const;
    [[nodiscard]] std::size_t reused() const;

    static constexpr std::size_t kMostBoxes = 200'000; ///< some 50 MB with their edges

private:
    struct Entry
    {
        base::Hash128 key;
        std::shared_ptr<const LayeredLayout> layout;
    };

    mutable std::mutex m_mutex;
    std::size_t m_mostBoxes;
    std::size_t m_boxes = 0;
    std::size_t m_made = 0;
    std::size_t m_reused = 0;
    std::list<Entry> m_entries; // used last comes first
    std::unordered_map<base::Hash128, std::list<Entry>::iterator> m_byKey;
};

} // namespace retro::layout
