// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/jobs/jobs.h"
#include "core/diagnosis/diagnosis.h"
#include "core/trace/run.h"

#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace retro::app
{

/// How much is checked.
enum class DiagnoseScope : std::uint8_t {
    Cheap, ///< what goes along with every explanation
    All,   ///< everything that makes no further passes
    Deep   ///< further passes, too
};

/// What checks read of the weights of a model, kept from one run of it to the next.
struct WeighedModel
{
    std::mutex mutex; ///< held while they are read: a job that was stopped may not have ended
    std::shared_ptr<const graph::Graph> of;
    std::shared_ptr<diagnosis::ModelFacts> facts;
};

/// What is to be checked: plain values for a thread of the pool.
struct DiagnoseRequest
{
    ExplainJob job;                                      ///< with its model; without one: a recorded run, from its path
    std::shared_ptr<const trace::Run> run;               ///< null: it failed, and checks say why
    std::shared_ptr<const execute::BoundModel> bound;    ///< that made the run; may be null
    std::shared_ptr<const lrp::RuleAssignment> assigned; ///< its rules; may be null
    std::string reference;                               ///< a model, run or input to compare with; empty = none
    DiagnoseScope scope = DiagnoseScope::Cheap;
    std::shared_ptr<WeighedModel> weighed = {}; ///< may be null
    std::string folder = {};                    ///< of inputs that are looked at as well; empty = none
    std::string labels = {};                    ///< the table of their classes; empty = as the card says
    engine::StageProgress progress = {};        ///< called from the thread of the pool
};

/// Runs the checks on what is on screen, without running or binding again what ran. Errors: Usage, Input (the
/// reference cannot be read), Cancelled.
[[nodiscard]] base::Result<diagnosis::Diagnosis> diagnosisOf(DiagnoseRequest request, const std::stop_token& stop);

} // namespace retro::app
