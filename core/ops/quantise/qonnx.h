// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/quantise/straightthrough.h"

#include <array>
#include <cmath>
#include <string_view>
#include <vector>

/// What the operators of QONNX (Brevitas, FINN, hls4ml) share: quantisation of floats to floats, by scales, zero points
/// and widths that are operands and are broadcast to the first one. Source: qonnx 1.0, qonnx/custom_op/general.
namespace retro::ops
{

/// The domains that files have them in: QONNX, Brevitas, and older files of FINN.
inline constexpr std::array<std::string_view, 3> kQonnxDomains{"qonnx.custom_op.general", "onnx.brevitas",
                                                               "finn.custom_op.general"};

/// How a number becomes a whole one. Up and Down: away from zero and towards it; HalfUp and HalfDown: halves so, the
/// rest to the nearest.
enum class QonnxRounding : std::uint8_t { HalfEven, Ceil, Floor, Up, Down, HalfUp, HalfDown };

/// The attribute rounding_mode, in upper or lower case.
[[nodiscard]] base::Result<QonnxRounding> qonnxRounding(const BindContext& context, std::string_view fallback);

/// In the type of the number, as QONNX computes.
template <class T>
[[nodiscard]] T rounded(T x, QonnxRounding mode)
{
    switch (mode) {
    case QonnxRounding::HalfEven:
        return std::nearbyint(x);
    case QonnxRounding::Ceil:
        return std::ceil(x);
    case QonnxRounding::Floor:
        return std::floor(x);
    case QonnxRounding::Up:
        return std::copysign(std::ceil(std::abs(x)), x);
    case QonnxRounding::Down:
        return std::trunc(x);
    case QonnxRounding::HalfUp:
        return std::copysign(std::floor(std::abs(x) + T{0.5}), x);
    case QonnxRounding::HalfDown:
        return std::copysign(std::ceil(std::abs(x) - T{0.5}), x);
    }
    return x;
}

/// Which whole numbers so many bits hold.
struct QonnxRange
{
    bool isSigned = true;
    bool isNarrow = false; ///< without one number: the least of signed ones, else the largest

    template <class T>
    [[nodiscard]] T least(T bits) const
    {
        return isSigned ? -std::exp2(bits - 1) + (isNarrow ? 1 : 0) : T{0};
    }
    template <class T>
    [[nodiscard]] T most(T bits) const
    {
        return isSigned ? std::exp2(bits - 1) - 1 : std::exp2(bits) - (isNarrow ? 2 : 1);
    }
    template <class T>
    [[nodiscard]] T held(T x, T bits) const
    {
        const T top = x > most(bits) ? most(bits) : x;
        return top < least(bits) ? least(bits) : top;
    }
    /// Whether x has saturated, for a reverse rule (saturationMargin).
    [[nodiscard]] bool isBeyond(double x, double bits) const
    {
        const double margin = saturationMargin(least(bits), most(bits));
        return x < least(bits) - margin || x > most(bits) + margin;
    }
};

/// The attributes `signed` and `narrow`; signed where there is none.
[[nodiscard]] QonnxRange qonnxRange(const BindContext& context);

/// A floating operand 0 of any shape and `count` − 1 floating ones that are broadcast to it; all present.
[[nodiscard]] base::Result<void> expectQonnxOperands(const BindContext& context, std::size_t count);

/// Base of operators whose result is operand 0 after rounding. Straight through in reverse: what arrives at an element
/// goes to operand 0 as it is, what arrives at one that has saturated goes nowhere; the other operands say which
/// numbers there are and get zeros.
class QonnxOperator : public Operator<ShapeMap>, public StraightThrough
{
public:
    explicit QonnxOperator(const BindContext& context);

    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] bool saturates() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override;
    /// What arrives at an element for operand 0, 0 where it has saturated; zeros for the other operands.
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override;

protected:
    /// Per element of operand 0: 0 where it has saturated, else 1; in double. `operands` are broadcast to operand 0.
    [[nodiscard]] virtual Tensor passing(std::span<const Tensor> operands) const = 0;
    /// All operands in one type, row-major and broadcast to operand 0.
    [[nodiscard]] std::vector<Tensor> spread(std::span<const Tensor> operands, tensor::DType type) const;

private:
    std::vector<tensor::Shape> m_operands;
};

} // namespace retro::ops
