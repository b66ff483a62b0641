// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <string_view>
#include <utility>

namespace retro::graph
{

/// A node's attribute of type T; null when the node has none of that name, or one of another type.
template <class T>
[[nodiscard]] const T* attributeOf(const Node& node, std::string_view name)
{
    const auto at = node.attributes.find(name);
    return at == node.attributes.end() ? nullptr : std::get_if<T>(&at->second);
}

/// What that attribute is, `fallback` where attributeOf() has none.
template <class T>
[[nodiscard]] T attributeOr(const Node& node, std::string_view name, T fallback)
{
    const T* value = attributeOf<T>(node, name);
    return value == nullptr ? std::move(fallback) : *value;
}

/// The same of a whole number.
[[nodiscard]] inline std::int64_t intAttribute(const Node& node, std::string_view name, std::int64_t fallback)
{
    return attributeOr(node, name, fallback);
}
/// The same of a real number.
[[nodiscard]] inline double floatAttribute(const Node& node, std::string_view name, double fallback)
{
    return attributeOr(node, name, fallback);
}
/// The same of a list of whole numbers: empty where the node has none.
[[nodiscard]] inline std::vector<std::int64_t> intsAttribute(const Node& node, std::string_view name)
{
    return attributeOr<std::vector<std::int64_t>>(node, name, {});
}
/// The same of a text: empty where the node has none.
[[nodiscard]] inline std::string textAttribute(const Node& node, std::string_view name)
{
    return attributeOr<std::string>(node, name, {});
}
/// True where a whole number says yes.
[[nodiscard]] inline bool isSet(const Node& node, std::string_view name) { return intAttribute(node, name, 0) != 0; }

} // namespace retro::graph
