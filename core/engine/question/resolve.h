// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/input/inputs.h"
#include "core/engine/plan/planwish.h"
#include "core/engine/question/fields.h"
#include "core/engine/question/question.h"

#include <filesystem>

namespace retro::engine
{

/// The question with everything said: from the card (null = none) where a person said nothing, else the usual. The
/// rules that are put before the composite are part of it then.
[[nodiscard]] Question completed(Question question, const formats::ModelCard* card);

/// The request that a question makes of a model, but for the data of its inputs. Errors: Usage (a text that is not to
/// be understood, what cannot be asked for together).
[[nodiscard]] base::Result<ExplainRequest> resolve(const Question& question, const LoadedModel& model);

/// Its parts, for passes that take less. Errors: Usage.
[[nodiscard]] base::Result<TargetRequest> targetOf(const Question& question, const LoadedModel& model);
[[nodiscard]] base::Result<PictureOptions> pictureOptions(const Question& question, const formats::ModelCard* card);
/// The same of a model; where neither a person nor the card says it, the layout is what its inputs can have alone.
[[nodiscard]] base::Result<PictureOptions> pictureOptions(const Question& question, const LoadedModel& model);
[[nodiscard]] base::Result<PlanOptions> planOptions(const Question& question);
[[nodiscard]] base::Result<ForwardingOptions> forwardingOptions(const Question& question);
[[nodiscard]] execute::Precision precisionOf(const Question& question, const LoadedModel& model);
/// How many rows of a table were asked for (plan-rows, profile-rows).
[[nodiscard]] std::size_t rowsOf(std::string_view field, const Question& question);

/// The question with pictures prepared like this.
void setPreparation(const PictureOptions& options, Question& question);

/// The target of a card as one reads it in a list of classes: a label as its number; "argmax" where it names none.
[[nodiscard]] std::string usualTarget(const formats::ModelCard* card);

/// How the model of a question is read. Errors: Usage (a rewrite that there is not).
[[nodiscard]] base::Result<LoadOptions> loadOptions(const Question& question);
/// The model with its LUT layers where the question wants them; the model itself where nothing changes. Errors: Usage
/// (a GPU in float64), Engine (a GPU that is not there).
[[nodiscard]] base::Result<LoadedModelPointer> onLutBackend(const LoadedModelPointer& loaded, const Question& question);
/// Reads the model of a question: with its rewrites, shapes and optional inputs, as planned where it asks for a plan,
/// its LUT layers on the path that it asks for. Errors: as loadModel(), takeOptionalInputs().
[[nodiscard]] base::Result<LoadedModelPointer> loadModel(const std::filesystem::path& path, const Question& question);
/// The tensors of its inputs. Errors: as resolveInputs().
[[nodiscard]] base::Result<std::vector<tensor::Tensor>> readInputs(const Question& question, const LoadedModel& model);

} // namespace retro::engine
