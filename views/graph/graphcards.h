// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/graph/graphscene.h"

#include <QImage>

#include <array>
#include <vector>

namespace retro::views
{

/// Where small pictures of relevance come from.
class CardPictures
{
public:
    virtual ~CardPictures() = default;
    /// The picture behind a handle, at most `side` pixels wide and high; null while there is none. Asking is a request:
    /// what is asked for last comes first.
    [[nodiscard]] virtual const QImage* picture(base::HandleId handle, int side) = 0;
    /// True when there is a tensor to make a picture of.
    [[nodiscard]] virtual bool canShow(base::HandleId handle) const = 0;
};

/// What a card holds at a position of the run, beside its BoxStatus.
struct CardStatus
{
    base::HandleId whole;                    ///< the relevance of its node, once known in full
    base::HandleId part;                     ///< else the first part that has landed
    std::array<base::HandleId, 3> members{}; ///< of a group: of a first, a middle and a last member
    std::array<base::NodeId, 3> memberNodes{};
    layout::Index visits = 0; ///< of a group: visits of members so far
    double sum = 0;           ///< Σ of what is known, or has landed so far
    bool hasSum = false;
    bool isAsked = false; ///< a search waits here
    bool isOver = false;  ///< what has not arrived never will: the run has ended, or does not come here
    bool isHeld = false;  ///< a promise that starts here and is not fulfilled holds the relevance
};

/// Visits of the members of the groups of a drawing.
struct GroupVisits
{
    struct Visit
    {
        std::uint64_t step = 0;
        event::Mode mode = event::Mode::None;
    };
    std::vector<std::vector<Visit>> boxes; ///< per box; empty for what is no group
    std::vector<bool> isReached;           ///< per box: the run comes there at all
};
/// O(visits).
[[nodiscard]] GroupVisits groupVisitsOf(const GraphScene& scene);

/// Per box. O(nodes + promises).
[[nodiscard]] std::vector<CardStatus> cardsOf(const GraphScene& scene, const GroupVisits& visits,
                                              const trace::RunState& state, std::uint64_t position);

} // namespace retro::views
