// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/savingforecast.h"

#include "core/base/cancel.h"
#include "core/engine/plan/planevents.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/plan/savingsink.h"
#include "core/event/sink.h"
#include "core/lrp/arithmetic/coursearithmetic.h"
#include "core/lrp/traversal/traversal.h"
#include "core/schedule/departures.h"
#include "core/trace/recorder.h"
#include "core/trace/timeline.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

/// A course that knows how large each of its tensors would be.
class SizedCourse final : public lrp::CourseArithmetic
{
public:
    /// Everything is borrowed.
    SizedCourse(const execute::BoundModel& model, const lrp::TraversalGraph& graph, const lrp::TensorArithmetic& real)
        : CourseArithmetic(graph, real), m_model(model), m_graph(graph)
    {}

    /// The relevance that starts at a value.
    base::HandleId start(base::ValueId value) { return relevanceOf(value, newHandle()); }
    /// By HandleId.
    [[nodiscard]] const std::vector<std::int64_t>& bytes() const { return m_bytes; }

    [[nodiscard]] base::HandleId sum(base::NodeId node, std::uint32_t k, std::span<const base::HandleId> parts) override
    {
        const base::HandleId handle = CourseArithmetic::sum(node, k, parts);
        return parts.size() == 1 ? handle : relevanceOf(valueOf(node, k), handle);
    }
    [[nodiscard]] std::vector<base::HandleId> applyRule(base::NodeId node, std::span<const base::HandleId> relevance,
                                                        std::span<const base::HandleId> operands) override
    {
        std::vector<base::HandleId> parts = CourseArithmetic::applyRule(node, relevance, operands);
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (parts[slot].isValid()) {
                const lrp::ChildSlot& child = m_graph.children(node)[slot];
                relevanceOf(valueOf(child.child, child.output), parts[slot]);
            }
        }
        return parts;
    }
    [[nodiscard]] base::HandleId ownOutput(base::NodeId node, std::uint32_t k) override
    {
        return forward(valueOf(node, k));
    }
    [[nodiscard]] base::HandleId carryForward(std::span<const base::NodeId> crossed, base::HandleId) override
    {
        return forward(valueOf(crossed.back(), 0));
    }
    [[nodiscard]] base::HandleId forwardOutput(base::NodeId node, std::span<const base::HandleId>,
                                               std::uint32_t k) override
    {
        return forward(valueOf(node, k));
    }
    [[nodiscard]] base::HandleId untrackedOperand(base::NodeId node, std::uint32_t slot) override
    {
        return forward(m_model.graph().node(node).inputs[slot]);
    }

private:
    [[nodiscard]] base::ValueId valueOf(base::NodeId node, std::uint32_t k) const
    {
        return m_model.graph().outputsOf(node)[k];
    }
    base::HandleId forward(base::ValueId value) { return sized(value, m_model.typeOf(value).dtype, newHandle()); }
    /// Tokens have relevance in the precision of the run.
    base::HandleId relevanceOf(base::ValueId value, base::HandleId handle)
    {
        const tensor::DType dtype = m_model.typeOf(value).dtype;
        return sized(value, tensor::isFloating(dtype) ? dtype : execute::dtypeOf(m_model.precision()), handle);
    }
    base::HandleId sized(base::ValueId value, tensor::DType dtype, base::HandleId handle)
    {
        m_bytes.resize(std::max(m_bytes.size(), handle.index() + 1));
        m_bytes[handle.index()] =
            tensor::elementCount(m_model.typeOf(value).shape) * static_cast<std::int64_t>(tensor::sizeOf(dtype));
        return handle;
    }

    const execute::BoundModel& m_model;
    const lrp::TraversalGraph& m_graph;
    std::vector<std::int64_t> m_bytes;
};

/// The forward steps of a plan, told without tensors; the bytes of what they make, by handle.
std::vector<std::int64_t> tellForward(const runtime::JointProgram& program, const schedule::Plan& plan, event::Sink& to)
{
    const schedule::Simulation predicted = schedule::simulate(program.graph(), plan);
    const std::vector<std::vector<analysis::OpValueId>> left = schedule::departures(plan, predicted);
    const PlanPlaces places(program.model().graph(), program.graph());
    const SearchRecord none;
    PlanEvents events(places, program.graph(), to, none);
    for (std::size_t at = 0; at < plan.steps.size(); ++at) {
        const schedule::Step& step = plan.steps[at];
        if (step.kind == schedule::StepKind::Compute && !program.isForward(step.id)) {
            break;
        }
        events.onStep(step, predicted.steps[at].isRecompute, left[at]);
    }
    std::vector<std::int64_t> bytes;
    for (const analysis::OpValueId id : events.handles()) {
        bytes.push_back(static_cast<std::int64_t>(program.graph().value(id).bytes));
    }
    return bytes;
}

