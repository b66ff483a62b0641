// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardedgradient.h"

#include "core/base/cancel.h"
#include "core/base/memoryaccount.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/forwarding/forwardedpass.h"
#include "core/engine/forwarding/gradientneeds.h"
#include "core/engine/forwarding/reverseflops.h"
#include "core/engine/gradient/choseninputs.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/model/binding.h"
#include "core/execute/forward.h"

#include <algorithm>
#include <functional>

namespace retro::engine
{

using base::NodeId;
using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

/// Hands the results of a forward pass on, and books time, bytes and operations of every node.
class BookedStore final : public execute::ValueStore
{
public:
    BookedStore(ForwardedStore& to, GradientObserver* observer, std::vector<OperatorCost>& costs)
        : m_to(to), m_observer(observer), m_costs(costs)
    {}

    void put(ValueId value, Tensor tensor) override
    {
        const NodeId node = m_to.needs().model().graph().value(value).producer;
        if (node.isValid()) {
            finishBefore(node.index());
            m_costs[node.index()].forwardSeconds += m_watch.seconds();
            m_costs[node.index()].bytes += tensor.bytes();
        }
        m_to.put(value, std::move(tensor));
        m_watch = Stopwatch();
    }
    [[nodiscard]] Tensor get(ValueId value) const override { return m_to.get(value); }
    [[nodiscard]] Tensor kept(ValueId value) const override { return m_to.kept(value); }

    /// All nodes before this one have ended.
    void finishBefore(std::size_t node)
    {
        for (; m_next < node; ++m_next) {
            if (m_observer != nullptr) {
                m_observer->onForward(m_costs[m_next]);
            }
        }
    }

private:
    ForwardedStore& m_to;
    GradientObserver* m_observer;
    std::vector<OperatorCost>& m_costs;
    std::size_t m_next = 0; ///< the first node that is not known to have ended
    Stopwatch m_watch;
};

/// The rules of a gradient pass as the loop of the tape calls them: each fetches what it reads.
class BookedRules
{
public:
    BookedRules(const GradientNeeds& needs, ForwardedStore& values, GradientObserver* observer, ForwardedGradient& made)
        : m_needs(needs), m_model(needs.model()), m_values(values), m_observer(observer), m_made(made),
          m_rule(gradientRule(needs.sharedModel())), m_next(m_model.graph().nodeCount())
    {}

    Result<std::vector<Tensor>> operator()(const tape::ModelSite& site)
    {
        const graph::Node& node = m_model.graph().node(site.node);
        forgetBehind(site.node);
        if (!m_needs.runs(site.node)) {
            return std::vector<Tensor>();
        }
        const Stopwatch fetching;
        const double flopsBefore = m_values.rebuildFlops();
        const std::vector<Tensor> operands = read(site.node, node.inputs, false);
        std::vector<Tensor> outputs = read(site.node, node.outputs, true);
        outputs.resize(site.upstream.size());
        OperatorCost& cost = m_made.costs[site.node.index()];
        cost.rebuildSeconds = fetching.seconds();
        cost.rebuildFlops = m_values.rebuildFlops() - flopsBefore;
        const Stopwatch watch;
        const std::vector<std::uint8_t> wanted = m_needs.wanted(site.node);
        RETRO_TRY(std::vector<Tensor> parts, m_rule({site.node, operands, outputs, site.upstream, wanted}));
        cost.reverseSeconds = watch.seconds();
        cost.reverseFlops = reverseFlops(m_model, site.node, wanted);
        ++m_made.gradient.visited;
        if (m_observer != nullptr) {
            m_observer->onReverse(cost);
        }
        return parts;
    }

private:
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

    /// No rule to come reads the results of nodes behind this one.
    void forgetBehind(NodeId node)
    {
        while (m_next > node.index() + 1) {
            for (const ValueId output : m_model.graph().node(NodeId(--m_next)).outputs) {
                if (output.isValid()) {
                    m_values.forget(output);
                }
            }
        }
    }

