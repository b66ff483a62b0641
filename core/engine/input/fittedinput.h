// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/input/inputs.h"

#include <string>

namespace retro::engine
{

/// What one source gives to the input `id` of a graph, fitted to it. Errors: Usage, Input, as resolveInputs().
[[nodiscard]] base::Result<tensor::Tensor> readInput(const std::string& source, const graph::Graph& graph,
                                                     base::ValueId id, const PictureOptions& options,
                                                     const formats::ModelCard* card);

/// Floats of the whole numbers that an input takes which a rewrite made one of floats, and the numbers of its floats.
[[nodiscard]] tensor::Tensor floatsOf(const tensor::Tensor& numbers, const graph::GivenNumbers& given);
[[nodiscard]] tensor::Tensor numbersOf(const tensor::Tensor& floats, const graph::GivenNumbers& given);

/// Data as an input takes it. Types must agree up to the floating type, which the run's precision replaces; whole
/// numbers become the input's type; of an input that a rewrite made one of floats, data are the numbers. One number is
/// a scalar, whatever axes of length 1 it has. Errors: Input (numbers with a fraction for an input of whole numbers).
[[nodiscard]] base::Result<tensor::Tensor> fittedInput(tensor::Tensor data, const graph::Value& input);

} // namespace retro::engine
