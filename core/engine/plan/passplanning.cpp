// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/passplanning.h"

#include "core/engine/explain/requestcheck.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

Result<PassSubject> gradientSubject(const LoadedModel& model, const ExplainRequest& question,
                                    const std::stop_token& stop)
{
    RETRO_TRY(const std::shared_ptr<const execute::BoundModel> bound,
              bindModel(model, question.inputs, question.precision, nullptr, stop, bindOptionsFor(question.target)));
    RETRO_TRY(const base::ValueId target, targetValue(question.target, *bound));
    if (!bound->isTracked(target)) {
        return base::usageError("the target does not depend on a floating input by operators that pass a gradient; "
                                "choose another target",
                                bound->graph().value(target).name);
    }
    return PassSubject::gradient(bound, {target});
}

Result<PassSubject> relevanceSubject(const LoadedModel& model, const ExplainRequest& question,
                                     const std::stop_token& stop)
{
    RETRO_TRY(const std::shared_ptr<const Prepared> prepared, prepare(model, question, nullptr, stop));
    std::vector<base::ValueId> targets;
    for (const TargetRequest& target : targetsOf(question)) {
        RETRO_TRY(const base::ValueId value, targetValue(target, *prepared->model));
        if (std::ranges::find(targets, value) == targets.end()) {
            targets.push_back(value);
        }
    }
    return PassSubject::relevance(prepared->model, std::move(targets), prepared->rules);
}

} // namespace

Result<PassPlanning> passPlanningOf(const LoadedModel& model, const ExplainRequest& question, analysis::JointKind kind,
                                    const std::stop_token& stop)
{
    PassPlanning planning;
    RETRO_TRY(PassSubject subject, kind == analysis::JointKind::Relevance ? relevanceSubject(model, question, stop)
                                                                          : gradientSubject(model, question, stop));
    planning.subject = std::make_shared<const PassSubject>(std::move(subject));
    RETRO_TRY(runtime::JointProgram program, jointProgram(*planning.subject, &planning.half));
    planning.program = std::make_shared<const runtime::JointProgram>(std::move(program));
    return planning;
}

Result<analysis::JointGraph> forwardAlone(const analysis::JointGraph& joint)
{
    const analysis::OpGraph& graph = joint.graph;
    std::vector<analysis::Op> ops(graph.ops().begin(),
                                  graph.ops().begin() + static_cast<std::ptrdiff_t>(joint.forwardCount));
    std::vector<analysis::OpValue> values;
    for (analysis::OpValueId id = 0; id < graph.values().size(); ++id) {
        const analysis::OpValue& value = graph.value(id);
        if (value.producer != analysis::kNone && value.producer >= joint.forwardCount) {
            break; // gradients are the last values
        }
        values.push_back(value);
        values.back().producer = analysis::kNone;
        const auto isForward = [&](analysis::OpId op) { return op < joint.forwardCount; };
        values.back().isRequired = !value.isPinned && std::ranges::none_of(graph.readers(id), isForward);
    }
    analysis::JointGraph alone;
    RETRO_TRY(alone.graph, analysis::OpGraph::make(std::move(ops), std::move(values)));
    alone.forwardCount = joint.forwardCount;
    alone.origin.assign(joint.origin.begin(), joint.origin.begin() + static_cast<std::ptrdiff_t>(joint.forwardCount));
    return alone;
}

} // namespace retro::engine