    const GradientNeeds& m_needs;
    const execute::BoundModel& m_model;
    ForwardedStore& m_values;
    GradientObserver* m_observer;
    ForwardedGradient& m_made;
    tape::ModelRule m_rule;
    std::size_t m_next; ///< results of nodes from here on are forgotten
};

Result<void> forwardPass(const std::shared_ptr<ForwardedStore>& values, const GradientNeeds& needs,
                         std::span<const Tensor> inputs, const std::stop_token& stop, GradientObserver* observer,
                         const GradientRequest& request, ForwardedGradient& made)
{
    const std::shared_ptr<const execute::BoundModel>& model = needs.sharedModel();
    made.costs.resize(model->graph().nodeCount());
    for (std::size_t i = 0; i < made.costs.size(); ++i) {
        made.costs[i].node = NodeId(i);
        made.costs[i].flops = model->op(NodeId(i)).flops();
    }
    const Stopwatch watch;
    const auto store = std::make_shared<BookedStore>(*values, observer, made.costs);
    RETRO_TRY(const execute::ForwardResult forward, forwardInForms(store, model, inputs, stop, {}));
    store->finishBefore(made.costs.size());
    made.gradient.secondsForward = watch.seconds();
    made.gradient.outputs = forward.outputs;
    RETRO_TRY(made.gradient.target,
              resolveTarget(request.target, {StartKind::One, {}}, needs.target(), forward.value(needs.target())));
    return {};
}

/// The loop of the tape over cells without values.
Result<void> reversePass(ForwardedStore& values, const GradientNeeds& needs, const std::stop_token& stop,
                         GradientObserver* observer, ForwardedGradient& made)
{
    using tape::Bundle;
    const Stopwatch watch;
    BookedRules rules(needs, values, observer, made);
    const tape::ModelTape outline = tape::outlineModel(needs.sharedModel(), std::ref(rules), stop);
    tape::Slots<Bundle> seed(outline.tape.size());
    seed[outline.idOf[needs.target().index()]] = Bundle(made.gradient.target.start);
    tape::Kept kept(outline.tape.size(), 0);
    const std::span<const ValueId> inputs = needs.model().graph().inputs();
    std::fill_n(kept.begin(), inputs.size(), std::uint8_t{1});
    auto arrived = tape::skippingLoop<Bundle>(outline.tape, std::move(seed), nullptr, kept);
    RETRO_CHECK(base::checkStop(stop));
    if (!arrived.ok()) {
        return arrived.error().asError();
    }
    made.gradient.secondsReverse = watch.seconds();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const ops::TensorType& type = needs.model().typeOf(inputs[i]);
        Tensor gradient = (*arrived)[i] ? (*arrived)[i]->only() : Tensor();
        if (!gradient.isValid() && tensor::isFloating(type.dtype)) {
            gradient = Tensor::zeros(type.dtype, type.shape);
        }
        made.gradient.gradients.push_back(std::move(gradient));
    }
    return {};
}

void takePlan(const ForwardedStore& values, GradientObserver* observer, ForwardedGradient& made)
{
    for (const auto& [node, times] : values.rebuilds()) {
        made.costs[node.index()].rebuilds = times;
        made.rebuilds += times;
    }
    ForwardingDone done = forwardingDone(values);
    made.plan = std::move(done.plan);
    made.storedBytes = done.storedBytes;
    made.keptBytes = done.keptBytes;
    for (const ForwardDecision& decision : made.plan.decisions) {
        if (observer != nullptr) {
            observer->onForwarded(decision);
        }
    }
}

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
                                            const GradientRequest& request, const ForwardingOptions& wish,
                                            const std::stop_token& stop, GradientObserver* observer)
{
    ForwardedGradient made;
    made.gradient.model = std::move(model);
    const execute::BoundModel& bound = *made.gradient.model;
    RETRO_TRY(const ValueId target, targetValue(request.target, bound));
    RETRO_TRY(const std::vector<ValueId> chosen, chosenInputs(bound.graph(), request.from));
    const auto needs = std::make_shared<const GradientNeeds>(
        made.gradient.model, target, request.from.empty() ? std::span<const ValueId>() : chosen);
    if (!needs->isTracked(target)) {
        return base::usageError("the target does not depend on a floating input by operators that pass a gradient; "
                                "choose another target, or ask for --parameters",
                                bound.graph().value(target).name);
    }
    RETRO_TRY(const ForwardingPlan plan, chooseForwarding(*needs, wish));
    const std::vector<Tensor> inputs = inPrecision(bound.graph(), request.inputs, request.precision);
    base::MemoryAccount::tensors().resetPeak();
    const auto values = std::make_shared<ForwardedStore>(needs, plan, std::span(&target, 1));
    RETRO_CHECK(forwardPass(values, *needs, inputs, stop, observer, request, made));
    RETRO_CHECK(reversePass(*values, *needs, stop, observer, made));
    takePlan(*values, observer, made);
    made.gradient.cells = bound.graph().nodeCount();
    made.gradient.peakBytes = base::MemoryAccount::tensors().peak();
    return made;
}

Result<ForwardedGradient> forwardedGradient(const LoadedModel& model, const GradientRequest& request,
                                            const ForwardingOptions& wish, const std::stop_token& stop,
                                            GradientObserver* observer)
{
    const Stopwatch watch;
    RETRO_TRY(std::shared_ptr<const execute::BoundModel> bound,
              bindModel(model, request.inputs, request.precision, nullptr, stop, bindOptionsFor(request.target)));
    const double seconds = watch.seconds();
    ForwardingOptions whole = wish;
    whole.loops = loopsOf(*model.graph());
    RETRO_TRY(ForwardedGradient made, forwardedGradient(std::move(bound), request, whole, stop, observer));
    made.gradient.secondsBind = seconds;
    return made;
}

} // namespace retro::engine