/// Most bytes of the frontier of a run that was recorded without tensors.
Result<std::uint64_t> peakOf(trace::Run recorded, const execute::BoundModel& model,
                             const std::vector<std::int64_t>& bytes, const std::stop_token& stop)
{
    auto run = std::make_shared<trace::Run>(std::move(recorded));
    run->graph = model.sharedGraph();
    for (const std::int64_t one : bytes) {
        run->handles.emplace_back().bytes = one;
    }
    run->tensors.resize(run->handles.size());
    run->values.resize(run->graph->valueCount());
    run->shapes.resize(run->graph->valueCount());
    run->rules.resize(run->graph->nodeCount());
    return frontierPeak(run, stop);
}

} // namespace

void countReturns(const std::vector<trace::DroppedValue>& dropped, SavingForecast& counts)
{
    const auto isBack = [](trace::ReturnWay way) {
        return [way](const trace::DroppedValue& one) {
            return std::ranges::any_of(one.returns, [way](const trace::ValueReturn& back) { return back.way == way; });
        };
    };
    counts.dropped = dropped.size();
    counts.byPromise = static_cast<std::size_t>(std::ranges::count_if(dropped, isBack(trace::ReturnWay::Promise)));
    counts.recomputed = static_cast<std::size_t>(std::ranges::count_if(dropped, isBack(trace::ReturnWay::Recompute)));
}

Result<std::uint64_t> frontierPeak(const std::shared_ptr<const trace::Run>& run, const std::stop_token& stop)
{
    RETRO_TRY(const trace::Timeline timeline, trace::Timeline::open(run, stop));
    std::int64_t most = 0;
    for (const trace::FrontierBytes& one : timeline.series().most) {
        most = std::max(most, one.sum());
    }
    return static_cast<std::uint64_t>(most);
}

Result<SavingForecast> forecastSaving(const PassSubject& subject, const runtime::JointProgram& program,
                                      const schedule::Plan& plan, bool followsDocument, const std::stop_token& stop)
{
    AtTurn turn = atTurn(program, plan);
    const auto saved = std::make_shared<const execute::SavePlan>(subject.model(), turn.kept);
    const lrp::TraversalGraph& graph = *subject.graph();
    ToldBefore before;
    std::vector<std::int64_t> bytes = tellForward(program, plan, before);
    ExplainResult result; // its books alone
    result.model = subject.sharedModel();
    result.planSaving.emplace().dropped = std::move(turn.dropped);
    const execute::ForwardResult nothing{{}, execute::SavedValues(subject.sharedModel(), saved, nullptr), nullptr, {}};
    event::NullSink none;
    const lrp::TensorArithmetic real(nothing.saved, *subject.rules(), graph, none, false);
    SizedCourse arithmetic(subject.model(), graph, real);
    std::vector<base::HandleId> starts;
    for (const base::ValueId target : subject.targets()) {
        starts.push_back(arithmetic.start(target));
    }
    trace::Recorder recorder;
    SavingForecast counts;
    {
        SavingSink sink(recorder, {nothing, *subject.rules(), graph, before, true}, result);
        lrp::Traversal traversal(graph, arithmetic, sink, starts, {{}, false, followsDocument});
        while (!traversal.finished()) {
            RETRO_CHECK(base::checkStop(stop));
            RETRO_CHECK(traversal.step());
        }
        counts.promises = traversal.counts().promises;
        counts.visits = traversal.counts().visits;
    }
    counts.kept = turn.kept.size();
    for (const base::ValueId value : turn.kept) {
        counts.keptBytes += program.graph().value(program.idOf(value)).bytes;
    }
    countReturns(result.planSaving->dropped, counts);
    bytes.resize(before.handles());
    bytes.insert(bytes.end(), arithmetic.bytes().begin(), arithmetic.bytes().end());
    RETRO_TRY(counts.peak, peakOf(std::move(recorder).take(), subject.model(), bytes, stop));
    return counts;
}

} // namespace retro::engine
