// SPDX-License-Identifier: Apache-2.0
#include "core/layout/ordering.h"

#include <limits>
#include <vector>

namespace retro::layout
{

namespace
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

constexpr std::size_t kFewSegments = 24;
constexpr int kPatience = 3;
constexpr int kMaxExchangeRounds = 4;

/// Positions of the far ends of the segments of one element, ascending.
void collectEnds(const Elements& elements, std::span<const Index> segments, Index Segment::*end,
                 std::vector<Index>& out)
{
    const std::size_t first = out.size();
    for (const Index segment : segments) {
        out.push_back(elements.position[elements.segments[segment].*end]);
    }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
}

std::int64_t inversionsByPairs(const std::vector<Index>& ends)
{
    std::int64_t total = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        for (std::size_t j = i + 1; j < ends.size(); ++j) {
            total += ends[i] > ends[j] ? 1 : 0;
        }
    }
    return total;
}

/// Counts by a tree of prefix sums over the positions.
std::int64_t inversionsByTree(const std::vector<Index>& ends, Index positions)
{
    std::vector<Index> tree(static_cast<std::size_t>(positions) + 1, 0);
    std::int64_t total = 0;
    Index seen = 0;
    for (const Index end : ends) {
        Index notRight = 0;
        for (Index i = end + 1; i > 0; i -= i & -i) {
            notRight += tree[i];
        }
        total += seen++ - notRight;
        for (Index i = end + 1; i <= positions; i += i & -i) {
            ++tree[i];
        }
    }
    return total;
}

/// State of the search for a good order.
class Search
{
public:
    Search(Elements& elements, bool lanesFirst, const std::stop_token& stop)
        : m_elements(elements), m_sorter(elements), m_stop(stop), m_lanesFirst(lanesFirst),
          m_crossings(static_cast<std::size_t>(elements.layerCount()), 0), m_hasMoved(m_crossings.size(), true)
    {}

    bool run(int sweeps)
    {
        startDepthFirst();
        sweepInPlace();
        recount();
        keepBest();
        int stale = 0;
        for (int i = 0; i < sweeps && m_best > 0 && stale < kPatience; ++i) {
            sweep(i % 2 == 0);
            if (m_stop.stop_requested()) {
                return false;
            }
            recount();
            stale = keepBest() ? 0 : stale + 1;
        }
        if (m_best != m_total) {
            restoreBest();
        }
        exchangeNeighbours();
        return !m_stop.stop_requested();
    }

private:
    /// Layers filled in the order of a depth-first walk: subtrees stay together, lanes go to the right of their
    /// source's readers, or to the left.
    void startDepthFirst()
    {
        std::vector<Index> filled(m_crossings.size(), 0);
        std::vector<bool> seen(m_elements.kind.size(), false);
        std::vector<Index> stack;
        for (Index root = 0; root < m_elements.count(); ++root) {
            if (m_elements.layer[root] == kNone || m_elements.up.size(root) > 0) {
                continue;
            }
            stack.push_back(root);
            while (!stack.empty()) {
                const Index e = stack.back();
                stack.pop_back();
                if (!seen[e]) {
                    seen[e] = true;
                    place(e, filled[m_elements.layer[e]]++);
                    pushReaders(e, stack);
                }
            }
        }
    }

    void place(Index e, Index position)
    {
        m_elements.layerElements(m_elements.layer[e])[static_cast<std::size_t>(position)] = e;
        m_elements.position[e] = position;
    }

    void pushReaders(Index e, std::vector<Index>& stack) const
    {
        const auto down = m_elements.down[e];
        const auto push = [&](bool lanes) {
            for (std::size_t i = down.size(); i-- > 0;) {
                const Index reader = m_elements.segments[down[i]].lower;
                if (!m_lanesFirst || lanes == (m_elements.kind[reader] == ElementKind::Lane)) {
                    stack.push_back(reader);
                }
            }
        };
        push(false);
        if (m_lanesFirst) {
            push(true); // comes off the stack first
        }
    }

    /// Brings groups together without any other change.
    void sweepInPlace()
    {
        if (m_elements.groupParents.empty()) {
            return;
        }
        m_sorter.orderGroups();
        for (Index l = 0; l < m_elements.layerCount(); ++l) {
            sortInPlace(l);
        }
    }

    void sortInPlace(Index l)
    {
        m_keys.clear();
        for (const Index e : m_elements.layers[l]) {
            m_keys.push_back(m_elements.kind[e] == ElementKind::Border ? LayerSorter::kNoKey : m_elements.position[e]);
        }
        noteMove(l, m_sorter.sort(l, m_keys));
    }

    void noteMove(Index l, bool hasMoved)
    {
        if (hasMoved) {
            m_hasMoved[l] = true;
        }
    }

    /// One barycentre pass; ends early when stopped.
    void sweep(bool isDownwards)
    {
        const Index last = m_elements.layerCount() - 1;
        if (!m_elements.groupParents.empty()) {
            m_sorter.orderGroups();
            sortInPlace(isDownwards ? 0 : last);
        }
        for (Index i = 1; i <= last && !isStopped(i); ++i) {
            sortByNeighbours(isDownwards ? i : last - i, isDownwards);
        }
    }

    [[nodiscard]] bool isStopped(Index layer) const { return layer % 256 == 0 && m_stop.stop_requested(); }

    void sortByNeighbours(Index l, bool isDownwards)
    {
        if (m_elements.layers.size(l) < 2) {
            return;
        }
        m_keys.clear();
        for (const Index e : m_elements.layers[l]) {
            m_keys.push_back(isDownwards ? barycentre(m_elements.up[e], &Segment::upper)
                                         : barycentre(m_elements.down[e], &Segment::lower));
        }
        noteMove(l, m_sorter.sort(l, m_keys));
    }

