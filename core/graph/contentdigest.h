// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <memory>
#include <string>

namespace retro::graph
{

/// As structuralHash(), with the data of constants: 32 hexadecimal digits of base::Hasher128.
[[nodiscard]] std::string contentDigest(const Graph& graph);

/// As contentDigest(), but constants that lie in a mapped file count by the name of that file, its size, the time of
/// its last change, their place in it and some of their pages: 64 in all of a file, spread over it, and at least one of
/// each constant. So a model of many gigabytes need not be read for it. A copy of the files has another one.
[[nodiscard]] std::string stampedDigest(const Graph& graph);

/// The two of a graph that is asked for again and again: the last answer is kept. Null has the empty digest.
[[nodiscard]] std::string contentDigest(const std::shared_ptr<const Graph>& graph);
/// As contentDigest().
[[nodiscard]] std::string stampedDigest(const std::shared_ptr<const Graph>& graph);

} // namespace retro::graph
