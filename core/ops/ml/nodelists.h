// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"

#include <string>
#include <vector>

namespace retro::ops
{

/// Floats of an attribute, or of its form as a tensor (`<name>_as_tensor`, float64 in double models); empty when the
/// node has neither.
[[nodiscard]] std::vector<double> realsOf(const BindContext& context, const std::string& name);
/// Texts of an attribute; empty when the node has none.
[[nodiscard]] std::vector<std::string> textsOf(const BindContext& context, const std::string& name);

/// Rows (samples × features) of an operand of numbers, which operators of ONNX-ML take in one type or another.
struct SampleRows
{
    std::int64_t samples = 0;
    std::int64_t features = 0;
};
/// The rows of operand 0. Errors (Input): it is no matrix or row of numbers.
[[nodiscard]] base::Result<SampleRows> sampleRows(const BindContext& context);
/// Data of operand 0 as numbers: float32 stays, others become float64.
[[nodiscard]] Tensor asReals(const Tensor& x);

} // namespace retro::ops
