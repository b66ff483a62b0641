// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/results/resultkey.h"
#include "core/rows/resultrow.h"

#include <string>
#include <vector>

namespace retro::engine
{

/// What a file of rows says of itself: the question, by `hash` (resultHash), and for people composite, model, version.
[[nodiscard]] rows::RowHead rowHeadOf(const LoadedModel& model, const Question& question, const std::string& hash,
                                      const std::string& version);

/// Key of the first sample of an input, in the state that its files have now. `id`: its name.
[[nodiscard]] rows::RowKey rowKeyOf(const std::string& id, const std::vector<SourceStamp>& sources);

/// One row per sample, in order; `first` is the key of the first. Errors (Input): an input that samples share; (Usage)
/// several targets, whose relevance is one sum.
[[nodiscard]] base::Result<std::vector<rows::Row>> rowsOf(const LoadedModel& model, const ExplainResult& result,
                                                          const rows::RowKey& first);

} // namespace retro::engine