    [[nodiscard]] double barycentre(std::span<const Index> segments, Index Segment::*end) const
    {
        if (segments.empty()) {
            return LayerSorter::kNoKey;
        }
        std::int64_t sum = 0;
        for (const Index segment : segments) {
            sum += m_elements.position[m_elements.segments[segment].*end];
        }
        return static_cast<double>(sum) / static_cast<double>(segments.size());
    }

    /// Counts again where a layer moved.
    void recount()
    {
        for (Index l = 0; l + 1 < m_elements.layerCount(); ++l) {
            if (m_hasMoved[l] || m_hasMoved[l + 1]) {
                m_total -= m_crossings[l];
                m_crossings[l] = countCrossings(m_elements, l);
                m_total += m_crossings[l];
            }
        }
        std::fill(m_hasMoved.begin(), m_hasMoved.end(), false);
    }

    bool keepBest()
    {
        if (m_total >= m_best) {
            return false;
        }
        m_best = m_total;
        m_bestOrder = m_elements.layers.items;
        return true;
    }

    void restoreBest()
    {
        m_elements.layers.items = m_bestOrder;
        for (Index l = 0; l < m_elements.layerCount(); ++l) {
            m_elements.updatePositions(l);
        }
        std::fill(m_hasMoved.begin(), m_hasMoved.end(), true);
        recount();
    }

    void exchangeNeighbours()
    {
        bool hasMoved = true;
        for (int round = 0; round < kMaxExchangeRounds && hasMoved && m_total > 0 && !m_stop.stop_requested();
             ++round) {
            hasMoved = exchangeInCrossedLayers();
            recount();
        }
    }

    bool exchangeInCrossedLayers()
    {
        bool hasMoved = false;
        for (Index l = 0; l < m_elements.layerCount(); ++l) {
            const bool isCrossed = m_crossings[l] > 0 || (l > 0 && m_crossings[l - 1] > 0);
            if (isCrossed && exchangeIn(l)) {
                m_hasMoved[l] = hasMoved = true;
            }
        }
        return hasMoved;
    }

    bool exchangeIn(Index l)
    {
        bool hasMoved = false;
        const auto elements = m_elements.layerElements(l);
        for (std::size_t i = 0; i + 1 < elements.size(); ++i) {
            if (mayExchange(elements[i], elements[i + 1]) && gain(elements[i], elements[i + 1]) > 0) {
                std::swap(elements[i], elements[i + 1]);
                std::swap(m_elements.position[elements[i]], m_elements.position[elements[i + 1]]);
                hasMoved = true;
            }
        }
        return hasMoved;
    }

    [[nodiscard]] bool mayExchange(Index a, Index b) const
    {
        return m_elements.group[a] == m_elements.group[b] && m_elements.kind[a] != ElementKind::Border &&
               m_elements.kind[b] != ElementKind::Border;
    }

    /// Crossings that vanish when b goes to the left of a.
    [[nodiscard]] std::int64_t gain(Index a, Index b)
    {
        return gainAt(m_elements.up[a], m_elements.up[b], &Segment::upper) +
               gainAt(m_elements.down[a], m_elements.down[b], &Segment::lower);
    }

    [[nodiscard]] std::int64_t gainAt(std::span<const Index> ofA, std::span<const Index> ofB, Index Segment::*end)
    {
        m_endsA.clear();
        m_endsB.clear();
        collectEnds(m_elements, ofA, end, m_endsA);
        collectEnds(m_elements, ofB, end, m_endsB);
        return pairsRightOf(m_endsA, m_endsB) - pairsRightOf(m_endsB, m_endsA);
    }

    /// Pairs with x of `right` > y of `left`; both ascending.
    [[nodiscard]] static std::int64_t pairsRightOf(const std::vector<Index>& right, const std::vector<Index>& left)
    {
        std::int64_t total = 0;
        std::size_t smaller = 0;
        for (const Index x : right) {
            while (smaller < left.size() && left[smaller] < x) {
                ++smaller;
            }
            total += static_cast<std::int64_t>(smaller);
        }
        return total;
    }

    Elements& m_elements;
    LayerSorter m_sorter;
    const std::stop_token& m_stop;
    bool m_lanesFirst = false;
    std::vector<std::int64_t> m_crossings; // per layer: with the layer below
    std::vector<bool> m_hasMoved;
    std::int64_t m_total = 0;
    std::int64_t m_best = std::numeric_limits<std::int64_t>::max();
    std::vector<Index> m_bestOrder;
    std::vector<double> m_keys;
    std::vector<Index> m_endsA;
    std::vector<Index> m_endsB;
};

} // namespace

std::int64_t countCrossings(const Elements& elements, Index layer)
{
    if (elements.layers.size(layer) < 2 || elements.layers.size(layer + 1) < 2) {
        return 0;
    }
    std::vector<Index> ends;
    for (const Index e : elements.layers[layer]) {
        collectEnds(elements, elements.down[e], &Segment::lower, ends);
    }
    return ends.size() <= kFewSegments ? inversionsByPairs(ends)
                                       : inversionsByTree(ends, elements.layers.size(layer + 1));
}

bool orderLayers(Elements& elements, const LayoutOptions& options, const std::stop_token& stop)
{
    Search search(elements, options.lanesFirst, stop);
    return elements.layerCount() == 0 || search.run(options.sweeps);
}

} // namespace retro::layout
