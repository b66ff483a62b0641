// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs.h"
#include "views/run/question.h"

#include <QString>

namespace retro::app
{

/// Reads the input of a question, binds the model and assigns the rules, but runs nothing: what the model would be
/// given, which rules would apply, or what is refused and where. On the engine thread.
[[nodiscard]] views::QuestionCheck checkQuestion(ExplainJob job);

/// Operators of the model that cannot be run, each with how often it occurs and its first node; empty = none.
[[nodiscard]] QString unsupportedText(const graph::Graph& graph);

/// The options of a preparation, and the other way round.
[[nodiscard]] engine::PictureOptions optionsOf(const views::Preparation& preparation);
[[nodiscard]] views::Preparation preparationOf(const engine::PictureOptions& options);

} // namespace retro::app
