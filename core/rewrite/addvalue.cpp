// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/addvalue.h"

namespace retro::rewrite
{

using graph::Value;
using graph::ValueId;
using graph::ValueKind;

namespace
{

std::vector<graph::Dimension> dimensionsOf(const tensor::Shape& shape)
{
    std::vector<graph::Dimension> dimensions(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
        dimensions[i].extent = shape[i];
    }
    return dimensions;
}

} // namespace

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
        builder.declare(id, value.dtype, value.constant.isValid() ? dimensionsOf(value.constant.shape()) : value.shape);
        return id;
    case ValueKind::Result:
        id = builder.addResult(value.name);
        builder.declare(id, value.dtype, value.shape);
        return id;
    }
    return id;
}

} // namespace retro::rewrite
