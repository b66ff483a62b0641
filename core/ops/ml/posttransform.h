// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/ops/boundoperator.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retro::ops
{

/// What operators of ONNX-ML do with the scores of a sample at the end.
enum class PostTransform : std::uint8_t { None, Softmax, Logistic, SoftmaxZero, Probit };

/// Attribute `post_transform`. Errors (Input): an unknown name.
[[nodiscard]] base::Result<PostTransform> postTransformOf(const BindContext& context);

/// As the attribute has it; empty for None.
[[nodiscard]] std::string nameOf(PostTransform transform);

/// How one score becomes that of two classes: not at all, [1 − s, s], or [−s, s].
enum class SecondClass : std::uint8_t { None, Complement, Negative };

/// The scores of a sample after the transform. One score without a second class is changed by Probit alone; with
/// Logistic, a second class gets σ(−s), whatever `second` is.
[[nodiscard]] std::vector<double> transformed(std::vector<double> scores, PostTransform transform, SecondClass second);

} // namespace retro::ops
