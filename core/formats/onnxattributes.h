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

/// The attributes of a node but for nested graphs, which are the caller's to read. Errors (Input) name the attribute:
/// sparse tensors, lists of tensors or graphs, types and references are refused.
[[nodiscard]] base::Result<graph::Attributes> readAttributes(const onnxschema::NodeProto& node,
                                                             const std::filesystem::path& folder);

/// Writes one attribute; of a graph only the type, its nodes are the caller's to write.
void writeAttribute(const std::string& name, const graph::Attribute& value, onnxschema::AttributeProto& proto);

/// The tensor of a Constant node, whichever attribute holds it. Errors (Input) name the attribute.
[[nodiscard]] base::Result<tensor::Tensor> readConstantNode(const onnxschema::NodeProto& node,
                                                            const std::filesystem::path& folder);

} // namespace retro::formats
