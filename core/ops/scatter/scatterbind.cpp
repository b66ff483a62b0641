// SPDX-License-Identifier: Apache-2.0
// ScatterElements (Scatter), ScatterND, TensorScatter.
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/kernel/indices.h"
#include "core/ops/kernel/rowloop.h"
#include "core/ops/kernel/visitnumber.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>

namespace retro::ops
{

using tensor::DType;
using tensor::Tensor;

namespace
{

/// What becomes of an element that updates go to.
enum class ScatterReduction : std::uint8_t { None, Add, Mul, Max, Min };

/// Gradients of Σ s·y with respect to data and updates; float32, float64. Of equal extremes the first gets it, data
/// before updates.
struct ScatterGradients
{
    tensor::Tensor data;
    tensor::Tensor updates;
};
/// See ScatterGradients; shapes of data and updates.
[[nodiscard]] ScatterGradients scatterGradients(const tensor::Tensor& s, const tensor::Tensor& data,
                                                const ElementMap& map, const tensor::Tensor& updates,
                                                ScatterReduction reduction);

/// Where the elements of the updates go, for the operators that write updates into data.
class ScatterTarget
{
public:
    virtual ~ScatterTarget() = default;
    /// Position in the data of each element of the updates. Reads the index operand alone.
    [[nodiscard]] virtual ElementMap positions(std::span<const Tensor> operands) const = 0;
    /// Refuses indices outside. Errors: Input, without a place.
    [[nodiscard]] virtual base::Result<void> check(std::span<const Tensor> operands) const = 0;
};

/// Operand slots and types of such an operator.
struct ScatterLayout
{
    TensorType data; ///< operand 0, and the result
    tensor::Shape updates;
    std::size_t updateSlot = 2;
    std::size_t indexSlot = 1;
};

/// Data with elements overwritten by updates; where two go to one place, the later one stays.
class ScatterOverwrite final : public Operator<ShapeMap>
{
public:
    ScatterOverwrite(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target);

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return m_target->check(operands);
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(m_layout.indexSlot), 0}; }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override;
    /// To the data where nothing was written, to each update that stayed.
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override;

private:
    ScatterLayout m_layout;
    std::unique_ptr<const ScatterTarget> m_target;
};

/// Data with updates added to it, multiplied into it, or taken where they are larger or smaller.
class ScatterCombine final : public Operator<Differentiable>
{
public:
    ScatterCombine(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target, ScatterReduction reduction);

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return m_target->check(operands);
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override;
    /// As Differentiable says; the indices get zeros.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override;

private:
    ScatterLayout m_layout;
    std::unique_ptr<const ScatterTarget> m_target;
    ScatterReduction m_reduction;
};

bool isOnAxis(std::int64_t position, std::int64_t count) { return position >= 0 && position < count; }

template <class T>
T combined(T x, T y, ScatterReduction reduction)
{
    switch (reduction) {
    case ScatterReduction::Add:
        return plus(x, y);
    case ScatterReduction::Mul:
        return times(x, y);
    case ScatterReduction::Max:
        return x < y ? y : x;
    case ScatterReduction::Min:
        return y < x ? y : x;
    case ScatterReduction::None:
        break;
    }
    return y;
}

template <class T>
void combineAll(const ElementMap& map, const T* updates, T* out, std::int64_t count, ScatterReduction reduction)
{
    for (std::size_t i = 0; i < map.size(); ++i) {
        if (isOnAxis(map[i], count)) {
            out[map[i]] = combined(out[map[i]], updates[i], reduction);
        }
    }
}

/// Product of the factors of one element other than 0, and how many are 0.
template <class T>
struct Factors
{
    T product{1};
    int zeros = 0;

    void take(T factor)
    {
        product *= factor == T{0} ? T{1} : factor;
        zeros += factor == T{0} ? 1 : 0;
    }
    [[nodiscard]] T without(T factor) const
    {
        const int left = zeros - (factor == T{0} ? 1 : 0);
        return left > 0 ? T{0} : factor == T{0} ? product : product / factor;
    }
};

template <class T>
struct Buffers
{
    const T* s;
    const T* data;
    const T* updates;
    T* toData;
    T* toUpdates;
    std::int64_t count;
};

template <class T>
void productGradients(const Buffers<T>& b, const ElementMap& map)
{
    std::vector<Factors<T>> factors(static_cast<std::size_t>(b.count));
    for (std::int64_t i = 0; i < b.count; ++i) {
        factors[static_cast<std::size_t>(i)].take(b.data[i]);
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
        if (isOnAxis(map[i], b.count)) {
            factors[static_cast<std::size_t>(map[i])].take(b.updates[i]);
        }
    }
    for (std::int64_t i = 0; i < b.count; ++i) {
        b.toData[i] = b.s[i] * factors[static_cast<std::size_t>(i)].without(b.data[i]);
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
        const bool isIn = isOnAxis(map[i], b.count);
        b.toUpdates[i] = isIn ? b.s[map[i]] * factors[static_cast<std::size_t>(map[i])].without(b.updates[i]) : T{0};
    }
}

