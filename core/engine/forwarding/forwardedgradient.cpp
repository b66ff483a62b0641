// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardedgradient.h"

#include "core/base/cancel.h"
#include "core/base/memoryaccount.h"
#include "core/engine/binding.h"
#include "core/engine/forwarding/forwardedvalues.h"
#include "core/engine/forwarding/gradientneeds.h"
#include "core/engine/forwarding/reverseflops.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/stopwatch.h"
#include "core/execute/forward.h"
#include "core/execute/runnode.h"
#include "core/ops/algebra.h"

#include <algorithm>

namespace retro::engine
{

using base::NodeId;
using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

class Pass
{
public:
    Pass(const GradientNeeds& needs, const GradientRequest& request, const std::stop_token& stop,
         GradientObserver* observer, ForwardedGradient& made)
        : m_needs(needs), m_model(needs.model()), m_graph(m_model.graph()), m_request(request), m_stop(stop),
          m_observer(observer), m_made(made), m_values(needs, made.plan), m_rule(gradientRule(needs.sharedModel()))
    {
        m_made.costs.resize(m_graph.nodeCount());
        for (std::size_t i = 0; i < m_made.costs.size(); ++i) {
            m_made.costs[i].node = NodeId(i);
            m_made.costs[i].flops = m_model.op(NodeId(i)).flops();
        }
    }

