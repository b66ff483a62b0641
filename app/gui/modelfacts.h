// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/loadmodel.h"
#include "views/run/question.h"

namespace retro::app
{

/// What the run panel says of a model: name, size, classes, inputs to choose from, what is unsupported.
[[nodiscard]] views::ModelFacts modelFacts(const engine::LoadedModel& model);

} // namespace retro::app
