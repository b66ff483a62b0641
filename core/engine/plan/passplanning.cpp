// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/passplanning.h"

#include "core/base/bytesize.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/gradient/choseninputs.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/engine/region/conditions.h"
#include "core/graph/reach.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

/// A pass with what people are told of it.
struct AskedPass
{
    PassSubject subject;
    std::vector<std::string> notes;
    std::string composite; ///< of relevance, as JSON
};

Result<void> checkTracked(base::ValueId target, const execute::BoundModel& model)
{
    return model.isTracked(target)
               ? Result<void>()
               : base::usageError("the target does not depend on a floating input by operators that pass a gradient; "
                                  "choose another target",
                                  model.graph().value(target).name);
}

Result<AskedPass> gradientPass(const LoadedModel& model, const ExplainRequest& question,
                               const std::vector<std::string>& from, const std::stop_token& stop)
{
    std::vector<std::string> notes;
    RETRO_TRY(
        const std::shared_ptr<const execute::BoundModel> bound,
        bindModel(model, question.inputs, question.precision, nullptr, stop, bindOptionsFor(question.target), &notes));
    std::string note;
    RETRO_TRY(const base::ValueId target, targetValue(question.target, *bound, &note));
    RETRO_CHECK(checkTracked(target, *bound));
    RETRO_TRY(const std::vector<base::ValueId> chosen, chosenInputs(bound->graph(), from));
    notes.insert(notes.end(), note.empty() ? 0 : 1, note);
    return AskedPass{
        PassSubject::gradient(bound, {target}, from.empty() ? std::span<const base::ValueId>() : chosen), notes, {}};
}

/// Where the last pass of a question under conditions starts, each of which starts relevance again at its value.
Result<base::ValueId> lastStart(std::span<const ConditionSite> sites, const std::vector<base::ValueId>& targets,
                                const graph::Graph& graph)
{
    std::vector<base::ValueId> before = targets;
    for (const ConditionSite& site : sites) {
        const std::string& name = graph.value(site.value).name;
        if (graph.isInput(graph.nodeOf(site.value))) {
            return base::inputError("it is an input, where relevance ends", "--condition " + name);
        }
        if (!graph::ancestorsOf(graph, before).nodes[graph.nodeOf(site.value).index()]) {
            return base::usageError("no relevance reaches the value from the target", "--condition " + name);
        }
        before = {site.value};
    }
    return before.front();
}

/// What a region of the inputs takes once the pass is done.
Result<std::string> regionNote(const LoadedModel& model, const ExplainRequest& question, const PassSubject& subject)
{
    const execute::BoundModel& bound = subject.model();
    RETRO_CHECK(regionMasks(question.region, bound, model.card ? model.card->layout : std::string()));
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < bound.graph().valueCount(); ++i) {
        if (subject.carries(base::ValueId(i))) {
            bytes += static_cast<std::uint64_t>(tensor::elementCount(bound.typeOf(base::ValueId(i)).shape)) *
                     tensor::sizeOf(execute::dtypeOf(bound.precision()));
        }
    }
    return fmt::format("the region is asked once the pass is done, outside every plan: its weights take up to {}, and "
                       "the forward values that they are made of lie beside them",
                       base::bothBytesText(bytes));
}

Result<AskedPass> relevancePass(const LoadedModel& model, const ExplainRequest& question, const std::stop_token& stop)
{
    RETRO_TRY(std::shared_ptr<const Prepared> prepared, prepare(model, question, nullptr, stop));
    std::vector<std::string> notes = prepared->leftOut;
    std::vector<base::ValueId> targets;
    for (const TargetRequest& target : targetsOf(question)) {
        std::string note;
        RETRO_TRY(const base::ValueId value, targetValue(target, *prepared->model, &note));
        RETRO_CHECK(checkTracked(value, *prepared->model));
        notes.insert(notes.end(), note.empty() ? 0 : 1, note);
        if (std::ranges::find(targets, value) == targets.end()) {
            targets.push_back(value);
        }
    }
    RETRO_TRY(const std::vector<ConditionSite> sites,
              conditionSites(question.conditions, *prepared->model, question.conditionForm));
    if (question.conditionForm == ConditionForm::Beside) {
        RETRO_TRY(prepared, conditioned(*prepared, sites));
    } else if (!sites.empty()) {
        RETRO_TRY(const base::ValueId last, lastStart(sites, targets, prepared->model->graph()));
        notes.emplace_back("relevance starts again at the condition: this is the last pass; the passes before it are "
                           "planned when they are made, within the same budget");
        targets = {last};
    }
    RETRO_TRY(PassSubject subject, PassSubject::relevance(prepared->model, std::move(targets), prepared->rules));
    AskedPass asked{std::move(subject), std::move(notes), lrp::toJson(prepared->composite)};
    if (question.region.isAsked()) {
        RETRO_TRY(asked.notes.emplace_back(), regionNote(model, question, asked.subject));
    }
    return asked;
}

Result<AskedPass> askedPass(const LoadedModel& model, const ExplainRequest& question, analysis::JointKind kind,
                            const std::vector<std::string>& from, const std::stop_token& stop)
{
    return kind == analysis::JointKind::Relevance ? relevancePass(model, question, stop)
                                                  : gradientPass(model, question, from, stop);
}

} // namespace

Result<PassPlanning> passPlanningOf(const LoadedModel& model, const ExplainRequest& question, analysis::JointKind kind,
                                    const std::stop_token& stop)
{
    PassPlanning planning;
    RETRO_TRY(AskedPass asked, askedPass(model, question, kind, {}, stop));
    planning.subject = std::make_shared<const PassSubject>(std::move(asked.subject));
    RETRO_TRY(runtime::JointProgram program, jointProgram(*planning.subject, &planning.half));
    planning.program = std::make_shared<const runtime::JointProgram>(std::move(program));
    return planning;
}

Result<SubjectPlanning> subjectPlanningOf(const LoadedModel& model, const ExplainRequest& question,
                                          const HalfWish& half, const std::stop_token& stop)
{
    if (half.kind == analysis::JointKind::Relevance && !half.from.empty()) {
        return base::usageError("relevance goes to every input; leave it out, or plan for the gradient", "--from");
    }
    RETRO_TRY(const AskedPass asked, askedPass(model, question, half.kind, half.from, stop));
    SubjectPlanning result;
    RETRO_TRY(result.planning, planningGraphOf(asked.subject));
    std::vector<std::string>& warnings = result.planning.warnings;
    warnings.insert(warnings.begin(), asked.notes.begin(), asked.notes.end());
    result.subject = subjectNames(half.kind, asked.subject.model(), asked.subject.targets());
    result.subject.start = half.start;
    result.subject.composite = asked.composite;
    result.subject.conditions = question.conditions;
    result.subject.model = model.path.filename().string();
    result.subject.from = half.from;
    result.subject.hasParameters = half.hasParameters;
    return result;
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
