// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/graph/graphscene.h"

#include <array>
#include <cstdint>
#include <vector>

namespace retro::views
{

struct Colouring;

/// Most classes that the colours of boxes tell apart: the modes, or those of a Colouring.
inline constexpr std::size_t kColourClasses = 8;
/// Nodes or boxes per class.
using ClassCounts = std::array<layout::Index, kColourClasses>;

/// What a box shows at a position of the run.
struct BoxStatus
{
    event::Mode mode = event::Mode::None; ///< of its last visit; of a group: of the member that was visited last
    base::NodeId lastVisited;             ///< that member; invalid before the first visit
    std::uint32_t waiting = 0;            ///< promises that start here and are not complete
    std::uint32_t landed = 0;             ///< parts that have landed; set only while some have and some have not
    std::uint32_t parts = 0;              ///< in-edges, set with `landed`
    bool isFulfilled = false;             ///< a promise that starts here is complete, or was answered here
    bool isInFrontier = false;            ///< relevance has landed here and is not consumed
    bool isLeaking = false;               ///< the ledger row of a member does not add up
    bool operator==(const BoxStatus&) const = default;
};

/// The state of a run, box by box and edge by edge of a drawing. Plain value.
struct GraphStatus
{
    std::vector<BoxStatus> boxes;
    std::vector<float> edges;          ///< Σ of the relevance that has passed; NaN while none has
    layout::Index now = layout::kNone; ///< box of the current node
};

/// `state` may be null: nothing has happened then. O(nodes + edges + visits).
[[nodiscard]] GraphStatus makeStatus(const GraphScene& scene, const trace::RunState* state, std::uint64_t position);

/// One row of pixels of a picture that is too small for boxes, with how many boxes of each class it stands for.
struct ClassRow
{
    double left = 0; ///< scene x
    double right = 0;
    ClassCounts counts{};
    layout::Index total = 0; ///< 0 = nothing there
};

/// Class of a box: its mode as a number, or its main class in a colouring (may be null).
[[nodiscard]] std::size_t classOf(const GraphStatus& status, const Colouring* colouring, layout::Index box);
/// Cuts the height of `area` into `rows` equal rows. O(rows · log layers + boxes in area).
[[nodiscard]] std::vector<ClassRow> classRows(const GraphScene& scene, const GraphStatus& status,
                                              const Colouring* colouring, const layout::Rect& area, int rows);

/// The node that stands for a box when it is selected: itself; of a group the member that was visited last, else the
/// last one in the order of execution.
[[nodiscard]] base::NodeId representative(const GraphScene& scene, const GraphStatus& status, layout::Index box);

} // namespace retro::views
