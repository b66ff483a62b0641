// SPDX-License-Identifier: Apache-2.0
#include "core/execute/tokenplaces.h"

#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/lookup.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <ranges>

namespace retro::execute
{

namespace
{

using graph::Node;
using graph::ValueId;
using ops::ElementMap;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

using ops::Elements;

/// Numbers below this pass through a type without a change.
std::int64_t baseOf(DType type)
{
    constexpr std::array<std::int64_t, 3> kBases{100, 30'000, std::int64_t{1} << 24}; // of 1, 2 and 4 bytes
    if (type == DType::Bool) {
        return 2;
    }
    switch (tensor::sizeOf(type)) {
    case 1:
        return kBases[0];
    case 2:
        return tensor::isFloating(type) ? kBases[0] : kBases[1];
    case 4:
        return kBases[2];
    default:
        return std::int64_t{1} << 50;
    }
}

/// Extents of `shape` between so many of extent 1.
Shape between(std::size_t before, const Shape& shape, std::size_t behind)
{
    Shape made(before, 1);
    made.insert(made.end(), shape.begin(), shape.end());
    made.insert(made.end(), behind, 1);
    return made;
}

} // namespace

Tensor TokenPlaces::toInput(const Tensor& perIndex) const
{
    return places.empty() ? perIndex.contiguous().reshaped(inputShape) : ops::scatterSum(perIndex, places, inputShape);
}

Tensor TokenPlaces::fromInput(const Tensor& perToken) const
{
    return places.empty() ? perToken.contiguous().reshaped(shape) : ops::gathered(perToken, places, shape);
}

std::optional<TokenPlaces> TokenFinder::find(ValueId indices)
{
    const std::optional<Traced> traced = trace(indices);
    if (!traced || !traced->input.isValid()) {
        return std::nullopt;
    }
    return TokenPlaces{traced->input, m_types[traced->input.index()].shape, m_types[indices.index()].shape,
                       traced->places ? *traced->places : ElementMap()};
}

bool TokenFinder::isWhole(ValueId value) const
{
    const DType type = m_types[value.index()].dtype;
    return !tensor::isFloating(type) && !tensor::isNarrowFloat(type);
}

std::int64_t TokenFinder::countOf(ValueId value) const { return tensor::elementCount(m_types[value.index()].shape); }

std::optional<TokenFinder::Traced> TokenFinder::trace(ValueId value)
{
    if (isConstant(value)) {
        return Traced{};
    }
    const graph::Value& own = m_graph.value(value);
    if (own.kind != graph::ValueKind::Result) {
        return own.kind == graph::ValueKind::Input ? std::optional(Traced{value, nullptr}) : std::nullopt;
    }
    const auto known = m_known.find(value);
    return known != m_known.end() ? known->second : m_known[value] = traceResult(value);
}

std::optional<TokenFinder::Traced> TokenFinder::traceResult(ValueId value)
{
    const graph::NodeId id = m_graph.nodeOf(value);
    const Node& node = m_graph.node(id);
    const ops::BoundOperator* const op = m_operators[id.index()].get(); // of whole numbers its structure says nothing
    std::optional<Traced> traced;
    if (ops::isElementByElement(node) && !ops::areElements(node, {Elements::Quantised})) {
        traced = computed(value, node);
    } else if (const auto* lookup = dynamic_cast<const ops::Lookup*>(op); lookup != nullptr && lookup->isEmbedding()) {
        traced = lookedUp(value, node);
    } else if (const auto* map = dynamic_cast<const ops::ShapeMap*>(op); map != nullptr && !map->isSteered()) {
        traced = moved(value, node);
    }
    const bool isInOrder = traced && traced->places && traced->input.isValid() &&
                           std::ssize(*traced->places) == countOf(traced->input) &&
                           std::ranges::equal(*traced->places, std::views::iota(std::int64_t{0}, countOf(value)));
    return isInOrder ? Traced{traced->input, nullptr} : traced;
}

std::optional<std::vector<TokenFinder::Traced>> TokenFinder::traceOperands(const Node& node, std::size_t first,
                                                                           std::size_t count)
{
    std::vector<Traced> all;
    for (std::size_t slot = first; slot < std::min(first + count, node.inputs.size()); ++slot) {
        if (!node.inputs[slot].isValid()) {
            all.emplace_back();
            continue;
        }
        const std::optional<Traced> one = trace(node.inputs[slot]);
        if (!one) {
            return std::nullopt;
        }
        all.push_back(*one);
    }
    return all;
}

ElementMap TokenFinder::placesOf(const Traced& traced, ValueId value) const
{
    if (traced.places) {
        return *traced.places;
    }
    ElementMap all(static_cast<std::size_t>(countOf(value)), -1);
    if (traced.input.isValid()) {
        std::iota(all.begin(), all.end(), std::int64_t{0});
    }
    return all;
}

ElementMap TokenFinder::spread(const ElementMap& places, const Shape& from, const Shape& to) const
{
    const Shape aligned = between(to.size() - from.size(), from, 0);
    const Shape strides = tensor::rowMajorStrides(aligned);
    ElementMap all = ops::roomForPositions(tensor::elementCount(to));
    ops::forEachIndex(to, [&](const Shape& index) {
        std::int64_t at = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis) {
            at += aligned[axis] == 1 ? 0 : index[axis] * strides[axis];
        }
        all.push_back(places[static_cast<std::size_t>(at)]);
    });
    return all;
}

/// Each element of the result is of the token that its operands are of.
std::optional<TokenFinder::Traced> TokenFinder::computed(ValueId value, const Node& node)
{
    const bool isKept = ops::areElements(node, {Elements::Kept, Elements::Converted});
    const bool isChoice =
        ops::areElements(node, {Elements::Chosen}); // of two; what chooses counts where neither has a token
    std::size_t first = isChoice ? 1 : 0;
    auto operands = traceOperands(node, first, isKept ? 1 : node.inputs.size());
    const auto hasInput = [](const Traced& one) { return one.input.isValid(); };
    if (isChoice && operands && std::ranges::none_of(*operands, hasInput)) {
        first = 0;
        operands = traceOperands(node, first, 1);
    }
    if (!operands) {
        return std::nullopt;
    }
    Traced made;
    ElementMap all;
    for (std::size_t i = 0; i < operands->size(); ++i) {
        const Traced& one = (*operands)[i];
        if (!one.input.isValid()) {
            continue;
        }
        const ValueId operand = node.inputs[first + i];
        ElementMap own = spread(placesOf(one, operand), m_types[operand.index()].shape, m_types[value.index()].shape);
        if (made.input.isValid() && (made.input != one.input || all != own)) {
            return std::nullopt; // of two tokens
        }
        made.input = one.input;
        all = std::move(own);
    }
    made.places = made.input.isValid() ? std::make_shared<const ElementMap>(std::move(all)) : nullptr;
    return made;
}

/// A number of a constant table is of the token that chose it.
std::optional<TokenFinder::Traced> TokenFinder::lookedUp(ValueId value, const Node& node)
{
    const ValueId indices = node.inputs[ops::Lookup::kIndices];
    const auto traced = isWhole(value) ? trace(indices) : std::nullopt;
    if (!traced || !traced->input.isValid()) {
        return traced;
    }
    const std::int64_t given = graph::intAttribute(node, "axis", 0);
    const Shape& shape = m_types[value.index()].shape;
    const Shape& chosen = m_types[indices.index()].shape;
    const auto table = static_cast<std::int64_t>(shape.size() - chosen.size() + 1);
    const std::int64_t axis = given < 0 ? given + table : given;
    const auto before = static_cast<std::size_t>(axis);
    const Shape aligned = between(before, chosen, shape.size() - chosen.size() - before);
    return Traced{traced->input,
                  std::make_shared<const ElementMap>(spread(placesOf(*traced, indices), aligned, shape))};
}

/// The result of a shape map whose data are digits of numbers: of each operand that has some, else as it is.
Tensor TokenFinder::movedDigits(const Node& node, std::size_t output,
                                const std::vector<std::vector<std::int64_t>>& digits) const
{
    constexpr std::size_t kFill = 2; // of a Pad
    std::vector<Tensor> operands;
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        const ValueId operand = node.inputs[slot];
        if (!operand.isValid()) {
            operands.emplace_back();
            continue;
        }
        const ops::TensorType& type = m_types[operand.index()];
        if (slot < digits.size()) {
            operands.push_back(
                Tensor::of<std::int64_t>(type.shape, std::span<const std::int64_t>(digits[slot])).to(type.dtype));
        } else if (slot == kFill && ops::areElements(node, {Elements::Padded})) {
            operands.push_back(Tensor::zeros(type.dtype, type.shape));
        } else {
            operands.push_back(m_constants[operand.index()]);
        }
    }
    return m_operators[m_graph.nodeOf(node.outputs[output]).index()]->forward(operands)[output];
}

