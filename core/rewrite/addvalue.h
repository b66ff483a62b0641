// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graphbuilder.h"

namespace retro::rewrite
{

/// Adds a copy of a value to a builder, as an input, constant or result there; tensors are shared.
graph::ValueId addValue(graph::GraphBuilder& builder, const graph::Value& value, graph::ValueKind kind);

} // namespace retro::rewrite
