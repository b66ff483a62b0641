// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

namespace retro::graph
{

/// A node whose operands and results have their ids in another graph.
[[nodiscard]] inline Node renumbered(Node node, const std::vector<ValueId>& ids)
{
    for (std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
        for (ValueId& value : *values) {
            value = value.isValid() ? ids[value.index()] : value;
        }
    }
    return node;
}

} // namespace retro::graph
