// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/addvalue.h"

#include "core/graph/dimensions.h"

namespace retro::rewrite
{

using graph::Value;
using graph::ValueId;
using graph::ValueKind;

ValueId addValue(graph::GraphBuilder& builder, const Value& value, ValueKind kind)
{
    ValueId id;
    switch (kind) {
    case ValueKind::Input:
        id = builder.addInput(value.name, value.dtype, value.shape);
        builder.give(id, value.given);
        return id;
    case ValueKind::Constant:
        id = builder.addConstant(value.name, value.constant);
        builder.declare(id, value.dtype,
                        value.constant.isValid() ? graph::dimensionsOf(value.constant.shape()) : value.shape);
        return id;
    case ValueKind::Result:
        id = builder.addResult(value.name);
        builder.declare(id, value.dtype, value.shape);
        return id;
    }
    return id;
}

} // namespace retro::rewrite