/// Elements are of the tokens that they were before; the operator itself moves their numbers.
std::optional<TokenFinder::Traced> TokenFinder::moved(ValueId value, const Node& node)
{
    const std::size_t data = ops::dataOperands(node);
    const auto operands = traceOperands(node, 0, data);
    const ops::BoundOperator* const op = m_operators[m_graph.nodeOf(value).index()].get();
    const bool movesAll = dynamic_cast<const ops::TokenMap*>(op) != nullptr; // and reads operand 0 alone
    const bool areKnown =
        movesAll || std::all_of(node.inputs.begin() + static_cast<std::ptrdiff_t>(data), node.inputs.end(),
                                [this](ValueId operand) { return !operand.isValid() || isConstant(operand); });
    const DType type = m_types[value.index()].dtype;
    if (!operands || !areKnown || tensor::isNarrow(type)) {
        return std::nullopt;
    }
    Traced made;
    std::vector<ElementMap> numbers; // places from 1; 0 is none
    for (std::size_t slot = 0; slot < operands->size(); ++slot) {
        const Traced& one = (*operands)[slot];
        if (one.input.isValid() && made.input.isValid() && one.input != made.input) {
            return std::nullopt;
        }
        made.input = one.input.isValid() ? one.input : made.input;
        numbers.push_back(placesOf(one, node.inputs[slot]));
        std::ranges::for_each(numbers.back(), [](std::int64_t& number) { ++number; });
    }
    if (!made.input.isValid()) {
        return made;
    }
    const std::int64_t base = baseOf(type);
    ElementMap all(static_cast<std::size_t>(countOf(value)), -1);
    for (std::int64_t worth = 1, left = countOf(made.input); left > 0; left /= base, worth *= base) {
        std::vector<std::vector<std::int64_t>> digits = numbers;
        for (std::vector<std::int64_t>& own : digits) {
            std::ranges::for_each(own, [&](std::int64_t& number) { number = number / worth % base; });
        }
        const ElementMap there =
            ops::integersOf(movedDigits(node, m_graph.value(value).producerOutput, digits).to(DType::Int64));
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i] += there[i] * worth;
        }
    }
    made.places = std::make_shared<const ElementMap>(std::move(all));
    return made;
}

} // namespace retro::execute
