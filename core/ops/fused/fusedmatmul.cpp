// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/linear/matrixmap.h"
#include "core/ops/linear/storedweight.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// How an operand is read: its first axis put before the last one where asked, then the last two swapped.
struct FusedSide
{
    bool swaps = false;
    bool movesBatch = false;

    [[nodiscard]] Shape shape(Shape own) const
    {
        if (movesBatch) {
            std::rotate(own.begin(), own.begin() + 1, own.end() - 1);
        }
        if (swaps) {
            std::swap(own[own.size() - 1], own[own.size() - 2]);
        }
        return own;
    }
    [[nodiscard]] Tensor read(const Tensor& t) const
    {
        const Tensor moved = movesBatch ? t.permuted(shapeOfOrder(t.rank(), 1)) : t;
        return swaps ? swapped(moved) : moved;
    }
    /// The way back.
    [[nodiscard]] Tensor unread(const Tensor& t) const
    {
        const Tensor moved = swaps ? swapped(t) : t;
        return (movesBatch ? moved.permuted(shapeOfOrder(t.rank(), static_cast<std::ptrdiff_t>(t.rank()) - 2)) : moved)
            .contiguous();
    }

private:
    /// 0, 1, … with all but the last rotated by `by`.
    static Shape shapeOfOrder(std::size_t rank, std::ptrdiff_t by)
    {
        Shape order(rank);
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::rotate(order.begin(), order.begin() + by, order.end() - 1);
        return order;
    }
};

struct FusedSetting
{
    FusedSide a;
    FusedSide b;
    double alpha = 1;
};

/// alpha·a·b over the last two axes of what is read of each.
class FusedMatMul final : public Operator<Bilinear>
{
public:
    FusedMatMul(TensorType output, Shape a, Shape b, const FusedSetting& setting)
        : Operator(std::move(output)), m_a(std::move(a)), m_b(std::move(b)), m_setting(setting)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {apply(operands[0], operands[1])};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] Tensor apply(const Tensor& a, const Tensor& b) const override
    {
        return algebra::scale(matrixProduct(left(a), right(b)), m_setting.alpha);
    }
    [[nodiscard]] Tensor pullback(const Tensor& s, const Tensor& a, const Tensor& b, std::size_t slot) const override
    {
        const Tensor scaled = algebra::scale(s, m_setting.alpha);
        const Tensor full =
            slot == 0 ? matrixProduct(scaled, swapped(right(b))) : matrixProduct(swapped(left(a)), scaled);
        const FusedSide& side = slot == 0 ? m_setting.a : m_setting.b;
        return side.unread(algebra::reduceTo(full, side.shape(slot == 0 ? m_a : m_b)));
    }

private:
    [[nodiscard]] Tensor left(const Tensor& a) const { return m_setting.a.read(a); }
    [[nodiscard]] Tensor right(const Tensor& b) const { return m_setting.b.read(b); }

    Shape m_a;
    Shape m_b;
    FusedSetting m_setting;
};

/// A product with a constant matrix on the right, which takes the swap and the factor.
BoundResult boundMap(const BindContext& context, const FusedSetting& setting, Shape output)
{
    const TensorType& x = firstType(context);
    MatrixMapPlan plan;
    plan.isTransposed = setting.a.swaps;
    plan.xOuter = x.shape;
    const std::int64_t depth = setting.a.shape(x.shape).back();
    const std::int64_t rows = depth == 0 ? 0 : tensor::elementCount(x.shape) / depth;
    plan.xInner = {rows, depth};
    plan.zInner = {rows, output.back()};
    const Tensor given = setting.alpha == 1 ? storedWeight(context, 1).contiguous()
                                            : algebra::scale(context.constants[1].contiguous(), setting.alpha);
    plan.weight = setting.b.swaps ? swapped(given) : given; // a view: nothing is moved
    return bound<MatrixMap>(TensorType{x.dtype, std::move(output)}, std::move(plan));
}

BoundResult bindFusedMatMul(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const Shape& outerA = context.operandTypes[0].shape;
    const Shape& outerB = context.operandTypes[1].shape;
    if (outerA.size() < 2 || outerB.size() < 2) {
        return context.error("both operands need at least two axes");
    }
    const auto isSet = [&context](std::string_view name) { return context.intAttribute(name, 0) != 0; };
    const FusedSetting setting{{isSet("transA"), isSet("transBatchA")},
                               {isSet("transB"), isSet("transBatchB")},
                               context.floatAttribute("alpha", 1)};
    if ((setting.a.movesBatch || setting.b.movesBatch) && (outerA.size() < 3 || outerA.size() != outerB.size())) {
        return context.error("transBatchA and transBatchB need two operands of one rank of at least 3");
    }
    const Shape a = setting.a.shape(outerA);
    const Shape b = setting.b.shape(outerB);
    if (a.back() != b[b.size() - 2]) {
        return context.error(fmt::format("inner extents {} and {} differ", a.back(), b[b.size() - 2]));
    }
    RETRO_TRY(Shape output, broadcastShape(context, {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2}));
    output.insert(output.end(), {a[a.size() - 2], b.back()});
    RETRO_CHECK(expectSize(context, output));
    if (context.constant(1) && b.size() == 2 && (!setting.a.swaps || a.size() == 2)) {
        return boundMap(context, setting, std::move(output));
    }
    return bound<FusedMatMul>(TensorType{firstType(context).dtype, std::move(output)}, outerA, outerB, setting);
}

} // namespace

const OperatorFamily kFusedMatMulOperators{
    {"com.microsoft", "FusedMatMul", 1, 0, "linear map, bilinear", true, bindFusedMatMul},
};

} // namespace retro::ops
