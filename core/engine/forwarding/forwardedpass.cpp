// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardedpass.h"

#include "core/engine/forwarding/forwardneeds.h"
#include "core/engine/plan/passsubject.h"
#include "core/event/observer.h"
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruleapplication.h"

namespace retro::engine
{

using base::Result;

namespace
{

using base::NodeId;

/// What the rules of a relevance pass read of the forward pass, each as Rule::reads() says it for its node. Of a pass
/// by the composite `gradient` these are the values of GradientNeeds.
class RelevanceNeeds final : public ForwardNeeds
{
public:
    /// `subject` is a relevance pass.
    explicit RelevanceNeeds(const PassSubject& subject);
};

RelevanceNeeds::RelevanceNeeds(const PassSubject& subject) : ForwardNeeds(subject.sharedModel(), subject.targets())
{
    for (const NodeId node : subject.graph()->postOrder()) {
        const bool isApplied = !model().graph().isInput(node) && !subject.graph()->children(node).empty();
        if (isApplied && (*subject.rules())[node.index()].rule) {
            // A rule that is the derivative looks at what it reads as that does.
            const auto form = (*subject.rules())[node.index()].rule->form(model().op(node),
                                                                          lrp::trackedSlots(*subject.graph(), node));
            addReads(node, subject.reads(node, subject.wantedSlots(node)), form && form->isGradient());
        }
    }
}

event::MemoryChoice choiceOf(ForwardForm form)
{
    switch (form) {
    case ForwardForm::Rebuild:
        return event::MemoryChoice::Recompute;
    case ForwardForm::Compress:
        return event::MemoryChoice::Pack;
    default:
        return event::MemoryChoice::Keep;
    }
}

std::string reasonOf(const ForwardDecision& decision)
{
    return decision.form == ForwardForm::Alias ? "it lies in the memory of " + decision.reason : decision.reason;
}

} // namespace

Result<std::shared_ptr<ForwardedStore>> forwardedStore(const LoadedModel& model, const Prepared& prepared,
                                                       const lrp::TraversalGraph& graph, const ForwardingOptions& wish,
                                                       const std::vector<base::ValueId>& targets,
                                                       std::span<const base::ValueId> alsoKept)
{
    const std::shared_ptr<const lrp::TraversalGraph> borrowed(std::shared_ptr<const void>(), &graph);
    const auto needs = std::make_shared<const RelevanceNeeds>(
        PassSubject::relevance(prepared.model, targets, prepared.rules, borrowed));
    ForwardingOptions whole = wish;
    whole.loops = loopsOf(*model.graph());
    RETRO_TRY(const ForwardingPlan plan, chooseForwarding(*needs, whole));
    return std::make_shared<ForwardedStore>(needs, plan, alsoKept);
}

Result<execute::ForwardResult> forwardInForms(std::shared_ptr<execute::ValueStore> store,
                                              const std::shared_ptr<const execute::BoundModel>& model,
                                              std::span<const tensor::Tensor> inputs, const std::stop_token& stop,
                                              const execute::Progress& progress)
{
    // Every node may read everything, so that nothing is searched for by promises; what is read is what rules ask for.
    auto everything = std::make_shared<const execute::SavePlan>(*model, execute::SavePolicy::All);
    return execute::forwardInto(std::move(store), model, inputs, std::move(everything), stop, progress);
}

std::size_t ForwardingDone::rebuilds() const
{
    std::size_t all = 0;
    for (const auto& [node, times] : rebuilt) {
        all += times;
    }
    return all;
}

ForwardingDone forwardingDone(const ForwardedStore& store)
{
    ForwardingDone done{store.plan(), 0, 0, store.rebuilds()};
    for (const ForwardDecision& decision : done.plan.decisions) {
        done.storedBytes += decision.bytes;
        done.keptBytes += decision.kept;
        event::tellDecision(decision.value, choiceOf(decision.form), decision.bytes, reasonOf(decision));
    }
    return done;
}

} // namespace retro::engine
