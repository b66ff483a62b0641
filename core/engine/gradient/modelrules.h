// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/composite/composite.h"
#include "core/tape/model/modeltape.h"

#include <memory>

namespace retro::engine
{

/// The reverse rule of every node is its derivative. Nodes that pass no gradient give none.
[[nodiscard]] tape::ModelRule gradientRule(std::shared_ptr<const execute::BoundModel> model);

} // namespace retro::engine
