// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxtypes.h"

#include "core/formats/onnxnames.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtensor.h"
#include "core/ops/numbertypes.h"

#include <fmt/format.h>

namespace retro::formats
{

using base::inputError;
using base::Result;
using onnxschema::TensorShapeProto;
using onnxschema::TypeProto;
using onnxschema::ValueInfoProto;

namespace
{

base::Error refusal(TypeProto::ValueCase kind)
{
    switch (kind) {
    case TypeProto::kSequenceType:
        return inputError("its type is a sequence; only tensors are supported");
    case TypeProto::kOptionalType:
        return inputError("its type is an optional; only tensors are supported");
    case TypeProto::kMapType:
        return inputError("its type is a map; only tensors are supported");
    case TypeProto::kSparseTensorType:
        return inputError("its type is a sparse tensor; only dense tensors are supported");
    case TypeProto::kOpaqueType:
        return inputError("its type is opaque; only tensors are supported");
    default:
        return inputError("it has no type", "field 'type'");
    }
}

/// Negative extents are written by some exporters for "unknown".
Result<graph::Dimension> readDimension(const TensorShapeProto::Dimension& dim)
{
    graph::Dimension dimension;
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
        dimension.extent = dim.dim_value();
    }
    if (dim.has_dim_param()) {
        if (!isUtf8(dim.dim_param())) {
            return inputError("the name of an axis is not valid text (UTF-8); the file is damaged", "field 'shape'");
        }
        dimension.symbol = dim.dim_param();
    }
    return dimension;
}

Result<std::vector<graph::Dimension>> readShape(const TensorShapeProto& shape)
{
    if (static_cast<std::size_t>(shape.dim_size()) > tensor::kMaxRank) {
        return inputError(fmt::format("it has {} axes; at most {} are read", shape.dim_size(), tensor::kMaxRank),
                          "field 'shape'");
    }
    std::vector<graph::Dimension> dimensions;
    for (const TensorShapeProto::Dimension& dim : shape.dim()) {
        RETRO_TRY(graph::Dimension dimension, readDimension(dim));
        dimensions.push_back(std::move(dimension));
    }
    return dimensions;
}

} // namespace

Result<DeclaredType> readType(const ValueInfoProto& info)
{
    if (!isUtf8(info.name()) || info.name().empty()) {
        return inputError("it has no valid name; the file is damaged");
    }
    if (!info.type().has_tensor_type()) {
        return refusal(info.type().value_case());
    }
    const TypeProto::Tensor& type = info.type().tensor_type();
    DeclaredType declared;
    RETRO_TRY(declared.dtype, dtypeOfOnnx(type.elem_type()));
    if (type.has_shape()) {
        RETRO_TRY(declared.shape, readShape(type.shape()));
    }
    return declared;
}

void writeType(const graph::Value& value, ValueInfoProto& info)
{
    info.set_name(value.name);
    TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(static_cast<int>(ops::onnxOf(value.dtype)));
    if (!value.shape) {
        return;
    }
    TensorShapeProto& shape = *type.mutable_shape(); // an empty shape is a scalar, a missing one is unknown
    for (const graph::Dimension& dimension : *value.shape) {
        TensorShapeProto::Dimension& dim = *shape.add_dim();
        if (dimension.extent) {
            dim.set_dim_value(*dimension.extent);
        } else if (!dimension.symbol.empty()) {
            dim.set_dim_param(dimension.symbol);
        }
    }
}

} // namespace retro::formats
