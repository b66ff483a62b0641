// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace retro::ops
{

using tensor::Tensor;

/// What an operator is, for relevance rules and gradients. A rule is written once per structure, never per operator.
enum class StructureKind : std::uint8_t {
    LinearMap, ///< linear in one operand, weight (and bias) constant: Conv, ConvTranspose, Gemm, MatMul by a constant
    Bilinear,  ///< product sum of two tracked operands: MatMul, Gemm
    SumOfOperands, ///< signed sum of operands with broadcasting: Add, Sub, Sum
    Product,       ///< element-wise product with broadcasting: Mul
    Quotient,      ///< element-wise quotient with broadcasting: Div
    ShapeMap, ///< moves elements (each result element reads at most one operand element): Reshape, Transpose, Concat,
              ///< Split, Pad, Neg …
    ElementWise,   ///< one operand, element by element: activations
    Reduction,     ///< sum or mean over axes
    AveragePool,   ///< positive weighted mean over windows
    MaxPool,       ///< winner of a window
    Normalisation, ///< per-channel affine with stored statistics: BatchNormalization
    Softmax,
    Differentiable, ///< a function that knows its reverse rule and nothing more: Pow, Max, ReduceL2, CumSum, Einsum …
    SelfNormalisation, ///< operand 0 by a statistic of itself: LayerNormalization, RMSNormalization, LRN
    Composed,          ///< many steps in one, known by its reverse rule: LSTM, Attention, DeformConv
    TableLookup,       ///< comparisons choose rows of tables, whose sum is the result: LUT
    NoRelevance        ///< integer or index results: no relevance passes
};

/// "linear map", "sum of operands", …
[[nodiscard]] std::string_view nameOf(StructureKind kind);

/// Base of the structures. Immutable and safe to share between threads. Lifetime: owned by its BoundOperator.
class Structure
{
public:
    virtual ~Structure() = default;
    [[nodiscard]] virtual StructureKind kind() const = 0;
};

/// How a rule changes a constant weight or bias before use: w' = w, w⁺, w⁻, w + g·w⁺, w + g·w⁻, w², 1.
enum class WeightPart : std::uint8_t { All, Positive, Negative, GammaPositive, GammaNegative, Square, Ones };

/// A weight variant. `gamma` counts for GammaPositive and GammaNegative only.
struct WeightVariant
{
    WeightPart part = WeightPart::All;
    double gamma = 0;
    auto operator<=>(const WeightVariant&) const = default;
};

/// z = x·W + b with constant W and b (Conv of any rank and group, ConvTranspose, Gemm, MatMul by a constant on either
/// side). Shapes: x as operand `operandSlot()`, z as the operator's output 0. Weight variants are made and packed once
/// and kept.
class LinearMap : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::LinearMap; }
    /// Which operand of the node is x.
    [[nodiscard]] virtual std::size_t operandSlot() const = 0;
    [[nodiscard]] virtual bool hasBias() const = 0;
    /// Bias variant broadcast to be added to z (shape broadcastable to z); invalid without a bias.
    [[nodiscard]] virtual Tensor bias(WeightVariant variant) const = 0;
    /// x·W' (without bias), shape of z.
    [[nodiscard]] virtual Tensor apply(const Tensor& x, WeightVariant variant) const = 0;
    /// s·W'ᵀ: the transposed map, from the shape of z to the shape of x.
    [[nodiscard]] virtual Tensor pullback(const Tensor& s, WeightVariant variant) const = 0;
};

/// z = a·b, linear in each of two operands (batched and broadcast matrix products included).
class Bilinear : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::Bilinear; }
    /// a·b, shape of z.
    [[nodiscard]] virtual Tensor apply(const Tensor& a, const Tensor& b) const = 0;
    /// Gradient of Σ s·z with respect to operand `slot` (0: a, 1: b), in that operand's shape.
    [[nodiscard]] virtual Tensor pullback(const Tensor& s, const Tensor& a, const Tensor& b,
                                          std::size_t slot) const = 0;
};

/// z = Σ sign_i · operand_i, broadcast.
class SumOfOperands : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::SumOfOperands; }
    /// Factor per operand: +1 or −1, or 1/n for a mean of n.
    [[nodiscard]] virtual std::span<const double> signs() const = 0;
};

/// z = a · b, broadcast.
class Product : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::Product; }
};

/// z = a / b, broadcast.
class Quotient : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::Quotient; }
};

