// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/tensor/tensor.h"

#include <string>
#include <vector>

namespace retro::engine
{

/// A model whose floating initializers are inputs, so that a gradient reaches them.
struct OpenedParameters
{
    LoadedModelPointer model;
    std::vector<tensor::Tensor> inputs; ///< those of the model, then the data of the initializers
    /// Floating initializers of the file that get no gradient, with the reason: a quantised weight has taken them up.
    std::vector<std::string> without = {};
};

/// The model as its file says it, without rewrites (they would merge initializers), with every floating initializer
/// that a node reads as an input of its name, behind the inputs that it has. What a quantised weight stands for is no
/// initializer of the file, and gets none. Errors: Input; Cancelled.
[[nodiscard]] base::Result<OpenedParameters>
openParameters(const LoadedModelPointer& model, std::vector<tensor::Tensor> inputs, const std::stop_token& stop = {});

} // namespace retro::engine
