// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

#include <string_view>

namespace retro::ops
{

/// Which scale belongs to which element: the operand as outer × extent × inner around the axis, `block` elements of the
/// axis to a scale.
struct ScaleLayout
{
    std::int64_t outer = 1;
    std::int64_t extent = 1;
    std::int64_t inner = 1;
    std::int64_t block = 1;
    bool isBlocked = false;  ///< a scale per block and per element of the other axes
    bool isPerTensor = true; ///< one scale for all

    /// Calls f(element, scale) for all elements in row-major order.
    template <class F>
    void forEach(const F& f) const
    {
        const std::int64_t size = outer * extent * inner;
        for (std::int64_t at = 0; at < size; ++at) {
            f(at, isPerTensor ? 0 : scaleOf(at / (extent * inner), at / inner % extent, at % inner));
        }
    }

private:
    [[nodiscard]] std::int64_t scaleOf(std::int64_t o, std::int64_t e, std::int64_t i) const
    {
        return isBlocked ? (o * ((extent + block - 1) / block) + e / block) * inner + i : e;
    }
};

/// One scale (operand 1) for the tensor (operand 0), one per element of the axis, or one per block.
[[nodiscard]] base::Result<ScaleLayout> scaleLayoutOf(const BindContext& context);

/// What a quantised type may be, for messages.
inline constexpr std::string_view kQuantisedTypes =
    "an integer of at most 16 bits or a float of at most 8 (not float8e8m0)";

/// Type of the scale; the run's floating type where that is no type to compute in.
[[nodiscard]] tensor::DType computingType(const BindContext& context);
/// Two or three operands, attributes of QuantizeLinear and DequantizeLinear, a scale and a zero point that fit.
[[nodiscard]] base::Result<void> expectScales(const BindContext& context);
/// The type that a quantised result has: that of the zero point, else output_dtype, else uint8.
[[nodiscard]] base::Result<tensor::DType> quantisedType(const BindContext& context);

} // namespace retro::ops
