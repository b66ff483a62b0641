// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

#include <string>

namespace retro::engine
{

/// A planning graph as JSON: `values` and `ops`, each a list of its members in a fixed order. For run files, which keep
/// what a plan was made for.
[[nodiscard]] std::string toOpGraphJson(const analysis::OpGraph& graph);
/// Reads it back; `where` is used in messages. Errors (Input): not JSON, a member that is missing or of another type,
/// what OpGraph::make refuses.
[[nodiscard]] base::Result<analysis::OpGraph> parseOpGraphJson(std::string text, const std::string& where);

} // namespace retro::engine
