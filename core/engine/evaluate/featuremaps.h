// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/evaluate/subject.h"

#include <string>

namespace retro::engine
{

/// A value with channels and places: a feature map.
struct FeatureMap
{
    std::string name;
    std::size_t channels = 1; ///< the axis that has them; the others, but for the first one, are places
};

/// The feature map that a target is explained by: the value of that name, else the last one before the target with more
/// than one place (what pooling over all places reads). Errors (Usage): no such value; one whose axes nothing names; no
/// such value before the target, or a target that has places itself.
[[nodiscard]] base::Result<FeatureMap> featureMapOf(const execute::BoundModel& model, base::ValueId target,
                                                    const std::string& wanted);

} // namespace retro::engine
