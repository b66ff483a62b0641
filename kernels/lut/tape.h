// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/events.h"

#include <cstdint>
#include <memory_resource>
#include <vector>

namespace retro::lut
{

/// Where passes take memory for arrays of their own (Kept and Scratch of kernels/lut/schedule.h).
using Memory = std::pmr::memory_resource;
/// Such an array.
template <class T>
using Array = std::pmr::vector<T>;

/// What the backward pass and relevance need of a forward pass. Arrays are [B, S, T] and [S − 1, T].
template <class T>
struct Tape
{
    explicit Tape(Memory* memory = std::pmr::get_default_resource())
        : rows(memory), deltas(memory), bits(memory), codeRows(memory), codeDeltas(memory), codeBits(memory),
          mainEvents(memory), otherEvents(memory)
    {}

    std::uint64_t batch = 0;
    Array<std::int32_t> rows;            ///< Lookup Indices
    Array<T> deltas;                     ///< Min Anchor Deltas, signed
    Array<std::int32_t> bits;            ///< Min Anchor Delta Indices, −1 = none
    Array<std::int32_t> codeRows;        ///< PE Lookup Indices
    Array<T> codeDeltas;                 ///< PE Min Deltas
    Array<std::int32_t> codeBits;        ///< PE Min Delta Indices, −1 = none
    bool hasEvents = false;              ///< of the documented path on a sequence layer
    Array<MainEvent> mainEvents;         ///< by sample, position and neuron
    Array<AlternativeEvent> otherEvents; ///< the same, of rows that are no main ones
};

} // namespace retro::lut
