// SPDX-License-Identifier: Apache-2.0
#include "core/layout/edgeindex.h"

#include "core/layout/buckets.h"

#include <bit>

namespace retro::layout
{

namespace
{

Index classOf(LayerSpan span)
{
    return static_cast<Index>(std::bit_width(static_cast<std::uint32_t>(span.last - span.first + 1))) - 1;
}

} // namespace

EdgeIndex::EdgeIndex(const std::vector<LayerSpan>& spans, Index layerCount)
{
    const auto count = static_cast<Index>(spans.size());
    const Index classes = classOf({0, std::max<Index>(layerCount, 1) - 1}) + 1;
    const Buckets byFirst = groupBy(count, layerCount, [&](Index edge) { return spans[edge].first; });
    const Buckets byClass = groupBy(count, classes, [&](Index i) { return classOf(spans[byFirst.items[i]]); });
    m_entries.reserve(spans.size());
    for (const Index i : byClass.items) {
        m_entries.push_back({spans[byFirst.items[i]], byFirst.items[i]});
    }
    m_classStart = byClass.offsets;
}

void EdgeIndex::find(Index firstLayer, Index lastLayer, std::vector<Index>& out) const
{
    for (std::size_t c = 0; c + 1 < m_classStart.size(); ++c) {
        const Index earliest = firstLayer - static_cast<Index>((std::int64_t{2} << c) - 2); // longest span of the class
        const auto begin = m_entries.begin() + m_classStart[c];
        const auto end = m_entries.begin() + m_classStart[c + 1];
        auto at =
            std::lower_bound(begin, end, earliest, [](const Entry& e, Index layer) { return e.span.first < layer; });
        for (; at != end && at->span.first <= lastLayer; ++at) {
            if (at->span.last >= firstLayer) {
                out.push_back(at->edge);
            }
        }
    }
}

} // namespace retro::layout
