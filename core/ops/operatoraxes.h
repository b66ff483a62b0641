// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

/// What operators do to the axes of their first operand. Where nothing is said of an operator, its axes are
/// taken to lose their meaning behind it.
namespace retro::ops
{

/// What an operator makes of axes.
struct OperatorAxes
{
    enum class Channels {
        None,  ///< it gives no axis a meaning
        First, ///< channels are axis 1
        Last   ///< channels are the last axis
    };
    Channels channels = Channels::None;
    Channels classes = Channels::None; ///< where its result has the classes, when it is explained
    bool keepsAll = false;             ///< its result has the axes of its operand
    bool keepsClasses = false;         ///< the classes of its result are those of its operand
    bool keepsAllButLast = false;      ///< of its result the last axis alone is another: a dense layer, a normalisation
    bool hasTimeAndSample = false;     ///< recurrent: time and samples are its first two axes, as its `layout` says
};

/// Of the operator of a node.
[[nodiscard]] OperatorAxes operatorAxes(const graph::Node& node);

} // namespace retro::ops
