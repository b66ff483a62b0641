// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace retro::lut
{

/// A row that was visited by (sample, position), and how often. Sixteen bytes.
struct MainEvent
{
    std::uint32_t batch = 0;
    float count = 0;
    std::uint32_t neuron = 0;   ///< table · R + row
    std::uint32_t position = 0; ///< the later one of the pair
};

/// A row that would have been visited had a least certain comparison come out the other way.
using AlternativeEvent = MainEvent;

/// What the backward pass and relevance need of a forward pass. Arrays are [B, S, T] and [S − 1, T].
template <class T>
struct Tape
{
    std::uint64_t batch = 0;
    std::vector<std::int32_t> rows;            ///< Lookup Indices
    std::vector<T> deltas;                     ///< Min Anchor Deltas, signed
    std::vector<std::int32_t> bits;            ///< Min Anchor Delta Indices, −1 = none
    std::vector<std::int32_t> codeRows;        ///< PE Lookup Indices
    std::vector<T> codeDeltas;                 ///< PE Min Deltas
    std::vector<std::int32_t> codeBits;        ///< PE Min Delta Indices, −1 = none
    bool hasEvents = false;                    ///< of the documented path on a sequence layer
    std::vector<MainEvent> mainEvents;         ///< by sample, position and neuron
    std::vector<AlternativeEvent> otherEvents; ///< the same, of rows that are no main ones
};

} // namespace retro::lut
