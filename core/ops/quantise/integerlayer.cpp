// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/boundoperator.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/quantise/straightthrough.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

namespace retro::ops
{

namespace
{

/// Which axes of a weight one sum runs over: all but the first (Conv), the one before the last (MatMul), the last.
enum class SumAxis : std::uint8_t { AllButFirst, BeforeLast, Last };

/// A linear operator (Conv, Gemm or MatMul without a bias) on whole numbers, exactly. float32 holds every whole number
/// up to 2²⁴: left operands are cut into digits so small that no sum goes beyond it, and the parts are added in double.
class ExactProduct
{
public:
    ExactProduct() = default;
    /// `product` is bound in `type`, which is double where fitsFloat() says no; `weight`: its operand 1 when that is
    /// constant, else invalid.
    ExactProduct(std::unique_ptr<BoundOperator> product, const Tensor& weight, tensor::DType type, SumAxis axis);

    /// False where sums of such a weight need double whatever the digits are.
    [[nodiscard]] static bool fitsFloat(const Tensor& weight, SumAxis axis);
    /// The product in double. `x` and `w` hold whole numbers.
    [[nodiscard]] Tensor of(const Tensor& x, const Tensor& w) const;

private:
    [[nodiscard]] Tensor once(const Tensor& x, const Tensor& w) const;

    std::unique_ptr<BoundOperator> m_product;
    tensor::DType m_type = tensor::DType::Float32;
    double m_weightSum = 0; ///< bound of Σ|w| of one sum; 0: the weight is computed
};

using tensor::DType;

constexpr double kExactInFloat = 1 << 24;
constexpr double kLeastBase = 4;

double largestMagnitude(const Tensor& t)
{
    const Tensor flat = t.contiguous();
    return visitFloat(flat.dtype(), [&](auto of) {
        double most = 0;
        for (const auto v : flat.span<decltype(of)>()) {
            most = std::max(most, std::abs(static_cast<double>(v)));
        }
        return most;
    });
}

/// The largest Σ|w| of one sum, at least 1.
double boundOfSums(const Tensor& weight, SumAxis axis)
{
    const Tensor flat = weight.contiguous();
    const auto& shape = flat.shape();
    if (flat.size() == 0 || shape.empty()) {
        return 1;
    }
    const std::int64_t rows = axis == SumAxis::AllButFirst ? shape[0] : flat.size() / shape.back();
    const std::int64_t columns = flat.size() / rows;
    return visitFloat(flat.dtype(), [&](auto of) {
        const auto values = flat.span<decltype(of)>();
        const bool isDown = axis == SumAxis::BeforeLast && shape.size() > 1;
        std::vector<double> sums(static_cast<std::size_t>(isDown ? columns : rows));
        for (std::int64_t i = 0; i < flat.size(); ++i) {
            const auto at = static_cast<std::size_t>(isDown ? i % columns : i / columns);
            sums[at] += std::abs(static_cast<double>(values[static_cast<std::size_t>(i)]));
        }
        return std::max(1.0, *std::max_element(sums.begin(), sums.end()));
    });
}

/// The most that may be multiplied with: a power of two.
double baseOf(double weightSum) { return std::exp2(std::floor(std::log2(kExactInFloat / weightSum))); }

/// x − base·⌊x / base⌋ or ⌊x / base⌋.
Tensor digitOf(const Tensor& x, double base, bool isLow)
{
    const Tensor in = x.contiguous();
    return filled(in.dtype(), in.shape(), [&](auto* y) {
        using T = std::decay_t<decltype(*y)>;
        const auto* v = elements(in, y);
        const T step = static_cast<T>(base);
        for (std::int64_t i = 0; i < in.size(); ++i) {
            const T high = std::floor(v[i] / step);
            y[i] = isLow ? v[i] - step * high : high;
        }
    });
}

ExactProduct::ExactProduct(std::unique_ptr<BoundOperator> product, const Tensor& weight, DType type, SumAxis axis)
    : m_product(std::move(product)), m_type(type), m_weightSum(weight.isValid() ? boundOfSums(weight, axis) : 0)
{}

bool ExactProduct::fitsFloat(const Tensor& weight, SumAxis axis)
{
    return weight.isValid() && baseOf(boundOfSums(weight, axis)) >= kLeastBase;
}

Tensor ExactProduct::once(const Tensor& x, const Tensor& w) const
{
    const std::array<Tensor, 2> operands{x.to(m_type), w.to(m_type)};
    return m_product->forward(operands)[0].to(DType::Float64).contiguous();
}

Tensor ExactProduct::of(const Tensor& x, const Tensor& w) const
{
    if (m_type == DType::Float64 || !std::isfinite(largestMagnitude(x))) {
        return once(x, w);
    }
    const double base = baseOf(m_weightSum);
    Tensor rest = x;
    Tensor sum;
    double place = 1;
    while (largestMagnitude(rest) > base) {
        const Tensor part = algebra::scale(once(digitOf(rest, base, true), w), place);
        sum = sum.isValid() ? algebra::add(sum, part) : part;
        rest = digitOf(rest, base, false);
        place *= base;
    }
    const Tensor part = algebra::scale(once(rest, w), place);
    return sum.isValid() ? algebra::add(sum, part) : part;
}

using tensor::Shape;

constexpr std::size_t kBiasSlot = 2;
constexpr std::size_t kLeftScale = 3;
constexpr std::size_t kRightScale = 4;

/// The whole numbers that a dequantised tensor is multiples of its scale by, in its type.
Tensor wholeOf(const Tensor& values, const Tensor& scale)
{
    const Tensor steps = algebra::broadcastTo(scale.to(values.dtype()), values.shape()).contiguous();
    const Tensor x = values.contiguous();
    return filled(x.dtype(), x.shape(), [&](auto* y) {
        const auto* in = elements(x, y);
        const auto* step = elements(steps, y);
        for (std::int64_t i = 0; i < x.size(); ++i) {
            y[i] = step[i] == 0 ? std::decay_t<decltype(*y)>{0} : std::nearbyint(in[i] / step[i]);
        }
    });
}

/// Scales of the rows or columns of a weight as they broadcast to the result.
Tensor alongResult(const Tensor& scale, const Shape& result, std::size_t axis)
{
    if (scale.size() == 1) {
        return scale.contiguous().reshaped({});
    }
    Shape shape(result.size(), 1);
    shape[axis] = scale.size();
    return scale.contiguous().reshaped(std::move(shape));
}

/// A linear layer whose operands are dequantised: multiples of a scale. The value is that of the product of whole
/// numbers, which is exact, times both scales; everything else, relevance and gradients among it, is that of the layer
/// that it stands for.
class IntegerLayer final : public BoundOperator, public StraightThrough
{
public:
    struct Parts
    {
        std::unique_ptr<BoundOperator> layer; ///< in floating point, with the bias
        ExactProduct whole;                   ///< of whole numbers, without it
        Tensor wholeWeight;                   ///< invalid when the weight is computed
        Shape biasShape;                      ///< as it broadcasts to the result
        std::size_t columnAxis = 1;           ///< of the result
    };