template <class T>
void extremeGradients(const Buffers<T>& b, const ElementMap& map, const T* y)
{
    std::vector<bool> isTaken(static_cast<std::size_t>(b.count));
    for (std::int64_t i = 0; i < b.count; ++i) {
        isTaken[static_cast<std::size_t>(i)] = b.data[i] == y[i];
        b.toData[i] = b.data[i] == y[i] ? b.s[i] : T{0};
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
        b.toUpdates[i] = T{0};
        if (isOnAxis(map[i], b.count) && !isTaken[static_cast<std::size_t>(map[i])] && b.updates[i] == y[map[i]]) {
            isTaken[static_cast<std::size_t>(map[i])] = true;
            b.toUpdates[i] = b.s[map[i]];
        }
    }
}

/// The map without the elements that a later one overwrites.
ElementMap lastWriters(ElementMap map, std::int64_t count)
{
    std::vector<std::int64_t> last(static_cast<std::size_t>(count), -1);
    for (std::size_t i = 0; i < map.size(); ++i) {
        if (map[i] >= 0 && map[i] < count) {
            last[static_cast<std::size_t>(map[i])] = static_cast<std::int64_t>(i);
        }
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
        const bool isIn = map[i] >= 0 && map[i] < count;
        map[i] = isIn && last[static_cast<std::size_t>(map[i])] == static_cast<std::int64_t>(i) ? map[i] : -1;
    }
    return map;
}

/// y[map[i]] = y[map[i]] ∘ updates[i] on a copy of `data`, in the order of i; any number type, bool as 0 and 1.
Tensor scatterReduced(const Tensor& data, const ElementMap& map, const Tensor& updates, ScatterReduction reduction)
{
    const DType computing = computingType(data.dtype());
    const Tensor source = data.to(computing).contiguous();
    const Tensor parts = updates.to(computing).contiguous();
    tensor::TensorBuffer buffer(computing, data.shape());
    std::memcpy(buffer.rawData(), source.rawData(), buffer.bytes());
    const auto run = [&](auto zero) {
        using T = decltype(zero);
        combineAll(map, reinterpret_cast<const T*>(parts.rawData()), reinterpret_cast<T*>(buffer.rawData()),
                   source.size(), reduction);
    };
    if (computing == DType::UInt64) {
        run(std::uint64_t{});
    } else {
        visitNumber(computing, run);
    }
    return std::move(buffer).freeze().to(data.dtype());
}

ScatterGradients scatterGradients(const Tensor& s, const Tensor& data, const ElementMap& map, const Tensor& updates,
                                  ScatterReduction reduction)
{
    if (reduction == ScatterReduction::Add) {
        return {s, gathered(s, map, updates.shape())};
    }
    const Tensor y = scatterReduced(data, map, updates, reduction);
    const Tensor plainS = s.contiguous();
    const Tensor plainData = data.contiguous();
    const Tensor plainUpdates = updates.contiguous();
    tensor::TensorBuffer toData(data.dtype(), data.shape());
    tensor::TensorBuffer toUpdates(data.dtype(), updates.shape());
    visitFloat(data.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const Buffers<T> buffers{plainS.data<T>(), plainData.data<T>(), plainUpdates.data<T>(),
                                 toData.data<T>(), toUpdates.data<T>(), data.size()};
        if (reduction == ScatterReduction::Mul) {
            productGradients(buffers, map);
        } else {
            extremeGradients(buffers, map, y.data<T>());
        }
    });
    return {std::move(toData).freeze(), std::move(toUpdates).freeze()};
}

ScatterOverwrite::ScatterOverwrite(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target)
    : Operator(layout.data), m_layout(std::move(layout)), m_target(std::move(target))
{}

std::vector<Tensor> ScatterOverwrite::forward(std::span<const Tensor> operands) const
{
    return {overwritten(operands[0], m_target->positions(operands), operands[m_layout.updateSlot])};
}

Tensor ScatterOverwrite::carryBack(std::span<const Tensor>, std::size_t slot) const
{
    // Without the indices nothing is known.
    return Tensor::zeros(m_layout.data.dtype, slot == m_layout.updateSlot ? m_layout.updates : m_layout.data.shape);
}

Tensor ScatterOverwrite::carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const
{
    if (!perOutput[0].isValid() || (slot != 0 && slot != m_layout.updateSlot)) {
        return carryBack(perOutput, slot);
    }
    const ElementMap map = m_target->positions(operands);
    const Tensor& s = perOutput[0];
    return slot == 0 ? overwritten(s, map, Tensor::zeros(s.dtype(), m_layout.updates))
                     : gathered(s, lastWriters(map, s.size()), m_layout.updates);
}

