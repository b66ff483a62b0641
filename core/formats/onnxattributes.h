// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/attribute.h"

#include <filesystem>

namespace retro::onnxschema
{
class AttributeProto;
class NodeProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// The attributes of a node. Errors (Input) name the attribute: nested graphs, sparse tensors, lists of tensors, types
/// and references are refused.
[[nodiscard]] base::Result<graph::Attributes> readAttributes(const onnxschema::NodeProto& node,
                                                             const std::filesystem::path& folder);

/// Writes one attribute.
void writeAttribute(const std::string& name, const graph::Attribute& value, onnxschema::AttributeProto& proto);

/// The tensor of a Constant node, whichever attribute holds it. Errors (Input) name the attribute.
[[nodiscard]] base::Result<tensor::Tensor> readConstantNode(const onnxschema::NodeProto& node,
                                                            const std::filesystem::path& folder);

} // namespace retro::formats
