// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/composite/composite.h"

#include <functional>
#include <vector>

namespace retro::lrp
{

/// The first layer of a composite (docs/composites.md, "The first layer").
struct FirstLayer
{
    /// The linear map; where it lies in the steps of an operator, all maps of the operator that read what it reads.
    std::vector<base::NodeId> maps;
    /// An operator that is taken apart and has it inside; `maps` are then of its steps and not known here.
    base::NodeId whole;
};

/// What is asked of a node: that it is a linear map which the matcher can mean.
using FitsNode = std::function<bool(const execute::BoundModel&, base::NodeId)>;

/// Where the first layer lies. `isBelow` per node: it depends on the input that the layer is looked for from. Operators
/// that `rewritten` (may be null) wrote out in steps count as whole ones.
[[nodiscard]] FirstLayer firstLayer(const execute::BoundModel& model, const std::vector<bool>& isBelow,
                                    const FitsNode& fits, const rewrite::Rewritten* rewritten);

/// The linear maps of an operator's steps that read what comes from outside, through no other of them. `isInside`: of
/// the nodes of `model` that are its steps.
[[nodiscard]] std::vector<base::NodeId> readingMaps(const execute::BoundModel& model, const FitsNode& fits,
                                                    const std::function<bool(base::NodeId)>& isInside);

} // namespace retro::lrp
