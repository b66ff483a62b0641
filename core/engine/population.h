// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/population.h"
#include "core/engine/explain/explain.h"
#include "core/engine/input/inputs.h"
#include "core/engine/question/question.h"
#include "core/engine/results/batch.h"

#include <memory>
#include <stop_token>

namespace retro::engine
{

/// Inputs, and the class of each, or none where they are not known.
struct LabelledInputs
{
    std::vector<BatchItem> items;
    std::vector<std::int64_t> truth;
};

/// The inputs of the folder or list that `texts` name, as findBatch() finds them; nothing where they name none. Their
/// classes are those of the table `labels` (may be empty), else of the card. The table has the columns `file` (its
/// name, with folders or without) and `label` (a label of the card, whatever its case, or the number of a class).
/// Errors: as findBatch(); Usage: a table, but no folder; Input, by row: no such columns, a label that is none, a file
/// without a row, a table above 16 MiB.
[[nodiscard]] base::Result<std::optional<LabelledInputs>>
labelledInputs(const std::vector<std::string>& texts, const std::string& labels, const LoadedModel& model);

/// What the model says of each input of a folder: one forward pass each, to its target and outputs like it. The first
/// 24 are asked again as other usual ways make them (pixels, frames, tokens), and their values are looked at in the
/// graph as the file has it. Errors: those of reading an input and of its pass, by file; Cancelled.
[[nodiscard]] base::Result<std::shared_ptr<const diagnosis::Population>>
populationOf(const LoadedModelPointer& model, const Question& question, LabelledInputs inputs,
             const std::stop_token& stop = {}, const StageProgress& progress = {});

} // namespace retro::engine
