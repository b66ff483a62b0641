// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/model/loadmodel.h"
#include "core/tensor/tensor.h"

#include <string>
#include <vector>

namespace retro::conformance
{

/// How many of the ways below gave an answer, and which did not, with the reason.
struct WaysDone
{
    int answered = 0;
    std::vector<std::string> refused; ///< "grad: where: why"
};

/// Takes a model and inputs through everything that the verbs `info`, `run`, `explain`, `explain --parameters`, `grad`
/// and `verify` do. A refusal by name is an ordinary end of a way; an error of code Bug is an error here.
[[nodiscard]] base::Result<WaysDone> goEveryWay(const engine::LoadedModel& model,
                                                const std::vector<tensor::Tensor>& inputs);

} // namespace retro::conformance
