// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace retro::formats
{

/// Largest graph JSON that is read, and deepest nesting in it (a graph inside a node takes four levels).
inline constexpr std::size_t kMaxGraphJsonBytes = 512U << 20;
inline constexpr std::size_t kMaxGraphJsonDepth = 64;

/// Which tensor data is written.
enum class GraphJsonData {
    None, ///< types and shapes only; such a graph can be planned for, not run
    All   ///< every constant and tensor attribute
};

/// Reads Retrograde graph JSON (docs/formats/graph.md). Errors (Input) name file, line and field: not JSON, another
/// format or version, a missing or wrong field, a value that nobody declares, data that does not fit its shape, and
/// what graph::GraphBuilder refuses.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>> readGraphJson(const std::filesystem::path& path);
/// As readGraphJson, from memory; `where` is used in messages.
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>> parseGraphJson(std::string text,
                                                                               const std::string& where);

/// The graph as graph JSON: one node and one value a line. Reading it gives the same graph (with GraphJsonData::All).
[[nodiscard]] std::string toGraphJson(const graph::Graph& graph, GraphJsonData data = GraphJsonData::All);

} // namespace retro::formats
