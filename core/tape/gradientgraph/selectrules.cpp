// SPDX-License-Identifier: Apache-2.0
// Operators that choose elements, or take them in another order, by what an operand says; and running products.
#include "core/tape/gradientgraph/emitrule.h"

#include <algorithm>
#include <memory>

namespace retro::tape
{

namespace
{

using Ints = std::vector<std::int64_t>;
using tensor::Shape;
using tensor::Tensor;

std::size_t axisWithin(std::int64_t axis, const Shape& shape)
{
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis);
}

std::string hasPlaces(const EmitSite& site)
{
    const bool isNamed = site.node.outputs.size() > 1 && site.node.outputs[1].isValid();
    return isNamed || site.emit.opset() >= 10 ? ""
                                              : "nothing says where its elements were; give its second result a name";
}

/// What arrives goes to where the elements were, no two of them at one place; where nobody reads the places of the
/// forward pass, another TopK says them.
EmittedParts largest(EmitSite& site)
{
    Emitter& emit = site.emit;
    const std::int64_t axis = site.integer("axis", -1);
    ValueId places = site.outputs.size() > 1 ? site.outputs[1] : ValueId();
    if (!places.isValid()) {
        const std::int64_t count = site.outputShape()[axisWithin(axis, site.shape(0))];
        graph::Attributes attributes{{"axis", axis}};
        if (emit.opset() >= 11) {
            attributes["largest"] = site.integer("largest", 1);
            attributes["sorted"] = site.integer("sorted", 1);
        }
        places = emit.node("TopK", {site.operands[0], emit.ints({count})}, attributes, 2)[1];
    }
    EmittedParts parts(site.operands.size());
    parts[0] = emit.scatter(emit.filled(site.shape(0), 0), places, site.up(), axis);
    return parts;
}

/// Its own inverse.
EmittedParts reversedSequence(EmitSite& site)
{
    return {
        site.emit.node("ReverseSequence", {site.up(), site.operands[1]},
                       {{"batch_axis", site.integer("batch_axis", 1)}, {"time_axis", site.integer("time_axis", 0)}}),
        {}};
}

std::string countsChosen(const EmitSite& site)
{
    return site.known(1) || site.emit.opset() >= 11
               ? ""
               : "its condition is computed, which needs CumSum of operator set 11; convert the model to a newer opset";
}

/// Per element of an axis its place among the chosen ones; `count`, the number of these, for one that is not chosen.
ValueId placesAmongChosen(EmitSite& site, std::int64_t extent, std::int64_t count)
{
    Emitter& emit = site.emit;
    if (std::optional<Ints> condition = site.known(1)) {
        condition->resize(static_cast<std::size_t>(extent));
        std::int64_t at = 0;
        std::ranges::transform(*condition, condition->begin(),
                               [&](std::int64_t isChosen) { return isChosen != 0 ? at++ : count; });
        return emit.ints(*condition);
    }
    constexpr std::int64_t kInt64 = 7; // TensorProto.DataType
    ValueId chosen = emit.node("Cast", {site.operands[1]}, {{"to", kInt64}});
    const std::int64_t given = site.shape(1)[0];
    if (given < extent) {
        chosen = emit.node("Concat", {chosen, emit.ints(Ints(static_cast<std::size_t>(extent - given), 0))},
                           {{"axis", std::int64_t{0}}});
    } else if (given > extent) {
        chosen = emit.slice(chosen, {0}, {extent}, {0});
    }
    const ValueId until = emit.node("CumSum", {chosen, emit.constant(Tensor::scalar<std::int64_t>(0))});
    const ValueId place = emit.node("Sub", {until, emit.ints({1})});
    return emit.node("Where", {emit.node("Cast", {chosen}, {{"to", kBoolType}}), place, emit.ints({count})});
}

/// Every element reads its place in what arrives, which has zeros behind it for those that were not chosen.
EmittedParts compress(EmitSite& site)
{
    Emitter& emit = site.emit;
    const bool isFlat = !site.node.attributes.contains("axis");
    Shape shape = isFlat ? Shape{tensor::elementCount(site.shape(0))} : site.shape(0);
    const std::size_t axis = isFlat ? 0 : axisWithin(site.integer("axis", 0), shape);
    const ValueId places = placesAmongChosen(site, shape[axis], site.outputShape()[axis]);
    shape[axis] = 1;
    const graph::Attributes along{{"axis", static_cast<std::int64_t>(axis)}};
    const ValueId longer = emit.node("Concat", {site.up(), emit.filled(shape, 0)}, along);
    const ValueId part = emit.node("Gather", {longer, places}, along);
    return {isFlat ? emit.reshape(part, site.shape(0)) : part, {}};
}

std::string knowsAxis(const EmitSite& site)
{
    return site.known(1) ? "" : "its axis is not known before the run; export it with a constant axis";
}

/// extent × extent flags, along two neighbouring axes of `rank`.
template <class F>
ValueId table(EmitSite& site, std::size_t rank, std::size_t axis, std::int64_t extent, const F& isSet)
{
    Shape shape(rank, 1);
    shape[axis] = extent;
    shape[axis + 1] = extent;
    const auto count = static_cast<std::size_t>(extent);
    const std::unique_ptr<bool[]> flags(new bool[count * count]);
    for (std::size_t i = 0; i < count * count; ++i) {
        flags[i] = isSet(i / count, i % count);
    }
    return site.emit.constant(Tensor::of<bool>(shape, std::span<const bool>(flags.get(), count * count)));
}

/// x̄_k = Σ over the places n that x_k counts for of up_n · the product there with 1 in the place of x_k: no quotient,
/// so zeros are factors like any others.
EmittedParts runningProduct(EmitSite& site)
{
    Emitter& emit = site.emit;
    const Shape& shape = site.shape(0);
    const std::size_t axis = axisWithin(site.known(1)->front(), shape);
    const bool isExclusive = site.integer("exclusive", 0) != 0;
    const bool isReverse = site.integer("reverse", 0) != 0;
    Shape lifted = shape;
    lifted.insert(lifted.begin() + static_cast<std::ptrdiff_t>(axis), 1);
    const auto along = static_cast<std::int64_t>(axis) + 1;
    const ValueId isOwn =
        table(site, lifted.size(), axis, shape[axis], [](std::size_t k, std::size_t n) { return k == n; });
    const ValueId counts = table(site, lifted.size(), axis, shape[axis], [&](std::size_t k, std::size_t n) {
        return k == n ? !isExclusive : isReverse == (n < k);
    });
    const ValueId others = emit.node("Where", {isOwn, emit.scalar(1), emit.reshape(site.operands[0], lifted)});
    const ValueId products =
        emit.node("CumProd", {others, emit.constant(Tensor::scalar<std::int64_t>(along))},
                  {{"exclusive", std::int64_t{isExclusive}}, {"reverse", std::int64_t{isReverse}}});
    const ValueId weighted = emit.node("Mul", {products, emit.reshape(site.up(), lifted)});
    const ValueId counted = emit.node("Where", {counts, weighted, emit.scalar(0)});
    return {emit.reshape(emit.reduce("ReduceSum", counted, {along}), shape), {}};
}

std::string rotatesAlone(const EmitSite& site)
{
    return site.wants(1) || site.wants(2) ? "its cosines or sines depend on an input; only what is rotated has a rule "
                                            "here"
                                          : "";
}

/// The rotation back: by sines of the other sign.
EmittedParts rotatedBack(EmitSite& site)
{
    std::vector<ValueId> inputs = site.operands;
    inputs[0] = site.up();
    inputs[2] = site.emit.node("Neg", {site.operands[2]});
    EmittedParts parts(site.operands.size());
    parts[0] = site.emit.node("RotaryEmbedding", std::move(inputs), site.node.attributes);
    return parts;
}

} // namespace

const EmitRules kSelectRules{
    {"Compress", countsChosen, compress},
    {"CumProd", knowsAxis, runningProduct},
    {"ReverseSequence", never, reversedSequence},
    {"RotaryEmbedding", rotatesAlone, rotatedBack},
    {"TopK", hasPlaces, largest},
};

} // namespace retro::tape