    Result<void> run(std::span<const Tensor> inputs)
    {
        const Stopwatch forward;
        RETRO_CHECK(runForward(inputs));
        m_made.gradient.secondsForward = forward.seconds();
        takeOutputs();
        RETRO_TRY(m_made.gradient.target, resolveTarget(m_request.target, {StartKind::One, {}}, m_needs.target(),
                                                        m_live[m_needs.target().index()]));
        m_live.clear();
        const Stopwatch reverse;
        RETRO_CHECK(runReverse());
        m_made.gradient.secondsReverse = reverse.seconds();
        takeGradients(inputs);
        for (const auto& [node, times] : m_values.rebuilds()) {
            m_made.costs[node.index()].rebuilds = times;
            m_made.rebuilds += times;
        }
        takePlan();
        return {};
    }

private:
    Result<void> runForward(std::span<const Tensor> inputs)
    {
        m_live.resize(m_graph.valueCount());
        std::vector<std::size_t> readers(m_graph.valueCount());
        for (std::size_t i = 0; i < readers.size(); ++i) {
            readers[i] = m_graph.uses(ValueId(i)).size();
        }
        ++readers[m_needs.target().index()];
        for (const ValueId output : m_graph.outputs()) {
            ++readers[output.index()];
        }
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            m_live[m_graph.inputs()[i].index()] = inputs[i];
            m_values.putInput(m_graph.inputs()[i], inputs[i]);
        }
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            RETRO_CHECK(base::checkStop(m_stop));
            RETRO_CHECK(forwardOne(NodeId(i), readers));
        }
        return {};
    }

    Result<void> forwardOne(NodeId id, std::vector<std::size_t>& readers)
    {
        const Stopwatch watch;
        RETRO_TRY(const std::vector<Tensor> results,
                  execute::runNode(m_model, id, [this](ValueId value) { return m_live[value.index()]; }));
        OperatorCost& cost = m_made.costs[id.index()];
        cost.forwardSeconds = watch.seconds();
        const std::vector<ValueId>& outputs = m_graph.node(id).outputs;
        for (std::size_t k = 0; k < std::min(results.size(), outputs.size()); ++k) {
            if (outputs[k].isValid()) {
                cost.bytes += results[k].bytes();
                take(outputs[k], results[k], readers[outputs[k].index()] > 0);
            }
        }
        finishReading(id, readers);
        if (m_observer != nullptr) {
            m_observer->onForward(cost);
        }
        return {};
    }

    void take(ValueId value, const Tensor& result, bool isRead)
    {
        m_values.put(value, result);
        if (isRead) {
            m_live[value.index()] = result;
        }
    }

    void finishReading(NodeId id, std::vector<std::size_t>& readers)
    {
        for (const ValueId input : m_graph.node(id).inputs) {
            if (input.isValid() && --readers[input.index()] == 0) {
                m_live[input.index()] = {};
            }
        }
    }

    void takeOutputs()
    {
        for (const ValueId output : m_graph.outputs()) {
            m_made.gradient.outputs.push_back(m_model.isConstant(output) ? m_model.constant(output)
                                                                         : m_live[output.index()]);
        }
    }

    /// Slots hold what started there, then the parts of their readers, last reader first, as on the tape.
    Result<void> runReverse()
    {
        m_slots.resize(m_graph.valueCount());
        m_slots[m_needs.target().index()] = m_made.gradient.target.start;
        for (std::size_t i = m_graph.nodeCount(); i-- > 0;) {
            RETRO_CHECK(base::checkStop(m_stop));
            if (m_needs.runs(NodeId(i))) {
                RETRO_CHECK(reverseOne(NodeId(i)));
            }
            forgetAfter(NodeId(i));
        }
        return {};
    }

    Result<void> reverseOne(NodeId id)
    {
        const graph::Node& node = m_graph.node(id);
        const std::size_t count = m_model.op(id).outputTypes().size();
        std::vector<Tensor> upstream(count);
        for (std::size_t k = 0; k < std::min(count, node.outputs.size()); ++k) {
            upstream[k] = node.outputs[k].isValid() ? m_slots[node.outputs[k].index()] : Tensor();
        }
        if (std::ranges::none_of(upstream, [](const Tensor& one) { return one.isValid(); })) {
            return {};
        }
        const Stopwatch fetching;
        const double flopsBefore = m_values.rebuildFlops();
        const std::vector<Tensor> operands = read(id, node.inputs, false);
        std::vector<Tensor> outputs = read(id, node.outputs, true);
        outputs.resize(count);
        OperatorCost& cost = m_made.costs[id.index()];
        cost.rebuildSeconds = fetching.seconds();
        cost.rebuildFlops = m_values.rebuildFlops() - flopsBefore;
        const Stopwatch watch;
        const std::vector<std::uint8_t> wanted = m_needs.wanted(id);
        RETRO_TRY(std::vector<Tensor> parts, m_rule({id, operands, outputs, upstream, wanted}));
        land(node, wanted, parts);
        cost.reverseSeconds = watch.seconds();
        cost.reverseFlops = reverseFlops(m_model, id, wanted);
        ++m_made.gradient.visited;
        if (m_observer != nullptr) {
            m_observer->onReverse(cost);
        }
        return {};
    }

    /// What the rule of a node reads of its operands or results; constants are always at hand.
    std::vector<Tensor> read(NodeId id, const std::vector<ValueId>& values, bool isOutput)
    {
        std::vector<Tensor> read(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!values[i].isValid()) {
                continue;
            }
            const auto reads = m_needs.readsOf(values[i]);
            const bool isRead = std::ranges::any_of(
                reads, [&](const RuleRead& one) { return one.node == id && one.isOutput == isOutput; });
            if (m_model.isConstant(values[i])) {
                read[i] = m_model.constant(values[i]);
            } else if (isRead) {
                read[i] = m_values.get(values[i]);
            }
        }
        return read;
    }

    /// The part of a slot and those of later slots of the same operand, which are taken away.
    static Tensor joined(const graph::Node& node, std::vector<Tensor>& parts, std::size_t slot)
    {
        Tensor part = std::move(parts[slot]);
        for (std::size_t other = slot + 1; other < parts.size(); ++other) {
            if (node.inputs[other] == node.inputs[slot] && parts[other].isValid()) {
                part = ops::algebra::add(part, parts[other]);
                parts[other] = Tensor();
            }
        }
        return part;
    }

    /// Parts for an operand that occurs twice are added first, in operand order.
    void land(const graph::Node& node, const std::vector<std::uint8_t>& wanted, std::vector<Tensor>& parts)
    {
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (wanted[slot] == 0 || !parts[slot].isValid()) {
                continue;
            }
            Tensor part = joined(node, parts, slot);
            Tensor& sum = m_slots[node.inputs[slot].index()];
            sum = sum.isValid() ? ops::algebra::add(sum, part) : std::move(part);
        }
    }

    /// Nobody before this node reads its results' gradients, nor its results.
    void forgetAfter(NodeId id)
    {
        const graph::Node& node = m_graph.node(id);
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                m_slots[output.index()] = {};
                m_values.forget(output);
            }
        }
    }

    void takeGradients(std::span<const Tensor> inputs)
    {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            Tensor gradient = m_slots[m_graph.inputs()[i].index()];
            if (!gradient.isValid() && tensor::isFloating(inputs[i].dtype())) {
                gradient = Tensor::zeros(inputs[i].dtype(), inputs[i].shape());
            }
            m_made.gradient.gradients.push_back(std::move(gradient));
        }
    }

    void takePlan()
    {
        m_made.plan = m_values.takePlan();
        for (const ForwardDecision& decision : m_made.plan.decisions) {
            m_made.storedBytes += decision.bytes;
            m_made.keptBytes += decision.kept;
            if (m_observer != nullptr) {
                m_observer->onForwarded(decision);
            }
        }
    }

    const GradientNeeds& m_needs;
    const execute::BoundModel& m_model;
    const graph::Graph& m_graph;
    const GradientRequest& m_request;
    const std::stop_token& m_stop;
    GradientObserver* m_observer;
    ForwardedGradient& m_made;
    ForwardedValues m_values;
    tape::ModelRule m_rule;
    std::vector<Tensor> m_live;  ///< forward values that somebody still reads, by value
    std::vector<Tensor> m_slots; ///< gradients, by value
};

} // namespace