ScatterCombine::ScatterCombine(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target,
                               ScatterReduction reduction)
    : Operator(layout.data), m_layout(std::move(layout)), m_target(std::move(target)), m_reduction(reduction)
{}

std::vector<Tensor> ScatterCombine::forward(std::span<const Tensor> operands) const
{
    return {scatterReduced(operands[0], m_target->positions(operands), operands[m_layout.updateSlot], m_reduction)};
}

Reads ScatterCombine::savedForGradient() const
{
    return m_reduction == ScatterReduction::Add ? Reads{Reads::bit(m_layout.indexSlot), 0} : Reads::allOperands();
}

Tensor ScatterCombine::pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                std::size_t slot) const
{
    if (slot != 0 && slot != m_layout.updateSlot) {
        return Tensor::zeros(m_layout.data.dtype, {});
    }
    const ElementMap map = m_target->positions(operands);
    if (m_reduction == ScatterReduction::Add) {
        return slot == 0 ? s[0] : gathered(s[0], map, m_layout.updates);
    }
    const ScatterGradients gradients =
        scatterGradients(s[0], operands[0], map, operands[m_layout.updateSlot], m_reduction);
    return slot == 0 ? gradients.data : gradients.updates;
}

using tensor::Shape;

/// Each update goes to its own index, but for the index along one axis.
class ByElement final : public ScatterTarget
{
public:
    ByElement(Shape data, std::size_t axis) : m_data(std::move(data)), m_axis(axis) {}

    [[nodiscard]] ElementMap positions(std::span<const Tensor> operands) const override
    {
        return elementPositions(operands[1], m_data, m_axis);
    }
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return indicesInside(operands[1], m_data[m_axis]);
    }

private:
    Shape m_data;
    std::size_t m_axis;
};

/// Slices of updates go to index tuples.
class ByTuple final : public ScatterTarget
{
public:
    explicit ByTuple(Shape data) : m_data(std::move(data)) {}

    [[nodiscard]] ElementMap positions(std::span<const Tensor> operands) const override
    {
        return tuplePositions(operands[1], m_data, 0);
    }
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return tuplesInside(operands[1], m_data, 0);
    }

private:
    Shape m_data;
};

/// A run of updates per batch goes to places from a start on, along one axis (a cache of keys or values).
class ByStart final : public ScatterTarget
{
public:
    ByStart(Shape data, Shape updates, std::size_t axis, bool isCircular)
        : m_data(std::move(data)), m_updates(std::move(updates)), m_axis(axis), m_isCircular(isCircular)
    {}

    [[nodiscard]] ElementMap positions(std::span<const Tensor> operands) const override
    {
        const std::vector<std::int64_t> starts = startsOf(operands);
        ElementMap map = roomForPositions(tensor::elementCount(m_updates));
        forEachIndex(m_updates, [&](const Shape& index) {
            map.push_back(positionOf(index, starts[static_cast<std::size_t>(index[0])] + index[m_axis]));
        });
        return map;
    }
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        for (const std::int64_t start : startsOf(operands)) {
            const bool fits = start >= 0 && (m_isCircular || start + m_updates[m_axis] <= m_data[m_axis]);
            if (!fits) {
                return base::inputError(fmt::format("{} updates from {} on do not fit an extent of {}",
                                                    m_updates[m_axis], start, m_data[m_axis]));
            }
        }
        return {};
    }

private:
    /// Where an update goes whose place along the axis is `along`; −1 outside.
    [[nodiscard]] std::int64_t positionOf(const Shape& index, std::int64_t along) const
    {
        const std::int64_t extent = m_data[m_axis];
        along = m_isCircular && extent > 0 ? along % extent : along;
        if (along < 0 || along >= extent) {
            return -1;
        }
        std::int64_t position = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis) {
            position = position * m_data[axis] + (axis == m_axis ? along : index[axis]);
        }
        return position;
    }
    [[nodiscard]] std::vector<std::int64_t> startsOf(std::span<const Tensor> operands) const
    {
        return operands.size() > 2 && operands[2].isValid()
                   ? integersOf(operands[2])
                   : std::vector<std::int64_t>(static_cast<std::size_t>(m_data[0]), 0);
    }

    Shape m_data;
    Shape m_updates;
    std::size_t m_axis;
    bool m_isCircular;
};

