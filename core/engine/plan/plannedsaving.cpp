// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/plannedsaving.h"

#include <algorithm>
#include <set>

namespace retro::engine
{

using base::Result;
using schedule::StepKind;

namespace
{

/// Follows one step of a plan in the set of values that are in memory.
void follow(const analysis::OpGraph& graph, const schedule::Step& step, std::set<schedule::OpValueId>& live)
{
    switch (step.kind) {
    case StepKind::Compute:
        live.insert(graph.op(step.id).outputs.begin(), graph.op(step.id).outputs.end());
        break;
    case StepKind::Free:
    case StepKind::Offload:
        live.erase(step.id);
        break;
    case StepKind::Prefetch:
        live.insert(step.id);
        break;
    }
}

/// What a plan keeps that is made for the subject.
struct KeptByWish
{
    PlanOptions wish;

    Result<KeptValues> operator()(const PassSubject& subject) const
    {
        auto carried = std::make_shared<CarriedPlan>();
        RETRO_TRY(runtime::JointProgram made, jointProgram(subject, &carried->half));
        carried->program = std::make_shared<const runtime::JointProgram>(std::move(made));
        const runtime::JointProgram& program = *carried->program;
        RETRO_TRY(carried->chosen, choosePlan(program, wish));
        const ChosenPlan& chosen = carried->chosen;
        carried->predicted = schedule::simulate(program.graph(), chosen.plan);
        if (!carried->predicted.ok()) {
            return base::inputError("the plan fails: " + carried->predicted.error->text +
                                    "; make another with `retrograde-cli plan --relevance`");
        }
        const auto search = wish.isRecorded ? std::make_shared<const SearchRecord>(chosen.record) : nullptr;
        return KeptValues{atTurn(program, chosen.plan).kept, search, carried};
    }
};

} // namespace

AtTurn atTurn(const runtime::JointProgram& program, const schedule::Plan& plan)
{
    const analysis::OpGraph& graph = program.graph();
    std::set<schedule::OpValueId> live;
    std::vector<std::uint32_t> wentAt(graph.values().size(), 0);
    for (std::size_t at = 0; at < plan.steps.size(); ++at) {
        const schedule::Step& step = plan.steps[at];
        if (step.kind == StepKind::Compute && !program.isForward(step.id)) {
            break;
        }
        follow(graph, step, live);
        if (step.kind == StepKind::Free || step.kind == StepKind::Offload) {
            wentAt[step.id] = static_cast<std::uint32_t>(at);
        }
    }
    AtTurn turn;
    for (const schedule::OpValueId id : live) {
        turn.kept.push_back(program.valueOf(id));
    }
    for (analysis::OpId op = 0; op < program.forwardCount(); ++op) {
        for (const schedule::OpValueId id : graph.op(op).outputs) {
            if (!live.contains(id) && !graph.value(id).isPinned) {
                turn.dropped.push_back(
                    {program.valueOf(id), static_cast<std::int64_t>(graph.value(id).bytes), wentAt[id], {}});
            }
        }
    }
    std::ranges::sort(turn.dropped, {}, &trace::DroppedValue::value);
    return turn;
}

KeptByPlan keptBy(PlanOptions wish) { return KeptByWish{std::move(wish)}; }

const PlanOptions* planWishOf(const ExplainRequest& request)
{
    const auto* kept = request.save == execute::SavePolicy::Plan ? request.keptByPlan.target<KeptByWish>() : nullptr;
    return kept != nullptr ? &kept->wish : nullptr;
}

const PlanOptions* carriesOut(const ExplainRequest& request)
{
    const bool isTraversed = request.record || request.followsDocument || request.stopAtCheckpoints;
    return request.engine != EngineKind::Promise || !isTraversed ? planWishOf(request) : nullptr;
}

void planAnew(ExplainRequest& request)
{
    if (auto* const kept = request.keptByPlan.target<KeptByWish>()) {
        kept->wish.isOfAnother = true;
        kept->wish.isRecorded = false;
    }
}

Result<KeptValues> KeptForInputs::operator()(const PassSubject& subject) const
{
    const PassSubject gradient = PassSubject::gradient(subject.sharedModel(), subject.targets());
    const graph::Graph& graph = subject.model().graph();
    std::set<base::ValueId> kept;
    const auto take = [&](const std::vector<base::ValueId>& values, std::uint64_t bits) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const bool isRead = values[i].isValid() && (bits & ops::Reads::bit(i)) != 0;
            if (isRead && graph.value(values[i]).kind == graph::ValueKind::Result &&
                !subject.model().isConstant(values[i])) {
                kept.insert(values[i]);
            }
        }
    };
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        for (const analysis::NodePart& part : gradient.parts(base::NodeId(i))) {
            take(graph.node(base::NodeId(i)).inputs, part.reads.operands);
            take(graph.node(base::NodeId(i)).outputs, part.reads.outputs);
        }
    }
    return KeptValues{{kept.begin(), kept.end()}, nullptr, nullptr};
}

bool keepsForInputs(const ExplainRequest& request)
{
    return request.save == execute::SavePolicy::Plan && request.keptByPlan.target<KeptForInputs>() != nullptr;
}

} // namespace retro::engine
