// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "views/run/runfacts.h"

#include <QString>

namespace retro::app
{

/// Reads the input of a question, binds the model and assigns the rules, but runs nothing: what the model would be
/// given, which rules would apply, or what is refused and where. On the engine thread. After a requested stop the
/// answer is good for nothing.
[[nodiscard]] views::QuestionCheck checkQuestion(ExplainJob job, const std::stop_token& stop = {});

/// What of the model cannot be run: operators, each with how often it occurs and its first node, and weights that are
/// not there; empty = nothing.
[[nodiscard]] QString unsupportedText(const engine::LoadedModel& model);

/// Options as the run panel has them.
[[nodiscard]] views::Preparation preparationOf(const engine::PictureOptions& options);

} // namespace retro::app
