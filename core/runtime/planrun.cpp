// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/planrun.h"

#include "core/base/cancel.h"
#include "core/base/memoryaccount.h"
#include "core/event/observer.h"
#include "core/execute/forward.h"
#include "core/execute/runnode.h"
#include "core/ops/algebra.h"
#include "core/runtime/jointprogram.h"
#include "core/runtime/reversehalf.h"
#include "core/runtime/tensorstore.h"
#include "core/schedule/departures.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace retro::runtime
{

using base::Result;
using schedule::Plan;
using schedule::Step;
using schedule::StepKind;

namespace
{

using tensor::Tensor;

/// Computes single operators of a joint graph from values that somebody else holds. An operator sees only what the
/// graph says that it reads: what is missing there shows.
class JointWork
{
public:
    /// What an operator made: a tensor per output of the operator, and what it took.
    struct Outcome
    {
        std::vector<Tensor> outputs;
        double flops = 0;
    };
    /// A value of the joint graph that an operator reads; valid.
    using Operands = std::function<Tensor(OpValueId)>;

    /// Everything is borrowed for the life of the work. Errors: of a node that reads constants alone.
    [[nodiscard]] static base::Result<JointWork> make(const JointProgram& program, std::span<const Tensor> inputs,
                                                      const ReverseHalf& half);
    /// Runs an operator. Errors (Input): data that it cannot work with, by node.
    [[nodiscard]] base::Result<Outcome> run(OpId op, const Operands& operands, bool isRepeat = false);

private:
    JointWork(const JointProgram& program, std::span<const Tensor> inputs, const ReverseHalf& half)
        : m_program(program), m_inputs(inputs), m_half(half), m_isNothing(program.graph().values().size(), 0)
    {}

    [[nodiscard]] Tensor known(ValueId value) const;
    [[nodiscard]] Tensor forwardValue(OpId op, ValueId value, const Operands& operands) const;
    [[nodiscard]] Tensor upstreamOf(OpId op, ValueId value, const Operands& operands) const;
    [[nodiscard]] Tensor zerosFor(OpValueId gradient) const;
    [[nodiscard]] base::Result<Outcome> runForward(OpId op, const Operands& operands, bool isRepeat) const;
    [[nodiscard]] base::Result<Outcome> runGradient(OpId op, const Operands& operands);
    /// What a reader gives the operands of a group, summed; invalid when nothing arrives at the reader.
    [[nodiscard]] base::Result<Tensor> groupOf(OpId op, const std::vector<Part>& group, const Operands& operands,
                                               double& flops) const;

    const JointProgram& m_program;
    std::span<const Tensor> m_inputs;
    const ReverseHalf& m_half;
    std::vector<Tensor> m_constants; ///< per value of the model: results of nodes that read constants alone
    /// Per value of the joint graph: a gradient at which nothing arrived. It is zeros, and its readers do not run.
    std::vector<std::uint8_t> m_isNothing;
};

void addTo(Tensor& sum, const Tensor& part)
{
    if (part.isValid()) {
        sum = sum.isValid() ? ops::algebra::add(sum, part) : part;
    }
}

std::vector<std::uint8_t> slotsOf(const std::vector<Part>& group, std::size_t operandCount)
{
    std::vector<std::uint8_t> wanted(operandCount, 0);
    for (const Part& part : group) {
        wanted[part.slot] = 1;
    }
    return wanted;
}

bool isStart(const std::vector<Part>& group) { return !group.front().reader.isValid(); }

bool isRead(const analysis::OpGraph& graph, OpId op, OpValueId id)
{
    return id != kNone && std::ranges::find(graph.reads(op), id) != graph.reads(op).end();
}

Result<JointWork> JointWork::make(const JointProgram& program, std::span<const Tensor> inputs, const ReverseHalf& half)
{
    JointWork work(program, inputs, half);
    const BoundModel& model = program.model();
    work.m_constants.resize(model.graph().valueCount());
    for (const NodeId node : program.constantNodes()) {
        RETRO_TRY(
            const std::vector<Tensor> results,
            execute::runNode(
                model, node, [&](ValueId value) { return work.m_constants[value.index()]; }, execute::RunKind::Aside));
        const std::vector<ValueId>& outputs = model.graph().node(node).outputs;
        for (std::size_t k = 0; k < std::min(results.size(), outputs.size()); ++k) {
            if (outputs[k].isValid()) {
                work.m_constants[outputs[k].index()] = results[k];
            }
        }
    }
    return work;
}

Result<JointWork::Outcome> JointWork::run(OpId op, const Operands& operands, bool isRepeat)
{
    return m_program.isForward(op) ? runForward(op, operands, isRepeat) : runGradient(op, operands);
}

/// Constants, inputs and what follows from constants; invalid for what a plan makes.
Tensor JointWork::known(ValueId value) const
{
    const BoundModel& model = m_program.model();
    if (model.isConstant(value)) {
        return model.constant(value);
    }
    const NodeId input = model.graph().inputNode(value);
    return input.isValid() ? m_inputs[input.index() - model.graph().nodeCount()] : m_constants[value.index()];
}

Tensor JointWork::forwardValue(OpId op, ValueId value, const Operands& operands) const
{
    const Tensor at = known(value);
    const OpValueId id = m_program.idOf(value);
    return at.isValid() || !isRead(m_program.graph(), op, id) ? at : operands(id);
}

Result<JointWork::Outcome> JointWork::runForward(OpId op, const Operands& operands, bool isRepeat) const
{
    const NodeId node = m_program.nodeOf(op);
    const std::vector<ValueId>& outputs = m_program.model().graph().node(node).outputs;
    RETRO_TRY(const std::vector<Tensor> results,
              execute::runNode(
                  m_program.model(), node, [&](ValueId value) { return forwardValue(op, value, operands); },
                  isRepeat ? execute::RunKind::Again : execute::RunKind::First));
    Outcome outcome;
    outcome.flops = m_program.model().op(node).flops();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (outputs[k].isValid()) {
            outcome.outputs.push_back(k < results.size() ? results[k] : Tensor());
        }
    }
    return outcome;
}

Tensor JointWork::upstreamOf(OpId op, ValueId value, const Operands& operands) const
{
    const OpValueId id = value.isValid() ? m_program.gradientOf(value) : kNone;
    return isRead(m_program.graph(), op, id) && m_isNothing[id] == 0 ? operands(id) : Tensor();
}

/// A gradient at which nothing arrives.
Tensor JointWork::zerosFor(OpValueId gradient) const
{
    const ops::TensorType& type = m_program.model().typeOf(m_program.valueOf(gradient));
    const tensor::DType dtype =
        tensor::isFloating(type.dtype) ? type.dtype : execute::dtypeOf(m_program.model().precision());
    return Tensor::zeros(dtype, type.shape);
}

Result<Tensor> JointWork::groupOf(OpId op, const std::vector<Part>& group, const Operands& operands,
                                  double& flops) const
{
    const BoundModel& model = m_program.model();
    const NodeId reader = group.front().reader;
    const graph::Node& node = model.graph().node(reader);
    const std::size_t count = std::min(node.outputs.size(), model.op(reader).outputTypes().size());
    if (m_half.givesZeros && m_half.givesZeros(reader)) {
        return zerosFor(m_program.graph().op(op).outputs.front());
    }
    std::vector<Tensor> upstream(model.op(reader).outputTypes().size());
    std::vector<Tensor> outputs(upstream.size());
    for (std::size_t k = 0; k < count; ++k) {
        upstream[k] = upstreamOf(op, node.outputs[k], operands);
        outputs[k] = node.outputs[k].isValid() ? forwardValue(op, node.outputs[k], operands) : Tensor();
    }
    if (std::ranges::none_of(upstream, [](const Tensor& one) { return one.isValid(); })) {
        return Tensor();
    }
    std::vector<Tensor> bySlot(node.inputs.size());
    for (std::size_t slot = 0; slot < bySlot.size(); ++slot) {
        bySlot[slot] = node.inputs[slot].isValid() ? forwardValue(op, node.inputs[slot], operands) : Tensor();
    }
    const std::vector<std::uint8_t> wanted = m_half.wantedOf ? m_half.wantedOf(reader) : slotsOf(group, bySlot.size());
    RETRO_TRY(const std::vector<Tensor> parts, m_half.rule({reader, bySlot, outputs, upstream, wanted}));
    flops += model.op(reader).flops();
    Tensor sum;
    for (const Part& part : group) {
        addTo(sum, part.slot < parts.size() ? parts[part.slot] : Tensor());
    }
    return sum;
}

Result<JointWork::Outcome> JointWork::runGradient(OpId op, const Operands& operands)
{
    const OpValueId id = m_program.graph().op(op).outputs.front();
    const ValueId value = m_program.valueOf(id);
    Outcome outcome;
    Tensor sum;
    PartGroups groups = m_half.partsOf(value);
    if (m_program.startsAt(value) && std::ranges::none_of(groups, isStart)) {
        groups.insert(groups.begin(), std::vector<Part>{Part()});
    }
    for (const std::vector<Part>& group : groups) {
        RETRO_TRY(const Tensor part, isStart(group) ? m_half.startAt(value, forwardValue(op, value, operands))
                                                    : groupOf(op, group, operands, outcome.flops));
        addTo(sum, part);
    }
    m_isNothing[id] = sum.isValid() ? 0 : 1;
    outcome.outputs.push_back(sum.isValid() ? std::move(sum) : zerosFor(id));
    return outcome;
}

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The tiers of a plan, in its order.
Result<std::vector<std::shared_ptr<StorageTier>>> tiersOf(const Plan& plan, const TierMap& known)
{
    std::vector<std::shared_ptr<StorageTier>> tiers;
    for (const schedule::Tier& tier : plan.tiers) {
        const auto found = known.find(tier.name);
        if (found == known.end()) {
            std::string names;
            for (const auto& [name, place] : known) {
                names += (names.empty() ? "" : ", ") + name;
            }
            return base::inputError("there is no such tier to move tensors to; there are " + names, tier.name);
        }
        tiers.push_back(found->second);
    }
    return tiers;
}

class Runner
{
public:
    Runner(const JointProgram& program, const Plan& plan, const PlanRunOptions& options, PlanRun& run, JointWork work)
        : m_program(program), m_graph(program.graph()), m_plan(plan), m_options(options), m_run(run),
          m_work(std::move(work)), m_store(m_graph.values().size(), m_stream), m_ran(m_graph.size(), false)
    {}

    Result<void> start()
    {
        RETRO_TRY(m_tiers, tiersOf(m_plan, m_options.tiers));
        m_leaving = schedule::departures(m_plan, m_run.predicted);
        m_run.steps.reserve(m_plan.steps.size());
        return {};
    }

    Result<void> run()
    {
        base::MemoryAccount::tensors().resetPeak();
        const Clock::time_point begin = Clock::now();
        for (m_at = 0; m_at < m_plan.steps.size(); ++m_at) {
            RETRO_CHECK(base::checkStop(m_options.stop));
            if (m_options.endsAtTurn && isTurn(m_plan.steps[m_at])) {
                break;
            }
            RETRO_CHECK(step());
        }
        RETRO_CHECK(m_stream.drain());
        m_run.seconds = secondsSince(begin);
        m_run.stalls = m_store.waited();
        m_run.movedBytes = m_store.movedBytes();
        m_run.tensorsPeak = base::MemoryAccount::tensors().peak();
        return {};
    }

private:
    [[nodiscard]] bool isTurn(const Step& what) const
    {
        return what.kind == StepKind::Compute && !m_program.isForward(what.id);
    }

    Result<void> step()
    {
        const Step& what = m_plan.steps[m_at];
        const schedule::SimulatedStep& row = m_run.predicted.steps[m_at];
        m_record = {m_at, what, row.isRecompute, {row.transient, row.after, 0, row.stall, 0}, {}, m_leaving[m_at]};
        const double waitedBefore = m_store.waited();
        for (const OpValueId value : m_leaving[m_at]) {
            tellDecision(value, event::MemoryChoice::Drop, "its copy in the tier is whole");
            RETRO_CHECK(m_store.leave(value));
        }
        m_record.measured.transient = m_store.bytes();
        RETRO_CHECK(carryOut(what));
        m_record.measured.after = m_store.bytes();
        m_record.measured.transient = std::max(m_record.measured.transient, m_store.bytes());
        m_record.measured.stall = m_store.waited() - waitedBefore;
        m_run.peak = std::max(m_run.peak, m_record.measured.transient);
        if (m_options.onStep) {
            m_options.onStep(m_record);
        }
        m_run.steps.push_back(m_record);
        return {};
    }

    Result<void> carryOut(const Step& what)
    {
        switch (what.kind) {
        case StepKind::Compute:
            return compute(what.id);
        case StepKind::Free:
            tellDecision(what.id, event::MemoryChoice::Drop, "the plan frees it at this step");
            return m_store.drop(what.id);
        case StepKind::Offload:
            return offload(what.id, what.tier);
        case StepKind::Prefetch:
            m_store.prefetch(what.id);
            break;
        }
        return {};
    }

    /// The copy reads the tensor, so it has to be there.
    Result<void> offload(OpValueId id, std::uint32_t tier)
    {
        RETRO_TRY(const Tensor arrived, m_store.get(id));
        (void)arrived;
        tellDecision(id, event::MemoryChoice::Move, "the plan moves it to " + m_plan.tiers[tier].name);
        m_store.offload(id, m_tiers[tier]);
        return {};
    }

    /// Operands that are still on their way are waited for, before the clock of the computation starts.
    Result<void> awaitOperands(OpId op)
    {
        for (const OpValueId id : m_graph.reads(op)) {
            if (m_store.has(id)) {
                RETRO_TRY(const Tensor arrived, m_store.get(id));
                (void)arrived;
            }
        }
        return {};
    }

    Result<void> compute(OpId op)
    {
        RETRO_CHECK(awaitOperands(op));
        base::MemoryAccount& workspace = base::MemoryAccount::workspace();
        workspace.resetPeak();
        const std::int64_t before = workspace.live();
        const Clock::time_point begin = Clock::now();
        RETRO_TRY(const JointWork::Outcome outcome, m_work.run(
                                                        op,
                                                        [this](OpValueId id) {
                                                            Result<Tensor> value =
                                                                m_store.get(id); // has arrived: awaitOperands()
                                                            return value.ok() ? std::move(value).value() : Tensor();
                                                        },
                                                        m_ran[op]));
        const double seconds = secondsSince(begin);
        RETRO_CHECK(take(op, outcome));
        m_record.measured.transient = m_store.bytes() + static_cast<std::uint64_t>(workspace.peak() - before);
        m_record.measured.seconds = seconds;
        m_record.measured.flops = outcome.flops;
        m_record.predicted.seconds = m_graph.op(op).cost * m_options.secondsPerCost;
        m_record.predicted.flops = m_graph.op(op).flops;
        m_run.computeSeconds += seconds;
        m_run.recomputeSeconds += m_record.isRecompute ? seconds : 0;
        m_run.flops += outcome.flops;
        return {};
    }

    Result<void> take(OpId op, const JointWork::Outcome& outcome)
    {
        const std::vector<OpValueId>& outputs = m_graph.op(op).outputs;
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            const Tensor& tensor = outcome.outputs[k];
            const analysis::OpValue& value = m_graph.value(outputs[k]);
            if (!tensor.isValid() || static_cast<std::uint64_t>(tensor.bytes()) != value.bytes) {
                return base::Error{base::ErrorCode::Bug,
                                   fmt::format("made {} bytes, {} were planned",
                                               tensor.isValid() ? tensor.bytes() : std::int64_t{0}, value.bytes),
                                   value.name};
            }
            tellDecision(outputs[k], m_ran[op] ? event::MemoryChoice::Recompute : event::MemoryChoice::Keep,
                         m_ran[op] ? "the plan computes it again" : "the plan holds it until it frees it");
            m_store.put(outputs[k], tensor, !value.isPinned);
            tell(outputs[k], tensor, !m_ran[op]);
        }
        m_ran[op] = true;
        return {};
    }

    /// Of values of the model alone: gradients (relevance) have no name of their own.
    void tellDecision(OpValueId id, event::MemoryChoice choice, const std::string& reason) const
    {
        if (!m_program.isGradient(id)) {
            event::tellDecision(m_program.valueOf(id), choice, static_cast<std::int64_t>(m_graph.value(id).bytes),
                                reason);
        }
    }

    void tell(OpValueId made, const Tensor& tensor, bool isFirst) const
    {
        if (m_options.onTensor) {
            m_options.onTensor(made, tensor);
        }
        if (m_options.onMade && isFirst) {
            m_options.onMade({m_program.valueOf(made), m_program.isGradient(made), tensor});
        }
    }

    const JointProgram& m_program;
    const analysis::OpGraph& m_graph;
    const Plan& m_plan;
    const PlanRunOptions& m_options;
    PlanRun& m_run;
    JointWork m_work;
    std::vector<std::shared_ptr<StorageTier>> m_tiers;
    CopyStream m_stream;
    TensorStore m_store;
    std::vector<bool> m_ran;
    std::vector<std::vector<OpValueId>> m_leaving;
    StepRecord m_record;
    std::size_t m_at = 0;
};

} // namespace

Result<PlanRun> runPlan(const JointProgram& program, const Plan& plan, std::span<const Tensor> inputs,
                        const ReverseHalf& half, const PlanRunOptions& options)
{
    PlanRun run;
    run.predicted = schedule::simulate(program.graph(), plan, {std::nullopt, options.secondsPerCost, false});
    if (!run.predicted.ok()) {
        return base::inputError("the plan fails: " + run.predicted.error->text +
                                "; make another with `retrograde-cli plan`, or judge this one with `simulate`");
    }
    RETRO_CHECK(execute::checkInputs(program.model(), inputs));
    RETRO_TRY(JointWork work, JointWork::make(program, inputs, half));
    Runner runner(program, plan, options, run, std::move(work));
    RETRO_CHECK(runner.start());
    RETRO_CHECK(runner.run());
    return run;
}

} // namespace retro::runtime
