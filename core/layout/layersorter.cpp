// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layersorter.h"

namespace retro::layout
{

LayerSorter::LayerSorter(Elements& elements)
    : m_elements(elements), m_contents(elements.groupParents.size() + 1), m_groupRank(elements.groupParents.size(), 0.0)
{}

void LayerSorter::orderGroups()
{
    std::vector<Index> members(m_groupRank.size(), 0);
    std::fill(m_groupRank.begin(), m_groupRank.end(), 0.0);
    for (Index e = 0; e < m_elements.count(); ++e) {
        if (m_elements.layer[e] == kNone || m_elements.kind[e] == ElementKind::Border) {
            continue;
        }
        const double place = (m_elements.position[e] + 0.5) / m_elements.layers.size(m_elements.layer[e]);
        for (Index group = m_elements.group[e]; group != kNone; group = m_elements.groupParents[group]) {
            m_groupRank[group] += place;
            ++members[group];
        }
    }
    for (std::size_t group = 0; group < members.size(); ++group) {
        m_groupRank[group] /= std::max<Index>(members[group], 1);
    }
}

bool LayerSorter::sort(Index l, const std::vector<double>& keys)
{
    m_sorted.clear();
    collect(l, keys);
    emit(l, m_contents[0]);
    const auto elements = m_elements.layerElements(l);
    const bool hasChanged = !std::equal(m_sorted.begin(), m_sorted.end(), elements.begin());
    if (hasChanged) {
        std::copy(m_sorted.begin(), m_sorted.end(), elements.begin());
        m_elements.updatePositions(l);
    }
    return hasChanged;
}

void LayerSorter::collect(Index l, const std::vector<double>& keys)
{
    std::size_t place = 0;
    for (const Index e : m_elements.layers[l]) {
        const double key = keys[place++];
        const Index group = m_elements.group[e];
        list(group);
        if (m_elements.kind[e] != ElementKind::Border) {
            m_contents[group + 1].items.push_back({key, e, false});
        }
        addKey(group, key);
    }
}

/// Enters a group, and those around it, into the items of the group around them.
void LayerSorter::list(Index group)
{
    while (group != kNone && !m_contents[group + 1].isListed) {
        m_contents[group + 1].isListed = true;
        const Index parent = m_elements.groupParents[group];
        m_contents[parent + 1].items.push_back({kNoKey, group, true});
        group = parent;
    }
}

void LayerSorter::addKey(Index group, double key)
{
    for (; key != kNoKey && group != kNone; group = m_elements.groupParents[group]) {
        m_contents[group + 1].keySum += key;
        ++m_contents[group + 1].keyCount;
    }
}

void LayerSorter::setGroupKeys(std::vector<Item>& items)
{
    for (Item& item : items) {
        if (item.isGroup && m_contents[item.index + 1].keyCount > 0) {
            item.key = m_contents[item.index + 1].keySum / m_contents[item.index + 1].keyCount;
        }
    }
}

/// Sorts the items that have a key into the places that such items hold now. Stable.
void LayerSorter::sortKeyed(std::vector<Item>& items)
{
    const auto isLess = [](const Item& a, const Item& b) { return a.key < b.key; };
    const auto hasKey = [](const Item& item) { return item.key != kNoKey; };
    m_scratch.clear();
    std::copy_if(items.begin(), items.end(), std::back_inserter(m_scratch), hasKey);
    if (std::is_sorted(m_scratch.begin(), m_scratch.end(), isLess)) {
        return;
    }
    std::stable_sort(m_scratch.begin(), m_scratch.end(), isLess);
    auto next = m_scratch.begin();
    for (Item& item : items) {
        if (hasKey(item)) {
            item = *next++;
        }
    }
}

/// Puts the groups among the items into their common order, in the places that groups hold.
void LayerSorter::restoreGroupOrder(std::vector<Item>& items)
{
    m_scratch.clear();
    std::copy_if(items.begin(), items.end(), std::back_inserter(m_scratch),
                 [](const Item& item) { return item.isGroup; });
    std::sort(m_scratch.begin(), m_scratch.end(), [&](const Item& a, const Item& b) {
        return std::pair(m_groupRank[a.index], a.index) < std::pair(m_groupRank[b.index], b.index);
    });
    auto next = m_scratch.begin();
    for (Item& item : items) {
        if (item.isGroup) {
            item = *next++;
        }
    }
}

/// Writes the items in their order, groups with their borders around them, and leaves the content empty for the next
/// layer.
void LayerSorter::emit(Index l, Content& content)
{
    setGroupKeys(content.items);
    sortKeyed(content.items);
    restoreGroupOrder(content.items);
    for (const Item& item : content.items) {
        if (!item.isGroup) {
            m_sorted.push_back(item.index);
            continue;
        }
        const GroupBorders& borders = m_elements.borders[item.index];
        m_sorted.push_back(borders.firstLeft + l - borders.firstLayer);
        emit(l, m_contents[item.index + 1]);
        m_sorted.push_back(borders.firstRight + l - borders.firstLayer);
    }
    content.items.clear();
    content.keySum = 0.0;
    content.keyCount = 0;
    content.isListed = false;
}

} // namespace retro::layout
