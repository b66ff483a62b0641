// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/trace/run.h"
#include "views/run/runfacts.h"

namespace retro::app
{

/// What the run panel says of a model: name, size, classes, inputs to choose from, what is unsupported.
[[nodiscard]] views::ModelFacts modelFacts(const engine::LoadedModel& model);

/// True for a graph that states sizes and costs but holds no operators that run: it can be planned for, no more.
[[nodiscard]] bool isForPlanning(const engine::LoadedModel& model);

/// The same of a recorded run, which answers no question of its own. `file` is where the run was read from, `known` are
/// files that were opened before: its model is looked for beside the run first, then among them, by its name.
[[nodiscard]] views::ModelFacts recordedFacts(const trace::Run& run, const QString& file, const QStringList& known);
/// The question that a recorded run answers, as far as the run panel knows such questions.
[[nodiscard]] engine::Question recordedQuestion(const trace::Run& run);

} // namespace retro::app
