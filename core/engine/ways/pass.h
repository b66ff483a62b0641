// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/explain/numericalstop.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/model/programcache.h"
#include "core/engine/region/conditions.h"
#include "core/execute/forward.h"
#include "core/lrp/traversal/traversalgraph.h"
#include "core/trace/profile.h"

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// One relevance pass while it is made; each step fills in more. What was asked is borrowed.
struct Pass
{
    Pass(const LoadedModel& loaded, const ExplainRequest& asked, std::stop_token token, const StageProgress& told,
         ProgramCache* known)
        : model(loaded), request(asked), stop(std::move(token)), progress(told), cache(known)
    {}
    /// Of a stopped pass, most is left to be taken apart elsewhere.
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    const LoadedModel& model;
    const ExplainRequest& request;
    const std::stop_token stop;
    const StageProgress& progress;
    ProgramCache* const cache; ///< null: nothing is kept

    // From bind().
    std::shared_ptr<const Prepared> prepared;
    std::vector<tensor::Tensor> inputs;  ///< in the run's precision
    std::vector<base::ValueId> values;   ///< per target of the request
    std::vector<base::ValueId> targets;  ///< each once
    std::optional<Stopwatch> sinceBound; ///< runs from there on

    // From the forward pass and start().
    std::optional<execute::ForwardResult> forward;
    std::vector<tensor::Tensor> starts; ///< per target

    // From the way that carries relevance.
    std::vector<base::ValueId> checkpoints; ///< found with graph()
    std::vector<ConditionSite> conditions;  ///< of ConditionForm::Beside, from bind()
    std::vector<event::Event> snapshots;
    std::shared_ptr<trace::Run> recorded;           ///< null: it is not recorded
    std::optional<trace::ProfileRecorder> profiler; ///< where the pass is recorded, or its profile asked for
    ExplainResult result;

    /// Binds the model, gives its nodes their rules and finds the targets.
    base::Result<void> bind();
    /// What starts at each target, from the forward values.
    base::Result<void> start();
    /// What starts at one of the targets, whose forward value is `known`: the sum over all targets in it.
    base::Result<tensor::Tensor> startAt(base::ValueId value, const tensor::Tensor& known);
    /// Writes into the result what is to be said of the starts, once startAt() knows all of them.
    void tellStarts();
    /// Books what the pass came to. `save` says in words what was saved; `saved` has what the rules read, for
    /// parameters, where the way keeps it.
    base::Result<void> finish(std::string_view save, const execute::SavedValues* saved);

    /// The graph from all targets; finds the checkpoints in it. Errors (Usage): none to stop at.
    base::Result<lrp::TraversalGraph> graph();
    /// The forward pass, to be made once more.
    [[nodiscard]] ForwardPass again() const { return {result.model, inputs, result.rules, stop}; }
    void report(const char* stage, std::size_t done, std::size_t total) const;
    /// report() of one stage.
    [[nodiscard]] execute::Progress progressOf(const char* stage) const;

private:
    base::Result<void> takeParameters(const execute::SavedValues* saved);
    base::Result<void> takeRegion(const execute::SavedValues* saved);
    void finishRun(std::string_view save);
    void takePlan(PlanSaving& saving);
};

} // namespace retro::engine
