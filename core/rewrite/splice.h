// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/draft.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::rewrite
{

/// Puts the nodes of a graph into a draft.
struct Splice
{
    const graph::Graph& graph;
    std::span<const ValueId> inputs; ///< per input of `graph`: the value of the draft that it is
    std::string prefix;              ///< before names of nodes and values
    std::string scope;               ///< around those of nodes; may be empty
    /// The floating type that constants have in the model; none = as `graph` declares them.
    std::optional<tensor::DType> floatType = {};
};

/// Adds copies of all nodes. Returns, per output of `graph`, the value of the draft that holds it; `added` gets the
/// names of the new nodes.
std::vector<ValueId> splice(Draft& draft, const Splice& what, std::vector<std::string>& added);

/// Adds an Identity of `source` that makes `result`, which nobody makes any more. Returns its name.
std::string addIdentity(Draft& draft, ValueId source, ValueId result, const std::string& name);

} // namespace retro::rewrite
