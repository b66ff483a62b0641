// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/linear/matrixmap.h"
#include "core/ops/linear/storedweight.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using tensor::Shape;

struct FusedSetting
{
    bool swapsA = false;
    bool swapsB = false;
    double alpha = 1;
};

Shape swappedShape(Shape shape, bool swaps)
{
    if (swaps) {
        std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    }
    return shape;
}

/// alpha·a·b over the last two axes, each swapped first where asked.
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
        const Shape& own = slot == 0 ? m_a : m_b;
        const bool swaps = slot == 0 ? m_setting.swapsA : m_setting.swapsB;
        const Tensor reduced = algebra::reduceTo(full, swappedShape(own, swaps));
        return swaps ? swapped(reduced).contiguous() : reduced;
    }

private:
    [[nodiscard]] Tensor left(const Tensor& a) const { return m_setting.swapsA ? swapped(a) : a; }
    [[nodiscard]] Tensor right(const Tensor& b) const { return m_setting.swapsB ? swapped(b) : b; }

    Shape m_a;
    Shape m_b;
    FusedSetting m_setting;
};

/// A product with a constant matrix on the right, which takes the swap and the factor.
BoundResult boundMap(const BindContext& context, const FusedSetting& setting, Shape output)
{
    const TensorType& x = firstType(context);
    MatrixMapPlan plan;
    plan.isTransposed = setting.swapsA;
    plan.xOuter = x.shape;
    const std::int64_t depth = swappedShape(x.shape, setting.swapsA).back();
    const std::int64_t rows = depth == 0 ? 0 : tensor::elementCount(x.shape) / depth;
    plan.xInner = {rows, depth};
    plan.zInner = {rows, output.back()};
    const Tensor given = setting.alpha == 1 ? storedWeight(context, 1).contiguous()
                                            : algebra::scale(context.constants[1].contiguous(), setting.alpha);
    plan.weight = setting.swapsB ? swapped(given) : given; // a view: nothing is moved
    return bound<MatrixMap>(TensorType{x.dtype, std::move(output)}, std::move(plan));
}

BoundResult bindFusedMatMul(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = 2,
                                 .most = 2,
                                 .types = OperandTypes::Floats,
                                 .attributes = {{"alpha", AttributeKind::Float},
                                                {"transA", AttributeKind::Int},
                                                {"transB", AttributeKind::Int},
                                                {"transBatchA", AttributeKind::Int},
                                                {"transBatchB", AttributeKind::Int}}}));
    if (context.intAttribute("transBatchA", 0) != 0 || context.intAttribute("transBatchB", 0) != 0) {
        return context.error("transBatchA and transBatchB are not supported; export with Transpose nodes");
    }
    const Shape& outerA = context.operandTypes[0].shape;
    const Shape& outerB = context.operandTypes[1].shape;
    if (outerA.size() < 2 || outerB.size() < 2) {
        return context.error("both operands need at least two axes");
    }
    const FusedSetting setting{context.intAttribute("transA", 0) != 0, context.intAttribute("transB", 0) != 0,
                               context.floatAttribute("alpha", 1)};
    const Shape a = swappedShape(outerA, setting.swapsA);
    const Shape b = swappedShape(outerB, setting.swapsB);
    if (a.back() != b[b.size() - 2]) {
        return context.error(fmt::format("inner extents {} and {} differ", a.back(), b[b.size() - 2]));
    }
    RETRO_TRY(Shape output, broadcastShape(context, {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2}));
    output.insert(output.end(), {a[a.size() - 2], b.back()});
    RETRO_CHECK(expectSize(context, output));
    if (context.constant(1) && b.size() == 2 && (!setting.swapsA || a.size() == 2)) {
        return boundMap(context, setting, std::move(output));
    }
    return bound<FusedMatMul>(TensorType{firstType(context).dtype, std::move(output)}, outerA, outerB, setting);
}

} // namespace

std::span<const OperatorDeclaration> fusedMatMulDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"com.microsoft", "FusedMatMul", 1, 0, "linear map, bilinear", true, bindFusedMatMul},
    };
    return kDeclarations;
}

} // namespace retro::ops
