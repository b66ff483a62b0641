// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layoutmemo.h"

#include <algorithm>
#include <utility>

namespace retro::layout
{

bool fits(const LayeredLayout& layout, const LayoutInput& input)
{
    const bool hasAll = layout.nodes.size() == input.nodeSizes.size() &&
                        layout.edgeSpans.size() == input.edges.size() &&
                        layout.groups.size() == input.groupParents.size();
    return hasAll && std::equal(layout.nodes.begin(), layout.nodes.end(), input.nodeSizes.begin(),
                                [](const Rect& box, const Size& size) {
                                    return box.width == size.width && box.height == size.height;
                                });
}

std::shared_ptr<const LayeredLayout> LayoutMemo::find(base::Hash128 key, const LayoutInput& input)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_byKey.find(key);
    if (found == m_byKey.end() || !fits(*found->second->layout, input)) {
        return nullptr;
    }
    ++m_reused;
    m_entries.splice(m_entries.begin(), m_entries, found->second);
    return found->second->layout;
}

void LayoutMemo::add(base::Hash128 key, std::shared_ptr<const LayeredLayout> layout)
{
    const std::lock_guard lock(m_mutex);
    ++m_made;
    const std::size_t boxes = layout->nodes.size();
    if (boxes > m_mostBoxes || m_byKey.contains(key)) {
        return;
    }
    m_boxes += boxes;
    m_entries.push_front({key, std::move(layout)});
    m_byKey[key] = m_entries.begin();
    while (m_boxes > m_mostBoxes) {
        m_boxes -= m_entries.back().layout->nodes.size();
        m_byKey.erase(m_entries.back().key);
        m_entries.pop_back();
    }
}

std::size_t LayoutMemo::made() const
{
    const std::lock_guard lock(m_mutex);
    return m_made;
}

std::size_t LayoutMemo::reused() const
{
    const std::lock_guard lock(m_mutex);
    return m_reused;
}

} // namespace retro::layout
