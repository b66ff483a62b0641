// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/elements.h"

#include <vector>

namespace retro::layout
{

/// A layer of the picture, from top to bottom: edges bend between the exit of one layer and the entry of the next.
struct LayerBand
{
    double entry = 0.0;  ///< frames that begin here have their title between entry and top
    double top = 0.0;    ///< boxes are centred between top …
    double bottom = 0.0; ///< … and bottom
    double exit = 0.0;   ///< frames that end here have their padding between bottom and exit
};

/// Where the components stand and where the layers are. Components fill rows; those of one row share their layers.
struct Packing
{
    std::vector<double> x;        ///< per element: centre, final
    std::vector<Index> layer;     ///< per layer of the elements: layer of the picture
    std::vector<LayerBand> bands; ///< per layer of the picture, top to bottom
    double width = 0.0;
    double height = 0.0;
};

/// Packs components in their order, row by row, and gives every layer its height; the picture starts at (0, 0).
[[nodiscard]] Packing packComponents(const LayoutInput& input, const Elements& elements, const Ranking& ranking,
                                     const LayoutOptions& options, std::vector<double> x);

/// How much room the frame of each group needs above its first layer (`before`) and below its last (`after`).
struct FrameRoom
{
    std::vector<double> before;
    std::vector<double> after;
};
/// The room of every group under these options.
[[nodiscard]] FrameRoom measureFrames(const Elements& elements, const LayoutOptions& options);

} // namespace retro::layout
