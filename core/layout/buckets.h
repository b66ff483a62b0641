// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/geometry.h"

#include <span>
#include <vector>

namespace retro::layout
{

/// Items grouped by a small key, in two flat arrays. Within a bucket the items keep the order in which they were
/// counted.
struct Buckets
{
    std::vector<Index> offsets; ///< bucket b is items[offsets[b] .. offsets[b + 1])
    std::vector<Index> items;

    [[nodiscard]] std::span<const Index> operator[](Index bucket) const
    {
        const auto first = static_cast<std::size_t>(offsets[static_cast<std::size_t>(bucket)]);
        const auto last = static_cast<std::size_t>(offsets[static_cast<std::size_t>(bucket) + 1]);
        return std::span(items).subspan(first, last - first);
    }
    /// Number of items in a bucket.
    [[nodiscard]] Index size(Index bucket) const { return offsets[bucket + 1] - offsets[bucket]; }
    [[nodiscard]] Index count() const { return static_cast<Index>(offsets.size()) - 1; }
};

/// Groups the items 0 … n-1 by keyOf(item), a bucket in [0, bucketCount) or kNone to leave the item out. O(n +
/// bucketCount).
template <class KeyOf>
[[nodiscard]] Buckets groupBy(Index itemCount, Index bucketCount, KeyOf keyOf)
{
    Buckets out;
    out.offsets.assign(static_cast<std::size_t>(bucketCount) + 1, 0);
    for (Index item = 0; item < itemCount; ++item) {
        if (const Index key = keyOf(item); key != kNone) {
            ++out.offsets[key + 1];
        }
    }
    for (Index bucket = 0; bucket < bucketCount; ++bucket) {
        out.offsets[bucket + 1] += out.offsets[bucket];
    }
    out.items.resize(static_cast<std::size_t>(out.offsets.back()));
    std::vector<Index> next(out.offsets.begin(), out.offsets.end() - 1);
    for (Index item = 0; item < itemCount; ++item) {
        if (const Index key = keyOf(item); key != kNone) {
            out.items[next[key]++] = item;
        }
    }
    return out;
}

} // namespace retro::layout
