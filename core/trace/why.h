// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/nodesteps.h"
#include "core/trace/timeline.h"

#include <optional>
#include <string>
#include <vector>

namespace retro::trace
{

/// An in-edge at which nothing has landed yet.
struct MissingEdge
{
    std::uint32_t slot = 0; ///< in-edge of the node
    NodeId consumer;        ///< who sends over it; invalid when the run ends before that
    bool operator==(const MissingEdge&) const = default;
};

/// Why a node stands still at a position of a run.
struct Why
{
    std::uint32_t visits = 0;               ///< how often it was visited so far
    std::optional<std::uint32_t> nextVisit; ///< the visit that picks it next in this run
    std::uint32_t inEdges = 0;              ///< 0 when nothing ever lands at it in this run
    std::vector<MissingEdge> missing;
    BranchRef waitsFor; ///< promise invalid = it waits for no promise
    /// The answer for people: first the node itself, then what it depends on, step by step down to the cause.
    std::vector<std::string> lines;
};

/// How a node is called in the answer.
using NodeNames = std::function<std::string(NodeId)>;

/// Explains why `node` has not been visited, or does not go on, at the timeline's position: which in-edges are empty
/// and whose they are, which promise it waits for and what that promise lacks. Looks only at what happens to the nodes
/// that it names; `steps` are those of its run. `node` must be a node or input of the run's graph. `names`: nodeText()
/// when empty.
[[nodiscard]] Why whyNotVisited(const Timeline& timeline, const NodeSteps& steps, NodeId node,
                                const NodeNames& names = {});
/// The same for a single question: walks over the run once.
[[nodiscard]] Why whyNotVisited(const Timeline& timeline, NodeId node);

} // namespace retro::trace
