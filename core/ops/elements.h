// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace retro::ops
{

/// How the elements of a result come from those of the operands, whatever their shapes: known before a node is bound.
enum class Elements : std::uint8_t {
    Mixed,     ///< in none of these ways
    Kept,      ///< those of operand 0 in their places: Identity, Dropout
    Converted, ///< those of operand 0 in their places, of another type: Cast
    Reshaped,  ///< those of operand 0 in their order, with other extents: Reshape
    Turned,    ///< axes of operand 0 change places: Transpose
    Moved,     ///< those of operand 0 in another order: DepthToSpace
    Taken,     ///< some of operand 0: Slice, Split
    PickedBy,  ///< some of operand 0, which another operand picks: Gather
    Repeated,  ///< those of operand 0, several times: Expand, Tile
    Padded,    ///< those of operand 0 with others around: Pad
    Joined,    ///< those of all operands, one behind the other: Concat
    // The others make each element of those in its place alone; operands are broadcast.
    Rounded,    ///< Round, Floor
    Quantised,  ///< that of operand 0 as a level, from a level, or on a grid: QuantizeLinear, Quant
    Negated,    ///< Neg
    Chosen,     ///< that of one of several operands: Where
    Compared,   ///< true or false: Equal, And
    Bounded,    ///< that of operand 0 within bounds: Clip
    Function,   ///< a function of that of operand 0: Exp
    Combined,   ///< a function of those of several operands: Max, Pow
    Summed,     ///< Add, Sum
    Subtracted, ///< Sub
    Multiplied, ///< Mul
    Divided     ///< Div
};

/// Of an operator; Mixed where it is not known.
[[nodiscard]] Elements elementsOf(std::string_view domain, std::string_view op);
/// Of a node, by its operator.
[[nodiscard]] inline Elements elementsOf(const graph::Node& node) { return elementsOf(node.domain, node.op); }
/// True when they come in one of these ways.
[[nodiscard]] inline bool areElements(const graph::Node& node, std::initializer_list<Elements> ways)
{
    return std::ranges::find(ways, elementsOf(node)) != ways.end();
}
/// The same of a node of two operands: Add, Mul.
[[nodiscard]] inline bool combinesTwo(const graph::Node& node, std::initializer_list<Elements> ways)
{
    return node.inputs.size() == 2 && node.inputs[0].isValid() && node.inputs[1].isValid() && areElements(node, ways);
}
/// True when the elements are those of operand 0, in their order, maybe of another type.
[[nodiscard]] inline bool keepsElements(const graph::Node& node)
{
    return areElements(node, {Elements::Kept, Elements::Converted, Elements::Reshaped});
}
/// True when each element of the result is one of operand 0, or of Concat of any operand, whatever its type.
[[nodiscard]] inline bool movesElements(const graph::Node& node)
{
    using enum Elements;
    return areElements(node, {Kept, Reshaped, Turned, Moved, Taken, PickedBy, Repeated, Joined});
}
/// How many operands, from the first on, the elements come from; those behind say where or how.
[[nodiscard]] inline std::size_t dataOperands(const graph::Node& node)
{
    using enum Elements;
    return areElements(node, {Joined, Chosen, Compared, Combined, Summed, Subtracted, Multiplied, Divided})
               ? node.inputs.size()
               : std::min<std::size_t>(node.inputs.size(), 1);
}
/// True when nothing but the shape of the operand counts: Shape, Size.
[[nodiscard]] bool readsShapeAlone(const graph::Node& node);
/// True when each element is made of those in its place alone.
[[nodiscard]] inline bool isElementByElement(const graph::Node& node)
{
    const Elements elements = elementsOf(node);
    return elements == Elements::Kept || elements == Elements::Converted || elements >= Elements::Rounded;
}

} // namespace retro::ops
