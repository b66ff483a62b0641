// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "core/trace/run.h"
#include "views/common/viewcontext.h"

namespace retro::app
{

/// How the views read the input of a run, live or recorded: as the run says (model card, preparation, file). In a run
/// of an older file, which does not say it, an input of 1 or 3 channels counts as a picture in 0…1.
[[nodiscard]] views::InputInfo inputInfo(const trace::Run& run);

/// The box around what the job's picture shows, in its pixels, when the model's card knows it.
[[nodiscard]] std::optional<QRect> objectBox(const ExplainJob& job);

} // namespace retro::app
