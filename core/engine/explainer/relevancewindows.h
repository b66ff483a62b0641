// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explainer/relevancesite.h"

#include <cstdint>
#include <vector>

namespace retro::engine
{

/// Windows over the spatial axes of an image (batch × channels × spatial …), as attributes and shapes say them. One
/// entry per axis; pads have two, begins first.
struct RelevanceWindows
{
    std::vector<std::int64_t> kernel;
    std::vector<std::int64_t> strides;
    std::vector<std::int64_t> dilations;
    std::vector<std::int64_t> pads;
    std::vector<std::int64_t> missing; ///< of the image, at its end, that no window reaches; where extents are known
    bool hasFreeExtents = false;

    /// Of a node whose windows run over `image` and give `windows` (ids in the model). Errors (Input): pads that
    /// follow from free extents, rounding up that adds a window.
    [[nodiscard]] static base::Result<RelevanceWindows> of(const RelevanceSite& site, std::vector<std::int64_t> kernel,
                                                           graph::ValueId image, graph::ValueId windows);

    [[nodiscard]] std::size_t axes() const { return kernel.size(); }
    /// Attributes of a Conv with these windows.
    [[nodiscard]] graph::Attributes attributes(std::int64_t group) const;
    /// The transposed map of a Conv with `weight`: from windows to an image of the shape of `like`.
    [[nodiscard]] ValueId spreadBack(RelevanceSteps& steps, ValueId value, ValueId weight, std::int64_t group,
                                     ValueId like) const;
    /// True when the transposed map of a Conv is a Conv of the turned weight, too: every stride is 1, and no padding is
    /// wider than the kernel reaches. Runtimes are faster at it than at ConvTranspose.
    [[nodiscard]] bool canTurn() const;
    /// Attributes of that Conv; its result has the extents of the image, also where these are free.
    [[nodiscard]] graph::Attributes turnedAttributes(std::int64_t group) const;
};

} // namespace retro::engine
