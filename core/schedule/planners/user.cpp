// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/plannerlist.h"
#include "core/schedule/replay.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::schedule
{

namespace
{

const char* whyOnce(const analysis::Op& op)
{
    if (op.phase == analysis::Phase::Gradient) {
        return "it is a gradient";
    }
    return op.isStochastic ? "it draws random numbers" : op.isEffectful ? "it has effects" : "it is not recomputable";
}

base::Result<void> check(const PlanRequest& request)
{
    const OpGraph& graph = *request.graph;
    for (const OpValueId id : request.choices.recompute) {
        const analysis::OpValue& value = graph.value(id);
        const auto& keep = request.choices.keep;
        if (std::find(keep.begin(), keep.end(), id) != keep.end()) {
            return base::inputError("is to be kept and to be recomputed; choose one", value.name);
        }
        if (value.producer == kNone || value.isPinned) {
            return base::inputError("is pinned: it is in memory for the whole run and cannot be recomputed",
                                    value.name);
        }
        const analysis::Op& op = graph.op(value.producer);
        if (!op.mayRepeat()) {
            return base::inputError(fmt::format("cannot be recomputed: {} runs once ({})", op.name, whyOnce(op)),
                                    value.name);
        }
    }
    return {};
}

base::Result<Draft> userDraft(const PlanRequest& request)
{
    RETRO_CHECK(check(request));
    const OpGraph& graph = *request.graph;
    const bool keepsRest = request.choices.keep.empty();
    std::vector<bool> isKept(graph.values().size(), keepsRest);
    Draft result;
    for (const OpValueId id : request.choices.keep) {
        isKept[id] = true;
        result.annotations.reasons[id] = "kept by choice";
    }
    for (const OpValueId id : request.choices.recompute) {
        isKept[id] = false;
        result.annotations.reasons[id] = "recomputed by choice";
    }
    result.annotations.checkpoints = request.choices.keep;
    result.sequence = expandKept(graph, request.baseSequence(), isKept, Rebuilt::UntilLastGradient);
    return result;
}

} // namespace

const Planner kUser{"user", "as I choose",
                    "keep or recompute by choice; the values that are not named stay unless some are to be kept",
                    &userDraft, false};

} // namespace retro::schedule