/// The attribute 'reduction', by the opset that knows it.
base::Result<ScatterReduction> reductionOf(const BindContext& context, std::int64_t sinceSum, std::int64_t sinceExtreme)
{
    static constexpr std::array<std::string_view, 5> kNames{"none", "add", "mul", "max", "min"};
    const std::string name = context.textAttribute("reduction", "none");
    const auto found = static_cast<std::size_t>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
    const std::int64_t since = found == 0 ? 1 : found < 3 ? sinceSum : sinceExtreme;
    if (found == kNames.size() || context.node.opset < since) {
        return context.error(fmt::format("reduction '{}' is not known at this opset", name));
    }
    return static_cast<ScatterReduction>(found);
}

BoundResult boundScatter(const BindContext& context, std::unique_ptr<const ScatterTarget> target,
                         ScatterReduction reduction)
{
    const TensorType& updates = context.operandTypes[2];
    if (updates.dtype != firstType(context).dtype) {
        return context.error(fmt::format("the updates are {}, but the data is {}; insert a Cast",
                                         tensor::nameOf(updates.dtype), tensor::nameOf(firstType(context).dtype)));
    }
    if (context.constant(1)) {
        const std::array operands{Tensor(), context.constants[1]};
        if (const base::Result<void> inside = target->check(operands); !inside.ok()) {
            return context.error(inside.error().message);
        }
    }
    ScatterLayout layout{firstType(context), updates.shape, 2, 1};
    if (reduction == ScatterReduction::None) {
        return bound<ScatterOverwrite>(std::move(layout), std::move(target));
    }
    return bound<ScatterCombine>(std::move(layout), std::move(target), reduction);
}

BoundResult bindScatterElements(const BindContext& context)
{
    RETRO_CHECK(expectIndices(context, 1));
    const Shape& data = firstType(context).shape;
    const Shape& indices = context.operandTypes[1].shape;
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), data.size()));
    bool fits = indices == context.operandTypes[2].shape && indices.size() == data.size();
    for (std::size_t i = 0; fits && i < data.size(); ++i) {
        fits = i == axis || indices[i] <= data[i];
    }
    if (!fits) {
        return context.error("indices and updates must have one shape that does not reach over the data");
    }
    RETRO_TRY(const ScatterReduction reduction, reductionOf(context, 16, 18));
    return boundScatter(context, std::make_unique<ByElement>(data, axis), reduction);
}

BoundResult bindScatterNd(const BindContext& context)
{
    RETRO_CHECK(expectIndices(context, 1));
    const Shape& data = firstType(context).shape;
    const Shape& indices = context.operandTypes[1].shape;
    RETRO_TRY(const std::size_t axes, tupleAxes(context, indices, data, 0));
    Shape expected(indices.begin(), indices.end() - 1);
    expected.insert(expected.end(), data.begin() + static_cast<std::ptrdiff_t>(axes), data.end());
    if (context.operandTypes[2].shape != expected) {
        return context.error(fmt::format("the updates must have the shape [{}]", tensor::toText(expected)));
    }
    RETRO_TRY(const ScatterReduction reduction, reductionOf(context, 16, 18));
    return boundScatter(context, std::make_unique<ByTuple>(data), reduction);
}

base::Result<void> expectCache(const BindContext& context, std::size_t axis)
{
    const Shape& data = firstType(context).shape;
    Shape updates = context.operandTypes[1].shape;
    if (updates.size() == data.size()) {
        updates[axis] = data[axis];
    }
    if (updates != data || axis == 0 || context.operandTypes[1].dtype != firstType(context).dtype) {
        return context.error("the update must have the type and the shape of the cache, but for the extent along an "
                             "axis that is not the first");
    }
    if (context.present(2) && context.operandTypes[2].shape != Shape{data[0]}) {
        return context.error(fmt::format("write_indices must have the shape [{}]", data[0]));
    }
    return {};
}

BoundResult bindTensorScatter(const BindContext& context)
{
    const Shape& data = firstType(context).shape;
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", -2), data.size()));
    RETRO_CHECK(expectCache(context, axis));
    if (context.present(2)) {
        RETRO_CHECK(expectIndices(context, 2));
    }
    const std::string mode = context.textAttribute("mode", "linear");
    if (mode != "linear" && mode != "circular") {
        return context.error(fmt::format("mode '{}' is unknown; only 'linear' and 'circular' are", mode));
    }
    const Shape& updates = context.operandTypes[1].shape;
    return bound<ScatterOverwrite>(ScatterLayout{firstType(context), updates, 1, 2},
                                   std::make_unique<ByStart>(data, updates, axis, mode == "circular"));
}

} // namespace

const OperatorFamily kScatterOperators{
    {"", "Scatter", 9, 10, "shape map", true, bindScatterElements},
    {"", "ScatterElements", 11, 0, "shape map, function", true, bindScatterElements},
    {"", "ScatterND", 11, 0, "shape map, function", true, bindScatterNd},
    {"", "TensorScatter", 24, 0, "shape map", true, bindTensorScatter},
};

} // namespace retro::ops
