// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"
#include "core/tensor/narrow.h"

#include <string_view>

namespace retro::ops
{

/// The element type that an attribute names by ONNX's number, or (Cast in its first form) by its name. Floating types
/// become the run's. Errors: a type that tensors here do not have.
[[nodiscard]] base::Result<tensor::DType> elementType(const BindContext& context, std::string_view attribute);

/// How a conversion to a narrow type rounds: attributes saturate and round_mode. Errors: an unknown mode.
[[nodiscard]] base::Result<tensor::NarrowRounding> narrowRounding(const BindContext& context);

} // namespace retro::ops
