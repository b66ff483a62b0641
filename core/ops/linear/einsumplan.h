// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/bindcheck.h"

#include <string>

namespace retro::ops
{

/// The subscripts of an Einsum with one letter per axis. Axes under an ellipsis are given letters of their own, the
/// same from the end for all operands.
struct EinsumPlan
{
    std::vector<std::string> operands; ///< letters of each operand's axes
    std::string output;
    std::vector<std::int64_t> extents; ///< by letter (index: unsigned char)

    /// Shape that letters stand for.
    [[nodiscard]] tensor::Shape shapeOf(const std::string& letters) const;
};

/// Reads an equation for operands of these shapes. Errors (by node): letters and axes that do not fit, extents that
/// differ and are not 1, an output letter that no operand has.
[[nodiscard]] base::Result<EinsumPlan> readEinsum(const BindContext& context, const std::string& equation);

/// Σ over the letters that `result` has not of the product of the operands, each with one letter per axis. Axes of
/// extent 1 broadcast to a letter's extent in `extents`. Letters of `result` that no operand has are repeated. float32,
/// float64; contracted pair by pair through matrix products.
[[nodiscard]] Tensor einsum(const std::vector<std::string>& letters, const std::vector<Tensor>& operands,
                            const std::string& result, const std::vector<std::int64_t>& extents);

} // namespace retro::ops
