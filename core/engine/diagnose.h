// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/diagnosis/diagnosis.h"
#include "core/diagnosis/population.h"
#include "core/engine/explain/explain.h"
#include "core/trace/run.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>

namespace retro::engine
{

/// What checks read of an explanation that was made; forward values as far as ExplainResult::forward is there.
[[nodiscard]] diagnosis::Pass passOf(const ExplainResult& result);
/// The same of a recorded run. `model` is bound with weights for it where it fits (modelOfRun()); may be null.
[[nodiscard]] diagnosis::Pass passOf(const std::shared_ptr<const trace::Run>& run, const LoadedModel* model,
                                     const std::stop_token& stop = {});

/// Facts of a model and an input. The explanation is made when a check asks for it; where it fails, what can be had
/// without it is. `request.record` and the like do not matter.
[[nodiscard]] std::shared_ptr<diagnosis::Facts>
factsOf(const LoadedModelPointer& model, const ExplainRequest& request, const std::stop_token& stop = {},
        std::shared_ptr<const diagnosis::Population> population = nullptr);
/// Facts of an explanation that was made; no check makes another pass of them.
[[nodiscard]] std::shared_ptr<diagnosis::Facts> factsOf(const LoadedModel& model, const ExplainRequest& request,
                                                        const ExplainResult& result, const std::stop_token& stop = {});
/// Facts of a recorded run and, where it is there and fits, its model.
[[nodiscard]] std::shared_ptr<diagnosis::Facts> factsOf(const std::shared_ptr<const trace::Run>& run,
                                                        const LoadedModelPointer& model, const std::string& name,
                                                        const std::stop_token& stop = {});

/// Files that may hold the model of a run: of its name beside the run's file, and where the run says that it lay. Files
/// that are not there, or whose endings no model has, are left out.
[[nodiscard]] std::vector<std::filesystem::path> modelPlaces(const trace::RunFacts& facts,
                                                             const std::filesystem::path& runFile);
/// The model of a run file, from the first of its places (modelPlaces()) where its rewritten graph is that of the run
/// and it is the same file: by its digest, else by the forward values that it gives; null where there is none.
[[nodiscard]] LoadedModelPointer modelOfRun(const trace::Run& run, const std::filesystem::path& runFile,
                                            const std::stop_token& stop = {});

/// The model with the rewrites that the run had: as it is, with one of them switched off or on, or with none. Errors:
/// Input (with none of these it has the graph of the run), Cancelled. Weights are not compared.
[[nodiscard]] base::Result<LoadedModelPointer> withRewritesOf(const trace::Run& run, const LoadedModelPointer& model,
                                                              const std::stop_token& stop = {});

/// Errors (Input): the model, as it is rewritten, is not the one of the run, or has other weights: one forward pass
/// tells. Cancelled.
[[nodiscard]] base::Result<void> expectModelOf(const trace::Run& run, const LoadedModel& model,
                                               const std::stop_token& stop = {});

/// Runs the checks that go along with every explanation, and lets the forward values go. What was found stands in
/// `result.diagnosis`. `weights` (may be null) are kept from one explanation of the model to the next. Errors:
/// Cancelled.
[[nodiscard]] base::Result<void> addDiagnosis(const LoadedModel& model, const ExplainRequest& request,
                                              ExplainResult& result,
                                              const std::shared_ptr<diagnosis::ModelFacts>& weights = nullptr,
                                              const std::stop_token& stop = {});

/// Why an explanation ended with an error, by the checks that need none; nothing where they do not know.
[[nodiscard]] std::optional<diagnosis::Finding> causeOf(const LoadedModel& model, const ExplainRequest& request,
                                                        const base::Error& error, const std::stop_token& stop = {});

} // namespace retro::engine
