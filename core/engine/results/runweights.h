// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"
#include "core/trace/run.h"

#include <memory>
#include <span>
#include <stop_token>
#include <string_view>

namespace retro::engine
{

/// That a model is not the one of a run, and why (Input).
[[nodiscard]] base::Error otherModel(const trace::Run& run, std::string_view why);

/// A run file holds no weights, but forward values: the model has to give the same ones again, up to rounding by
/// another number of threads. `model` is bound for the run and has its graph; `inputs` are those of the run. One
/// forward pass. Errors: Input (names the first value that differs), those of the forward pass, Cancelled.
[[nodiscard]] base::Result<void> expectWeightsOf(const trace::Run& run,
                                                 const std::shared_ptr<const execute::BoundModel>& model,
                                                 std::span<const tensor::Tensor> inputs, const std::stop_token& stop);

} // namespace retro::engine
