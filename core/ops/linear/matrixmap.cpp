// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear/matrixmap.h"

#include "core/base/memoryaccount.h"
#include "core/base/memorylimit.h"
#include "core/ops/algebra.h"
#include "core/ops/algebraover.h"
#include "core/ops/kernel/fewrows.h"
#include "core/ops/kernel/floatproduct.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/kernel/weightedrows.h"

#include <optional>

namespace retro::ops
{

using tensor::Shape;

MatrixMap::MatrixMap(TensorType output, MatrixMapPlan plan)
    : Operator(std::move(output)), m_plan(std::move(plan)), m_weight(m_plan.weight, m_outputTypes[0].dtype),
      m_bias(m_plan.bias, m_outputTypes[0].dtype)
{}

Reads MatrixMap::savedForGradient() const { return {Reads::bit(0) | Reads::bit(1), 0}; }

double MatrixMap::flops() const
{
    const std::size_t rank = m_plan.xInner.size();
    const std::int64_t depth = m_plan.xInner[m_plan.isWeightOnRight ? rank - 1 : rank - 2];
    return 2.0 * static_cast<double>(tensor::elementCount(m_plan.zInner)) * static_cast<double>(depth);
}

Tensor MatrixMap::bias(WeightVariant variant) const { return m_bias.get(variant); }

const Shape& MatrixMap::weightShape() const { return m_plan.packed ? m_plan.packed->shape() : m_weight.shape(); }

Tensor MatrixMap::weight(WeightVariant variant) const
{
    return m_plan.packed ? variantOf(m_plan.packed->widened(m_outputTypes[0].dtype), variant) : m_weight.get(variant);
}

Tensor MatrixMap::inner(const Tensor& x) const
{
    return m_plan.isTransposed ? swapped(x).contiguous() : x.reshaped(m_plan.xInner);
}

namespace
{

/// Variants of wider weights of more bytes are not kept: they are made piece by piece, as narrow weights are widened.
constexpr std::int64_t kMostKeptBytes = 64 << 20;

/// x times the rows, or times their transpose.
Tensor productOfRows(const Tensor& x, const WeightRows& rows, bool isTurned)
{
    const Tensor in = x.contiguous();
    const std::int64_t depth = isTurned ? rows.length() : rows.rows();
    const std::int64_t columns = isTurned ? rows.rows() : rows.length();
    Shape shape = in.shape();
    shape.back() = columns;
    tensor::TensorBuffer buffer(in.dtype(), shape);
    if (tensor::elementCount(shape) > 0) {
        multiplyStored({in.data<float>(), tensor::elementCount(shape) / columns, depth, depth, 1}, rows, isTurned,
                       buffer.data<float>(), columns);
    }
    return std::move(buffer).freeze();
}

} // namespace

std::unique_ptr<const WeightRows> MatrixMap::rows(const Tensor& x, WeightVariant variant, bool& isTurned) const
{
    if (m_plan.packed) {
        isTurned = true;
        return x.dtype() == tensor::DType::Float32 ? m_plan.packed->columns(WeightVariants::canonical(variant))
                                                   : nullptr;
    }
    const Tensor& weight = m_weight.stored();
    const bool isPiecewise = !m_weight.isKept() || (variant.part != WeightPart::All && weight.bytes() > kMostKeptBytes);
    if (!isPiecewise || !m_plan.isWeightOnRight || weight.rank() != 2 || x.dtype() != tensor::DType::Float32) {
        return nullptr;
    }
    isTurned = swapped(weight).isContiguous();
    const Tensor matrix = isTurned ? swapped(weight) : weight;
    return hasWeightRows(matrix) ? weightRows(matrix, WeightVariants::canonical(variant)) : nullptr;
}

Tensor MatrixMap::product(const Tensor& x, WeightVariant variant, bool isBackward) const
{
    bool isTurned = false;
    if (const std::unique_ptr<const WeightRows> stored = rows(x, variant, isTurned)) {
        if (isBackward && isTurned) {
            if (Tensor sum = weightedRows(x, *stored); sum.isValid()) {
                return sum;
            }
        }
        return productOfRows(x, *stored, isTurned != isBackward);
    }
    const Tensor whole = weight(variant);
    const Tensor factor = isBackward ? swapped(whole) : whole;
    if (isBackward && m_plan.isWeightOnRight) {
        if (Tensor sum = weightedRows(x, factor); sum.isValid()) {
            return sum;
        }
    }
    return m_plan.isWeightOnRight ? matrixProduct(x, factor) : matrixProduct(factor, x);
}

Tensor MatrixMap::apply(const Tensor& x, WeightVariant variant) const
{
    return product(inner(x), variant, false).reshaped(m_outputTypes[0].shape);
}

Tensor MatrixMap::backward(const Tensor& s, WeightVariant variant) const
{
    const bool isPerRow = m_plan.isWeightOnRight && weightShape().size() == 2;
    const std::optional<FewRows> few = isPerRow ? FewRows::of(s) : std::nullopt;
    if (!few) {
        return algebra::reduceTo(product(s, variant, true), m_plan.xInner);
    }
    return few->spread(product(few->packed(), variant, true), m_plan.xInner);
}

Tensor MatrixMap::pullback(const Tensor& s, WeightVariant variant) const
{
    const Tensor r = backward(s.reshaped(m_plan.zInner), variant);
    return m_plan.isTransposed ? swapped(r).contiguous() : r.reshaped(m_plan.xOuter);
}

bool MatrixMap::isOneProduct(const Tensor& x) const
{
    const Shape& weight = weightShape();
    const bool isPlain = m_plan.isWeightOnRight && weight.size() == 2 && x.dtype() == tensor::DType::Float32;
    return isPlain && weight[0] > 0 && tensor::elementCount(m_plan.zInner) > 0 && m_plan.zInner.back() == weight[1] &&
           tensor::elementCount(m_plan.xInner) / weight[0] == tensor::elementCount(m_plan.zInner) / weight[1];
}

const Tensor* MatrixMap::keptPack(const reference::MatrixView<float>& b) const
{
    return m_pack.fromSecond(0, [&] {
        const std::int64_t needed = base::MemoryAccount::tensors().peak() + 4 * b.rows * b.columns;
        return static_cast<std::uint64_t>(needed) <= base::MemoryLimit::bytes() ? packFloats(b) : Tensor();
    });
}

Tensor MatrixMap::inOneWalk(const Tensor& x, const RowsOver* over) const
{
    if (!isOneProduct(x)) {
        return {};
    }
    const Shape& weight = weightShape();
    const Tensor bias = hasBias() ? m_bias.get({}).contiguous() : Tensor();
    if (bias.isValid() && (bias.size() != weight[1] || bias.shape().empty() || bias.shape().back() != weight[1])) {
        return {};
    }
    const Tensor in = inner(x).contiguous();
    const reference::MatrixView<float> a{in.data<float>(), in.size() / weight[0], weight[0], weight[0], 1};
    const AfterProduct after{bias.isValid() ? bias.data<float>() : nullptr, over};
    tensor::TensorBuffer buffer(x.dtype(), m_plan.zInner);
    bool isTurned = false;
    if (const std::unique_ptr<const WeightRows> stored = rows(x, {}, isTurned)) {
        multiplyStored(a, *stored, isTurned, buffer.data<float>(), weight[1], after);
        return std::move(buffer).freeze().reshaped(m_outputTypes[0].shape);
    }
    Tensor matrix = m_weight.get({});
    isTurned = swapped(matrix).isContiguous();
    matrix = isTurned ? matrix : matrix.contiguous();
    const reference::MatrixView<float> b{matrix.data<float>(), weight[0], weight[1], isTurned ? 1 : weight[1],
                                         isTurned ? weight[0] : 1};
    if (const Tensor* kept = isPackingLong(a, b) ? keptPack(b) : nullptr; kept != nullptr && kept->isValid()) {
        multiplyPacked(a, *kept, weight[1], buffer.data<float>(), weight[1], after);
    } else {
        multiplyFloats(a, b, buffer.data<float>(), weight[1], after);
    }
    return std::move(buffer).freeze().reshaped(m_outputTypes[0].shape);
}

std::vector<Tensor> MatrixMap::forward(std::span<const Tensor> operands) const
{
    if (Tensor z = inOneWalk(operands[m_plan.slot], nullptr); z.isValid()) {
        return {std::move(z)};
    }
    Tensor z = apply(operands[m_plan.slot], {});
    return {hasBias() ? algebra::addOver(std::move(z), m_bias.get({})) : z};
}

Tensor MatrixMap::forwardThrough(std::span<Tensor> operands, const RowsOver& rows) const
{
    return inOneWalk(operands[m_plan.slot], &rows);
}

} // namespace retro::ops
