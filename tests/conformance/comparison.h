// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <string>

namespace retro::conformance
{

/// |actual − expected| ≤ absolute + relative · |expected|.
struct Tolerance
{
    double relative = 1e-3;
    double absolute = 1e-5;
};

/// What ONNX's own runner grants, wider where a case computes in 16 bits or was published with few digits.
[[nodiscard]] Tolerance toleranceOf(const std::string& caseName, tensor::DType expected);

/// Empty when equal: shape, element type, every element; NaN equals NaN. Integers must agree exactly. Else what
/// differs, with the first place.
[[nodiscard]] std::string compare(const tensor::Tensor& actual, const tensor::Tensor& expected, Tolerance tolerance);

} // namespace retro::conformance
