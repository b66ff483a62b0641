// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <string_view>

namespace retro::rewrite
{

/// A node's attribute of type T, or what it is when the node does not have it.
template <class T>
[[nodiscard]] T attributeOr(const graph::Node& node, std::string_view name, T fallback)
{
    const auto at = node.attributes.find(name);
    const T* value = at == node.attributes.end() ? nullptr : std::get_if<T>(&at->second);
    return value == nullptr ? std::move(fallback) : *value;
}

/// A whole number of a node, `fallback` where it has none of that name.
[[nodiscard]] inline std::int64_t intAttribute(const graph::Node& node, std::string_view name, std::int64_t fallback)
{
    return attributeOr<std::int64_t>(node, name, fallback);
}
/// A real number of a node, `fallback` where it has none of that name.
[[nodiscard]] inline double floatAttribute(const graph::Node& node, std::string_view name, double fallback)
{
    return attributeOr<double>(node, name, fallback);
}

} // namespace retro::rewrite