/// Each result element is ± one operand element or a constant fill.
class ShapeMap : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::ShapeMap; }
    /// Carries relevance (one tensor per output; invalid = zero) back to operand `slot`: the transposed 0/1 map. Signs
    /// are not applied: an element that was moved and negated hands its relevance on unchanged.
    [[nodiscard]] virtual Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const = 0;
    /// As the other carryBack(), for maps that are steered by operands (Gather by its indices, Where by its condition):
    /// `operands` per slot holds what savedForGradient() of the operator reads. Only called when isSteered().
    [[nodiscard]] virtual Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                           std::size_t slot) const
    {
        (void)operands;
        return carryBack(perOutput, slot);
    }
    /// True when operands decide at run time which elements move.
    [[nodiscard]] virtual bool isSteered() const { return false; }
    /// True when every element of the one operand goes to one place of the one result, and none is left out: what
    /// arrived is handed on in full, in another order.
    [[nodiscard]] virtual bool isRearrangement() const { return false; }
    /// −1 for Neg, else +1: what a gradient multiplies by.
    [[nodiscard]] virtual double sign() const { return 1; }
};

/// y = f(x), element by element.
class ElementWise : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::ElementWise; }
    /// f'(x). Implementations read x, or y when x is invalid and the operator saves its result (Relu, Sigmoid, Tanh,
    /// Exp).
    [[nodiscard]] virtual Tensor derivative(const Tensor& x, const Tensor& y) const = 0;
    /// True when derivative() is content with y alone.
    [[nodiscard]] virtual bool derivativeReadsOutput() const = 0;
    /// True for ReLU, on which DeconvNet, GuidedBackprop and BetaSmooth differ from the gradient.
    [[nodiscard]] virtual bool isRelu() const { return false; }
};

/// Sum or mean over axes.
class Reduction : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::Reduction; }
    [[nodiscard]] virtual bool isMean() const = 0;
    /// Result-shaped tensor repeated back to the operand's shape (no scaling).
    [[nodiscard]] virtual Tensor spread(const Tensor& reduced) const = 0;
};

/// Mean over windows with constant non-negative weights: linear, no bias.
class AveragePool : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::AveragePool; }
    /// Transposed map, from the result's shape to the operand's.
    [[nodiscard]] virtual Tensor pullback(const Tensor& s) const = 0;
};

/// Winner of each window.
class MaxPool : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::MaxPool; }
    /// Routes s to the first maximum of each window (scan order) of x.
    [[nodiscard]] virtual Tensor route(const Tensor& s, const Tensor& x) const = 0;
};

/// y = x·scale + shift per channel, scale and shift constant.
class Normalisation : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::Normalisation; }
    /// Broadcastable to x.
    [[nodiscard]] virtual Tensor scale() const = 0;
    [[nodiscard]] virtual Tensor shift() const = 0;
};

/// Softmax over one axis (or the flattened tail for old opsets).
class Softmax : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::Softmax; }
    /// Σ over the softmax axis (or the flattened tail), whose extents become 1.
    [[nodiscard]] virtual Tensor sumOverAxis(const Tensor& t) const = 0;
    /// True for LogSoftmax, whose result is the logarithm of the probabilities.
    [[nodiscard]] virtual bool isLogarithm() const { return false; }
};

/// A function z = f(x) of its operands, known by its reverse rule alone. Relevance goes by x ⊙ Jᵀ(R / stab(z)), each
/// operand times its share: exact for homogeneous functions.
class Differentiable : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const override { return StructureKind::Differentiable; }
    /// Gradient of Σ_k Σ s_k·z_k with respect to operand `slot`, in that operand's shape and type. `s` per output, in
    /// its shape; invalid = zero, at least one is valid. `operands` and `outputs` hold what savedForGradient() of the
    /// operator reads; the others may be invalid. Operands without a gradient (integers, sizes) get zeros.
    [[nodiscard]] virtual Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands,
                                          std::span<const Tensor> outputs, std::size_t slot) const = 0;
    /// Share of operand `slot` of x ⊙ Jᵀ(R / stab(z)), so that the shares of all tracked operands add up to R where f
    /// is homogeneous: 1/d when f(c·x) = c^d·f(x) for a factor c on all of them together. `tracked` per operand slot.
    [[nodiscard]] virtual double share(std::span<const std::uint8_t> tracked, std::size_t slot) const
    {
        (void)tracked;
        (void)slot;
        return 1;
    }
};

/// y = operand 0, of equal shape, shifted and scaled by its own mean, deviation or norm, then by other operands.
class SelfNormalisation : public Differentiable
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::SelfNormalisation; }
};

/// Many steps in one operator. No relevance rule is defined for the whole; the gradient is.
class Composed : public Differentiable
{
public:
    [[nodiscard]] StructureKind kind() const final { return StructureKind::Composed; }
};

/// No relevance passes through.
class NoRelevance final : public Structure
{
public:
    [[nodiscard]] StructureKind kind() const override { return StructureKind::NoRelevance; }
};

} // namespace retro::ops
