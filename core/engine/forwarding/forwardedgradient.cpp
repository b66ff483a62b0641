// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardedgradient.h"

#include "core/base/cancel.h"
#include "core/base/memoryaccount.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/forwarding/forwardedpass.h"
#include "core/engine/forwarding/gradientneeds.h"
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

/// The rules of a gradient pass as the loop of the tape calls them: each fetches what it reads.
class FetchingRules
{
public:
    FetchingRules(const GradientNeeds& needs, ForwardedStore& values, ForwardedGradient& made)
        : m_needs(needs), m_model(needs.model()), m_values(values), m_made(made),
          m_rule(gradientRule(needs.sharedModel())), m_next(m_model.graph().nodeCount())
    {}

    Result<std::vector<Tensor>> operator()(const tape::ModelSite& site)
    {
        const graph::Node& node = m_model.graph().node(site.node);
        forgetBehind(site.node);
        if (!m_needs.runs(site.node)) {
            return std::vector<Tensor>();
        }
        const std::vector<Tensor> operands = read(site.node, node.inputs, false);
        std::vector<Tensor> outputs = read(site.node, node.outputs, true);
        outputs.resize(site.upstream.size());
        const std::vector<std::uint8_t> wanted = m_needs.wanted(site.node);
        RETRO_TRY(std::vector<Tensor> parts, m_rule({site.node, operands, outputs, site.upstream, wanted}));
        ++m_made.gradient.visited;
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
    ForwardedGradient& m_made;
    tape::ModelRule m_rule;
    std::size_t m_next; ///< results of nodes from here on are forgotten
};

Result<void> forwardPass(const std::shared_ptr<ForwardedStore>& values, const GradientNeeds& needs,
                         std::span<const Tensor> inputs, const std::stop_token& stop, const GradientRequest& request,
                         ForwardedGradient& made)
{
    const std::shared_ptr<const execute::BoundModel>& model = needs.sharedModel();
    const Stopwatch watch;
    RETRO_TRY(const execute::ForwardResult forward, forwardInForms(values, model, inputs, stop, {}));
    made.gradient.secondsForward = watch.seconds();
    made.gradient.outputs = forward.outputs;
    RETRO_TRY(made.gradient.target,
              resolveTarget(request.target, {StartKind::One, {}}, needs.target(), forward.value(needs.target())));
    return {};
}

/// The loop of the tape over cells without values.
Result<void> reversePass(ForwardedStore& values, const GradientNeeds& needs, const std::stop_token& stop,
                         ForwardedGradient& made)
{
    using tape::Bundle;
    const Stopwatch watch;
    FetchingRules rules(needs, values, made);
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

} // namespace

Result<ForwardedGradient> forwardedGradient(std::shared_ptr<const execute::BoundModel> model,
                                            const GradientRequest& request, const ForwardingOptions& wish,
                                            const std::stop_token& stop)
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
    RETRO_CHECK(forwardPass(values, *needs, inputs, stop, request, made));
    RETRO_CHECK(reversePass(*values, *needs, stop, made));
    static_cast<ForwardingDone&>(made) = forwardingDone(*values);
    made.gradient.cells = bound.graph().nodeCount();
    made.gradient.peakBytes = base::MemoryAccount::tensors().peak();
    return made;
}

Result<ForwardedGradient> forwardedGradient(const LoadedModel& model, const GradientRequest& request,
                                            const ForwardingOptions& wish, const std::stop_token& stop)
{
    const Stopwatch watch;
    RETRO_TRY(std::shared_ptr<const execute::BoundModel> bound,
              bindModel(model, request.inputs, request.precision, nullptr, stop, bindOptionsFor(request.target)));
    const double seconds = watch.seconds();
    ForwardingOptions whole = wish;
    whole.loops = loopsOf(*model.graph());
    RETRO_TRY(ForwardedGradient made, forwardedGradient(std::move(bound), request, whole, stop));
    made.gradient.secondsBind = seconds;
    return made;
}

} // namespace retro::engine
