// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/elements.h"

#include <vector>

namespace retro::layout
{

/// Sorts the elements of one layer by a key, group by group: what belongs to a group stays between its borders, and
/// groups beside each other follow one order that holds for all layers. Elements without a key keep their place.
class LayerSorter
{
public:
    static constexpr double kNoKey = -1.0;

    explicit LayerSorter(Elements& elements);

    /// Decides the order of groups that stand beside each other, from the present positions of their members.
    void orderGroups();
    /// Sorts layer `l`; `keys` has one entry ≥ 0 or kNoKey per element of the layer, in the present order. True when it
    /// changed.
    bool sort(Index l, const std::vector<double>& keys);

private:
    /// An element, or a whole group, that is sorted inside the group around it.
    struct Item
    {
        double key = 0.0;
        Index index = kNone; ///< element; or group, when isGroup
        bool isGroup = false;
    };
    /// What a group holds in the layer that is being sorted; entry 0 is the whole layer, entry g + 1 is group g.
    struct Content
    {
        std::vector<Item> items; ///< in present order
        double keySum = 0.0;
        Index keyCount = 0;
        bool isListed = false; ///< stands in the items of the group around it
    };

    void collect(Index l, const std::vector<double>& keys);
    void list(Index group);
    void addKey(Index group, double key);
    void setGroupKeys(std::vector<Item>& items);
    void sortKeyed(std::vector<Item>& items);
    void restoreGroupOrder(std::vector<Item>& items);
    void emit(Index l, Content& content);

    Elements& m_elements;
    std::vector<Content> m_contents;
    std::vector<double> m_groupRank;
    std::vector<Item> m_scratch;
    std::vector<Index> m_sorted;
};

} // namespace retro::layout
