// SPDX-License-Identifier: Apache-2.0
#include "core/ops/numbertypes.h"
#include "core/tape/gradientgraph/emitrule.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace retro::tape
{

namespace
{

using Ints = std::vector<std::int64_t>;

EmittedParts reshape(EmitSite& site)
{
    EmittedParts parts(site.operands.size());
    parts[0] = site.emit.reshape(site.up(), site.shape(0));
    return parts;
}

EmittedParts transpose(EmitSite& site)
{
    const std::size_t rank = site.shape(0).size();
    Ints order(rank);
    std::iota(order.rbegin(), order.rend(), 0);
    order = site.integers("perm", order);
    Ints inverse(rank);
    for (std::size_t i = 0; i < rank; ++i) {
        inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    return {site.emit.node("Transpose", {site.up()}, {{"perm", inverse}})};
}

/// No operand has a free extent along the axis.
bool hasKnownAxis(const EmitSite& site)
{
    const std::size_t axis = axisOf(site.integer("axis", 0), site.shape(0).size());
    for (std::size_t slot = 0; slot < site.node.inputs.size(); ++slot) {
        if (site.isFree(slot, axis)) {
            return false;
        }
    }
    return true;
}

ValueId sliced(EmitSite& site, ValueId value, const Ints& starts, const Ints& ends, const Ints& axes)
{
    return site.emit.slice(value, starts, ends, axes);
}

EmittedParts concat(EmitSite& site)
{
    EmittedParts parts(site.operands.size());
    const std::size_t axis = axisOf(site.integer("axis", 0), site.outputShape().size());
    std::int64_t start = 0;
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        const std::int64_t end = start + site.shape(slot)[axis];
        if (site.wants(slot)) {
            parts[slot] = sliced(site, site.up(), {start}, {end}, {static_cast<std::int64_t>(axis)});
        }
        start = end;
    }
    return parts;
}

/// `value` with zeros around it, so many at the start and at the end of each axis.
ValueId padded(EmitSite& site, ValueId value, Ints before, const Ints& after)
{
    return site.emit.pad(value, std::move(before), after);
}

/// Parts of all outputs side by side; zeros for those at which nothing arrived.
EmittedParts split(EmitSite& site)
{
    std::vector<ValueId> all;
    for (std::size_t k = 0; k < site.outputs.size(); ++k) {
        const auto zeros = [&] {
            return site.isFree ? site.emit.filledLike(site.outputs[k], 0) : site.emit.filled(site.outputShape(k), 0);
        };
        all.push_back(site.upstream[k].isValid() ? site.upstream[k] : zeros());
    }
    EmittedParts parts(site.operands.size());
    parts[0] = site.emit.node("Concat", std::move(all), {{"axis", site.integer("axis", 0)}});
    return parts;
}

/// Bounds are operands from operator set 10 on.
std::string plainSlice(const EmitSite& site)
{
    const bool isKnown =
        site.known(1) && site.known(2) && (!site.has(3) || site.known(3)) && (!site.has(4) || site.known(4));
    return site.node.opset < 10 || isKnown ? ""
                                           : "its bounds are not known before the run; export it with constant bounds";
}

Ints slicedAxes(const EmitSite& site)
{
    const bool isOld = site.node.opset < 10;
    Ints axes((isOld ? site.integers("starts", {}) : *site.known(1)).size());
    std::iota(axes.begin(), axes.end(), 0);
    return isOld ? site.integers("axes", axes) : site.known(3).value_or(axes);
}

/// Steps of 1 along axes whose extents are known.
bool knowsSlicedAxes(const EmitSite& site)
{
    const Ints steps = site.known(4).value_or(Ints());
    const auto isFree = [&](std::int64_t axis) { return site.isFree(0, axisOf(axis, site.shape(0).size())); };
    return std::ranges::none_of(slicedAxes(site), isFree) &&
           std::ranges::all_of(steps, [](std::int64_t step) { return step == 1; });
}

/// Elements that a step passed over come back as zeros, a line that ran backwards is turned round; `shape` and `start`
/// are then those of steps of 1.
ValueId withoutSteps(EmitSite& site, ValueId value, tensor::Shape& shape, std::size_t axis, std::int64_t step,
                     std::int64_t& start)
{
    const auto at = static_cast<std::int64_t>(axis);
    const std::int64_t count = shape[axis];
    if (count <= 1 || step == 1) {
        return value;
    }
    if (step < 0) {
        constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int64_t>::min();
        value = site.emit.slice(value, {-1}, {kBeforeAll}, {at}, {-1});
        start += (count - 1) * step;
        step = -step;
    }
    tensor::Shape folded = shape;
    folded.insert(folded.begin() + at + 1, 1);
    Ints after(folded.size(), 0);
    after[axis + 1] = step - 1;
    const ValueId wide = padded(site, site.emit.reshape(value, folded), Ints(folded.size(), 0), after);
    shape[axis] = count * step;
    const ValueId line = site.emit.reshape(wide, shape);
    shape[axis] -= step - 1;
    return sliced(site, line, {0}, {shape[axis]}, {at});
}

EmittedParts slice(EmitSite& site)
{
    const tensor::Shape& shape = site.shape(0);
    const bool isOld = site.node.opset < 10;
    const Ints starts = isOld ? site.integers("starts", {}) : *site.known(1);
    const Ints axes = slicedAxes(site);
    const Ints steps = site.known(4).value_or(Ints(starts.size(), 1));
    Ints before(shape.size(), 0);
    Ints after(shape.size(), 0);
    tensor::Shape own = site.outputShape();
    ValueId part = site.up();
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::size_t axis = axisOf(axes[i], shape.size());
        const std::int64_t start = starts[i] < 0 ? starts[i] + shape[axis] : starts[i];
        const std::int64_t last = shape[axis] - (steps[i] < 0 ? 1 : 0);
        before[axis] = std::max<std::int64_t>(std::min(start, last), 0);
        part = withoutSteps(site, part, own, axis, steps[i], before[axis]);
        after[axis] = shape[axis] - before[axis] - own[axis];
    }
    EmittedParts parts(site.operands.size());
    parts[0] = padded(site, part, std::move(before), after);
    return parts;
}

/// What was cut off comes back as zeros, what was added is cut off.
EmittedParts centreCropPad(EmitSite& site)
{
    const tensor::Shape& shape = site.shape(0);
    const tensor::Shape& made = site.outputShape();
    Ints axes(shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    Ints starts;
    Ints ends;
    Ints before;
    Ints after;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t added = std::max<std::int64_t>(made[axis] - shape[axis], 0);
        const std::int64_t cut = std::max<std::int64_t>(shape[axis] - made[axis], 0);
        starts.push_back(added / 2);
        ends.push_back(made[axis] - (added - added / 2));
        before.push_back(cut / 2);
        after.push_back(cut - cut / 2);
    }
    return {padded(site, sliced(site, site.up(), starts, ends, axes), before, after), {}};
}

/// Scatter operators add since operator set 16.
constexpr std::int64_t kScatterAdds = 16;

/// What arrives at each place, summed by a product: places × extent flags, turned. `arrived` has the places in front.
ValueId summedByFlags(EmitSite& site, ValueId arrived, std::int64_t extent)
{
    constexpr std::int64_t kInt64 = 7; // TensorProto.DataType
    Emitter& emit = site.emit;
    const std::int64_t count = tensor::elementCount(site.shape(1));
    const std::int64_t rest = count == 0 ? 0 : tensor::elementCount(site.outputShape()) / count;
    const ValueId given = emit.reshape(emit.node("Cast", {site.operands[1]}, {{"to", kInt64}}), {count, 1});
    const ValueId isFromTheEnd = emit.node("Less", {given, emit.ints({0})});
    const ValueId places = emit.node("Where", {isFromTheEnd, emit.node("Add", {given, emit.ints({extent})}), given});
    Ints all(static_cast<std::size_t>(extent));
    std::iota(all.begin(), all.end(), 0);
    const ValueId flags = emit.node("Equal", {places, emit.ints(all)});
    const ValueId factors = emit.node("Cast", {flags}, {{"to", ops::onnxOf(emit.floatType())}});
    return emit.node("MatMul", {emit.swapLast(factors, 2), emit.reshape(arrived, {count, rest})});
}

/// One constant place: zeros around it.
EmittedParts gatherOne(EmitSite& site, std::size_t axis)
{
    tensor::Shape kept = site.shape(0);
    const std::int64_t place = site.known(1)->front();
    Ints before(kept.size(), 0);
    Ints after(kept.size(), 0);
    before[axis] = place < 0 ? place + kept[axis] : place;
    after[axis] = kept[axis] - 1 - before[axis];
    kept[axis] = 1;
    return {padded(site, site.emit.reshape(site.up(), kept), std::move(before), after), {}};
}

/// The axis goes to the front, where ScatterND (or a product) adds up what arrives at each place, and back.
EmittedParts gather(EmitSite& site)
{
    const tensor::Shape& shape = site.shape(0);
    const std::size_t axis = axisOf(site.integer("axis", 0), shape.size());
    if (const std::optional<Ints> index = site.known(1); index && index->size() == 1) {
        return gatherOne(site, axis);
    }
    const tensor::Shape& places = site.shape(1);
    Ints order; // of up: places, axes before, axes behind
    for (std::size_t i = 0; i < site.outputShape().size(); ++i) {
        order.push_back(static_cast<std::int64_t>(i));
    }
    std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(axis),
                order.begin() + static_cast<std::ptrdiff_t>(axis + places.size()));
    tensor::Shape front = shape;
    std::rotate(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(axis),
                front.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    Ints back(shape.size());
    std::iota(back.begin(), back.end(), 0);
    std::rotate(back.begin(), back.begin() + 1, back.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    Emitter& emit = site.emit;
    const ValueId arrived = emit.node("Transpose", {site.up()}, {{"perm", order}});
    if (emit.opset() < kScatterAdds) {
        const ValueId sums = emit.reshape(summedByFlags(site, arrived, shape[axis]), front);
        return {emit.node("Transpose", {sums}, {{"perm", back}}), {}};
    }
    tensor::Shape deep = places;
    deep.push_back(1);
    const ValueId summed =
        emit.node("ScatterND", {emit.filled(front, 0), emit.reshape(site.operands[1], deep), arrived},
                  {{"reduction", std::string("add")}});
    return {emit.node("Transpose", {summed}, {{"perm", back}}), {}};
}

EmittedParts expand(EmitSite& site) { return {site.emit.sumTo(site.up(), site.outputShape(), site.shape(0)), {}}; }

} // namespace

const EmitRules kShapeRules{
    {"Gather", never, gather},
    {"Concat", never, concat, kAllSlots, hasKnownAxis},
    {"Expand", never, expand, kAllSlots, always},
    {"Flatten", never, reshape},
    {"Reshape", never, reshape},
    {"Slice", plainSlice, slice, kAllSlots, knowsSlicedAxes},
    {"Split", never, split, kAllSlots, always},
    {"Squeeze", never, reshape},
    {"Transpose", never, transpose, kAllSlots, always},
    {"Unsqueeze", never, reshape},
    {"CenterCropPad", never, centreCropPad},
};

} // namespace retro::tape
