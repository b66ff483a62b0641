// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/loadmodel.h"
#include "core/trace/run.h"
#include "views/common/viewcontext.h"

#include <string>
#include <vector>

namespace retro::app
{

/// How the views read the input as a picture, from the model's card and the chosen input.
[[nodiscard]] views::InputInfo inputInfo(const engine::LoadedModel& model, const std::vector<std::string>& inputs);

/// The same for a recorded run, which has no card: an input of 1 or 3 channels counts as a picture in 0…1.
[[nodiscard]] views::InputInfo inputInfo(const trace::Run& run);

} // namespace retro::app
