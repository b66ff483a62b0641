// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/known/functionwriter.h"

#include <string>

namespace retro::formats
{

/// Operand 0 as float32, which operators of ONNX-ML compute in.
[[nodiscard]] std::string asFloats(FunctionWriter& body);
/// What `post_transform` makes of scores with a score per column. Errors (Input): PROBIT, or an unknown name.
[[nodiscard]] base::Result<std::string> withPostTransform(FunctionWriter& body, const std::string& scores);
/// Scores of both classes, where the call has one score (samples × 1) that speaks for the second class.
[[nodiscard]] base::Result<std::string> scoresOfTwo(FunctionWriter& body, const std::string& score);
/// The class labels that the call lists as integers or as texts, picked by positions (one per sample).
[[nodiscard]] std::string pickLabels(FunctionWriter& body, const std::string& positions);

} // namespace retro::formats
