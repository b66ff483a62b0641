// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <cstdint>

namespace retro::lrp
{

/// What the tensor of a handle is. It follows from the course of the traversal alone, so it holds for every input that
/// takes the same course.
struct HandleOrigin
{
    enum class From : std::uint8_t {
        Start, ///< start relevance `item`
        Part,  ///< what the rule of `node` gave operand `item`
        Sum,   ///< relevance of output `item` of `node`, of several parts
        Value  ///< the forward value `item`, a ValueId
    };
    From from = From::Start;
    base::NodeId node{};
    std::uint32_t item = 0;
};

} // namespace retro::lrp
