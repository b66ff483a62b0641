// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/composite/composite.h"
#include "core/tape/model/modeltape.h"

#include <memory>

namespace retro::engine
{

/// The reverse rule of every node is its derivative. Nodes that pass no gradient give none.
[[nodiscard]] tape::ModelRule gradientRule(std::shared_ptr<const execute::BoundModel> model);

/// The reverse rule of every node is the relevance rule that a composite assigned to it. Nodes without one give none.
[[nodiscard]] tape::ModelRule relevanceRule(std::shared_ptr<const execute::BoundModel> model,
                                            std::shared_ptr<const lrp::RuleAssignment> rules);

} // namespace retro::engine
