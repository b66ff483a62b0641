// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace retro::onnxschema
{
class NodeProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Metadata key under which a node's module path is kept: "block1/conv1".
inline constexpr std::string_view kScopeKey = "namespace";

/// True for well-formed UTF-8.
[[nodiscard]] bool isUtf8(std::string_view text);

/// "node 'conv1' (Conv)"; a node without a name is told by its first output.
[[nodiscard]] std::string placeOf(const onnxschema::NodeProto& node);

/// Module path from a node name whose parts are separated by '/': "/block1/conv1/Conv" → "block1/conv1".
[[nodiscard]] std::string scopeFromName(std::string_view name);

/// True when the node's metadata says its module path.
[[nodiscard]] bool hasScope(const onnxschema::NodeProto& node);

/// True for a metadata key that holds a module path.
[[nodiscard]] bool isScopeKey(std::string_view key);

/// What the node's metadata says beside its module path: stack trace, source operator. Entries that are not UTF-8 are
/// left out.
[[nodiscard]] std::map<std::string, std::string> metadataOf(const onnxschema::NodeProto& node);

/// Module path of a node, parts separated by '/': from its metadata, else from its name. Understands a plain path, a
/// list of enclosing modules with their types ("a: A/a.b: B/conv: aten.conv2d", innermost last) and a list of names in
/// brackets ("['', 'a', 'a.b', 'conv']"); in both lists the last entry is the call itself.
[[nodiscard]] std::string scopeOf(const onnxschema::NodeProto& node);

} // namespace retro::formats