ForwardingDone ForwardedGradient::forwarding() const
{
    ForwardingDone done{plan, storedBytes, keptBytes, {}};
    for (const OperatorCost& cost : costs) {
        if (cost.rebuilds > 0) {
            done.rebuilt[cost.node] = cost.rebuilds;
        }
    }
    return done;
}

Result<ForwardedGradient> forwardedGradient(std::shared_ptr<const execute::BoundModel> model,
                                            const GradientRequest& request, const ForwardingWish& wish,
                                            const std::stop_token& stop, GradientObserver* observer)
{
    ForwardedGradient made;
    made.gradient.model = std::move(model);
    const execute::BoundModel& bound = *made.gradient.model;
    RETRO_TRY(const ValueId target, targetValue(request.target, bound));
    const GradientNeeds needs(made.gradient.model, target);
    if (!needs.isTracked(target)) {
        return base::usageError("the target does not depend on a floating input by operators that pass a gradient; "
                                "choose another target, or ask for --parameters",
                                bound.graph().value(target).name);
    }
    RETRO_TRY(made.plan, chooseForwarding(needs, wish));
    const std::vector<Tensor> inputs = inPrecision(bound.graph(), request.inputs, request.precision);
    RETRO_CHECK(execute::checkInputs(bound, inputs));
    base::MemoryAccount::tensors().resetPeak();
    Pass pass(needs, request, stop, observer, made);
    RETRO_CHECK(pass.run(inputs));
    made.gradient.cells = bound.graph().nodeCount();
    made.gradient.peakBytes = base::MemoryAccount::tensors().peak();
    return made;
}

Result<ForwardedGradient> forwardedGradient(const LoadedModel& model, const GradientRequest& request,
                                            const ForwardingWish& wish, const std::stop_token& stop,
                                            GradientObserver* observer)
{
    const Stopwatch watch;
    RETRO_TRY(std::shared_ptr<const execute::BoundModel> bound,
              bindModel(model, request.inputs, request.precision, nullptr, stop, wishFor(request.target)));
    const double seconds = watch.seconds();
    ForwardingWish whole = wish;
    whole.loops = loopsOf(*model.graph());
    RETRO_TRY(ForwardedGradient made, forwardedGradient(std::move(bound), request, whole, stop, observer));
    made.gradient.secondsBind = seconds;
    return made;
}

} // namespace retro::engine
