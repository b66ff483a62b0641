// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/layeredlayout.h"
#include "core/layout/layoutinput.h"

namespace retro::layout
{

/// Fills layers, layerNodes, nodeLayers, edgeSpans and edgeIndex from the places of the boxes: boxes of the same top
/// and bottom share a layer. Layers go from top to bottom, both sides rising; where neighbours stand at different
/// heights they overlap in y. Edges must run downwards. O(nodes log nodes + edges).
void indexLayers(const LayoutInput& input, LayeredLayout& layout);

} // namespace retro::layout
