// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/layout/buckets.h"
#include "core/layout/layoutinput.h"

namespace retro::layout
{

/// Which layer each node is in. The layers of unconnected parts ("components") are numbered one after the other, so
/// that everything after ranking works on one tall list of layers and never needs to know where a component ends.
struct Ranking
{
    std::vector<Index> component;      ///< per node; 0 is the largest
    std::vector<Index> layer;          ///< per node
    std::vector<Index> componentLayer; ///< per component its first layer; one more entry: the number of layers
    std::vector<Index> above;          ///< per node: edges on the longest path that ends in it
    std::vector<Index> below;          ///< per node: edges on the longest path that starts in it

    [[nodiscard]] Index componentCount() const { return static_cast<Index>(componentLayer.size()) - 1; }
    [[nodiscard]] Index layerCount() const { return componentLayer.back(); }
};

/// Longest-path layers: sources that begin a longest path are on top; other sources (masks, constants) and what depends
/// on them alone hang directly above their first reader. Nodes of one group always share a component. O(nodes + edges).
/// Errors (Input): an edge to a missing node, a node that feeds itself, a cycle (the message lists its nodes), a group
/// that is its own parent.
[[nodiscard]] base::Result<Ranking> rankNodes(const LayoutInput& input);

} // namespace retro::layout