    explicit IntegerLayer(Parts parts) : m_parts(std::move(parts)) { m_outputTypes = m_parts.layer->outputTypes(); }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = wholeOf(operands[0], operands[kLeftScale]);
        const Tensor w =
            m_parts.wholeWeight.isValid() ? m_parts.wholeWeight : wholeOf(operands[1], operands[kRightScale]);
        const Tensor sum = m_parts.whole.of(x, w); // in double
        const Shape& shape = m_outputTypes[0].shape;
        const Tensor left = operands[kLeftScale].to(DType::Float64).contiguous().reshaped({});
        const Tensor right = alongResult(operands[kRightScale].to(DType::Float64), shape, m_parts.columnAxis);
        Tensor result = algebra::scale(algebra::multiplyBroadcast(sum.reshaped(shape), right), left.at(0));
        if (operands[kBiasSlot].isValid()) {
            const Tensor bias = operands[kBiasSlot].to(DType::Float64).contiguous();
            result = algebra::addBroadcast(result, bias.reshaped(m_parts.biasShape));
        }
        return {result.to(m_outputTypes[0].dtype)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return m_parts.layer->savedForGradient(); }
    [[nodiscard]] const Structure& structure() const override { return m_parts.layer->structure(); }
    [[nodiscard]] double flops() const override { return m_parts.layer->flops(); }

private:
    Parts m_parts;
};

/// The node without scales, as the layer that it stands for.
graph::Node layerNode(const BindContext& context)
{
    graph::Node node = context.node;
    const bool hasBias = context.present(kBiasSlot);
    node.inputs.resize(hasBias ? 3 : 2);
    const bool isLinear = node.op == "MatMul" && hasBias;
    node.domain = isLinear ? "retrograde" : "";
    node.opset = isLinear ? 1 : kNewestOpset;
    return node;
}

BoundResult bindLayer(const BindContext& context, const graph::Node& node)
{
    const std::size_t count = std::min(node.inputs.size(), context.constants.size());
    return bind({context.graph, context.id, node, context.operandTypes.first(node.inputs.size()),
                 context.constants.first(count), context.floatType, context.source});
}

SumAxis sumAxisOf(const graph::Node& node)
{
    if (node.op == "Conv") {
        return SumAxis::AllButFirst;
    }
    return graph::isSet(node, "transB") ? SumAxis::Last : SumAxis::BeforeLast;
}

/// The product of whole numbers; `weight` is invalid when it is computed.
base::Result<ExactProduct> bindWhole(const BindContext& context, graph::Node node, const Tensor& weight)
{
    node.inputs.resize(2);
    node.domain.clear();
    node.opset = kNewestOpset;
    const bool isWide = !ExactProduct::fitsFloat(weight, sumAxisOf(node));
    const DType type = isWide ? DType::Float64 : firstType(context).dtype;
    std::array types{context.operandTypes[0], context.operandTypes[1]};
    types[0].dtype = type;
    types[1].dtype = type;
    std::array<Tensor, 2> constants;
    if (weight.isValid()) {
        constants[1] = weight.to(type);
        node.inputs[1] = graph::ValueId(context.graph.valueCount()); // not what the graph stores there
    }
    RETRO_TRY(auto product, bind({context.graph, context.id, node, types, constants, type, context.source}));
    return ExactProduct(std::move(product), weight, type, sumAxisOf(node));
}

base::Result<void> expectLayer(const BindContext& context)
{
    for (const std::size_t slot : {kLeftScale, kRightScale}) {
        if (!context.present(slot) || !tensor::isFloating(context.operandTypes[slot].dtype)) {
            return context.error(fmt::format("operand {} must be the floating scale of an operand", slot));
        }
    }
    if (tensor::elementCount(context.operandTypes[kLeftScale].shape) != 1) {
        return context.error("the scale of operand 0 (operand 3) must be one number");
    }
    if (context.intAttribute("transA", 0) != 0 || context.floatAttribute("beta", 1) != 1 ||
        context.floatAttribute("alpha", 1) != 1) {
        return context.error("transA, alpha and beta are not supported here; use the operator of the standard");
    }
    return {};
}

/// The scale of the weight is one number, or one per column of the result, as it broadcasts to the weight.
base::Result<void> expectRightScale(const BindContext& context, const Shape& result, std::size_t axis)
{
    const Shape& scale = context.operandTypes[kRightScale].shape;
    if (tensor::elementCount(scale) == 1) {
        return {};
    }
    const Shape& weight = context.operandTypes[1].shape;
    const bool isOfRows = context.node.op == "Conv" || context.intAttribute("transB", 0) != 0;
    Shape wanted(weight.size(), 1);
    wanted[isOfRows ? 0 : weight.size() - 1] = result[axis];
    const bool isLast = !isOfRows && scale == Shape{result[axis]};
    return isLast || scale == wanted ? base::Result<void>()
                                     : context.error(fmt::format("the scale of operand 1 (operand 4) must be one "
                                                                 "number or have the shape [{}]",
                                                                 tensor::toText(wanted)));
}

BoundResult bindIntegerLayer(const BindContext& context)
{
    if (context.node.inputs.size() <= kLeftScale) {
        return bindLayer(context, layerNode(context));
    }
    RETRO_CHECK(expectLayer(context));
    const graph::Node node = layerNode(context);
    if (node.domain == "retrograde" && (!context.constant(1) || !context.constant(kBiasSlot))) {
        return context.error(
            "a product of whole numbers with a bias needs constant weights and bias; gradients by them "
            "are not implemented");
    }
    IntegerLayer::Parts parts;
    RETRO_TRY(parts.layer, bindLayer(context, node));
    const Shape& result = parts.layer->outputTypes()[0].shape;
    if (result.empty()) {
        return context.error("the product of two vectors is not supported here; use the operator of the standard");
    }
    parts.columnAxis = node.op == "Conv" ? 1 : result.size() - 1;
    RETRO_CHECK(expectRightScale(context, result, parts.columnAxis));
    if (context.present(kBiasSlot)) {
        parts.biasShape = context.operandTypes[kBiasSlot].shape;
        if (node.op == "Conv") {
            parts.biasShape = Shape(result.size(), 1);
            parts.biasShape[1] = result[1];
        }
    }
    if (context.constant(1) && context.constant(kRightScale)) {
        parts.wholeWeight = wholeOf(context.constants[1], context.constants[kRightScale]);
    }
    RETRO_TRY(parts.whole, bindWhole(context, node, parts.wholeWeight));
    return bound<IntegerLayer>(std::move(parts));
}

} // namespace

const OperatorFamily kIntegerLayerOperators{
    {"retrograde.integer", "Conv", 1, 0, "linear map, function", true, bindIntegerLayer},
    {"retrograde.integer", "Gemm", 1, 0, "linear map, bilinear, function", true, bindIntegerLayer},
    {"retrograde.integer", "MatMul", 1, 0, "linear map, bilinear", true, bindIntegerLayer},
};

} // namespace retro::ops
