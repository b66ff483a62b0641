// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/graph/graphscene.h"

#include <optional>
#include <vector>

namespace retro::views
{

/// A piece of the way of a promise's search, from a consumer to a producer: along an edge of the drawing, or (when the
/// drawing has none between the two) straight from box to box.
struct PathPiece
{
    layout::Index edge = layout::kNone;
    layout::Index consumer = layout::kNone;
    layout::Index producer = layout::kNone;
    bool isLast = false; ///< ends at the node that answers, or where the search is now
};

/// The way from the start of a promise over the pass-through nodes of each branch to the nodes that answer.
struct PromisePath
{
    std::vector<PathPiece> pieces;
    layout::Index start = layout::kNone; ///< box of the start
    base::PromiseId promise;
    std::optional<double> held; ///< Σ of the relevance that the promise holds while it is not complete

    [[nodiscard]] bool isEmpty() const { return pieces.empty(); }
    [[nodiscard]] bool covers(layout::Index edge) const;
};

/// Empty for a promise that does not exist at this state.
[[nodiscard]] PromisePath makePath(const GraphScene& scene, const trace::RunState& state, base::PromiseId promise);

} // namespace retro::views
