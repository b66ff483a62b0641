// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/events.h"

#include <cstdint>
#include <vector>

namespace retro::lut
{

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
