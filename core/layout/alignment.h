// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/elements.h"

namespace retro::layout
{

/// Elements that share one x: vertical runs over consecutive layers. Two blocks never cross, so "left of" has no cycle.
struct Blocks
{
    std::vector<Index> block; ///< per element; kNone for side lanes
    Buckets members;          ///< per block its elements, top layer first

    [[nodiscard]] Index count() const { return members.count(); }
};

/// Chooses which segments are drawn vertical. Where two would cross or share an end, the first of this list wins: sides
/// of a frame, a longest path of the component (its trunk), the longest way on from and to both ends (trunks of
/// branches), lanes, the rest; then the longer run, then the middle one of several readers.
[[nodiscard]] Blocks alignElements(const Elements& elements, const Ranking& ranking);

} // namespace retro::layout
