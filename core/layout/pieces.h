// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/layoutinput.h"

#include <vector>

namespace retro::layout
{

/// A group that is laid out by itself. Its boxes are the members of the group, then one pin per box outside that it
/// reads, then one per member that is read outside. Pieces of groups that are built alike have equal inputs.
struct Piece
{
    LayoutInput input;            ///< group 0 is the frame of the piece
    std::vector<Index> nodes;     ///< per box that is no pin: node of the whole
    std::vector<Index> groups;    ///< per group: group of the whole
    std::vector<bool> isRepeated; ///< per group; the piece itself counts as not repeated
};

/// The way of an edge through the pieces; what it does not touch is kNone.
struct CutEdge
{
    Index source = kNone; ///< edge of the piece that holds its source: whole, or up to a pin
    Index between = kNone;
    Index target = kNone; ///< edge of the piece that holds its target, from a pin
};

/// A drawing whose repeated groups were cut out. In `rest` each is one box of no size yet.
struct Cut
{
    std::vector<Piece> pieces;
    LayoutInput rest;
    std::vector<Index> restNodes;  ///< per box of the rest: node of the whole, kNone for a piece
    std::vector<Index> restPieces; ///< per box of the rest: its piece, or kNone
    std::vector<Index> restGroups; ///< per group of the rest: group of the whole
    std::vector<Index> pieceOf;    ///< per node of the whole: its piece, or kNone
    std::vector<CutEdge> edges;    ///< per edge of the whole
};

/// Fewest boxes of a piece; smaller ones cost less to lay out than to stamp.
inline constexpr Index kLeastPiece = 4;

/// Cuts the outermost repeated groups out of a drawing, except those that would feed themselves through what is around
/// them. `isRepeated`: per group, or empty. The input must have passed checkGroups() and have no cycle. O(nodes +
/// edges) for every level of groups that cannot be cut out.
[[nodiscard]] Cut cutPieces(const LayoutInput& input, const std::vector<bool>& isRepeated);

} // namespace retro::layout
