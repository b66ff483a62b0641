// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/population.h"
#include "core/engine/explain/explain.h"
#include "core/engine/input/inputs.h"
#include "core/engine/question/question.h"
#include "core/engine/results/batch.h"

#include <filesystem>
#include <memory>
#include <stop_token>

namespace retro::engine
{

/// Which class each file of a folder has: a table with the columns `file` (its name, with folders or without) and
/// `label` (a label of the model's card, whatever its case, or the number of a class). Errors (Input), by row: no such
/// columns, a label that is none, a file without a row; a table above 16 MiB.
[[nodiscard]] base::Result<std::vector<std::int64_t>>
readLabels(const std::filesystem::path& table, const std::vector<BatchItem>& items, const formats::ModelCard* card);
/// The classes that the card names for these files; empty where it does not for each.
[[nodiscard]] std::vector<std::int64_t> labelsOfCard(const std::vector<BatchItem>& items,
                                                     const formats::ModelCard* card);

/// What the model says of each input of a folder: one forward pass each, to its target; pictures, where classes are
/// known, also with other usual ways in which pixels become numbers, the first 24 of them. Errors: those of reading an
/// input and of its pass, by file; Cancelled.
[[nodiscard]] base::Result<std::shared_ptr<const diagnosis::Population>>
populationOf(const LoadedModel& model, const Question& question, const std::vector<BatchItem>& items,
             std::vector<std::int64_t> truth, const PictureDecoder& decode, const std::stop_token& stop = {},
             const StageProgress& progress = {});

} // namespace retro::engine
