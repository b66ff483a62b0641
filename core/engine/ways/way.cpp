// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/way.h"

#include "core/engine/explain/inputrelevance.h"
#include "core/engine/ways/program.h"
#include "core/execute/followingnodes.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace retro::engine
{

namespace
{

/// A program for the relevance of the inputs alone: every value, forward or relevance, lives until its last reader.
class InputsOnlyWay final : public Way
{
public:
    static constexpr WayGives kGives{false, false, false, false};

    /// `known` has a runner.
    explicit InputsOnlyWay(KnownCourse known) : m_known(std::move(known)), m_inputs(*m_known.runner) {}

    [[nodiscard]] WayGives gives() const override { return kGives; }
    base::Result<execute::ForwardResult> forward(Pass& pass) override;
    base::Result<void> run(Pass& pass) override;

private:
    KnownCourse m_known;
    InputPass m_inputs;
};

// The forward pass of the question before, or what of it does not follow from another row; else one is made.
base::Result<execute::ForwardResult> InputsOnlyWay::forward(Pass& pass)
{
    const std::shared_ptr<const execute::BoundModel>& model = pass.result.model;
    if (pass.cache == nullptr) {
        return m_inputs.forward(model, pass.inputs, pass.targets, pass.stop, pass.progressOf("forward"));
    }
    std::unique_ptr<LastForward> last = std::move(pass.cache->lastForward());
    if (!pass.request.keepsPass) {
        last.reset(); // before there is a second one
        return m_inputs.forward(model, pass.inputs, pass.targets, pass.stop, pass.progressOf("forward"));
    }
    const base::ValueId choice = pass.cache->choice();
    std::optional<execute::ForwardResult> made;
    if (last != nullptr && last->isOf(*model, pass.inputs, pass.targets, *m_known.runner)) {
        made = m_inputs.resume(last->forward, last->store);
    } else if (last != nullptr && last->isBeside(*model, pass.inputs, choice)) {
        RETRO_TRY(made, m_inputs.forwardBeside(model, pass.inputs, pass.targets, *last->store, last->forward.outputs,
                                               choice, pass.stop));
    }
    pass.result.forwardReused = made.has_value();
    if (!made) {
        last.reset();
        const std::vector<base::ValueId> alsoKept =
            choice.isValid() ? execute::FollowingNodes(model->graph(), choice).reads() : std::vector<base::ValueId>();
        RETRO_TRY(made, m_inputs.forward(model, pass.inputs, pass.targets, pass.stop, pass.progressOf("forward"), true,
                                         alsoKept));
    }
    execute::ForwardResult kept = *made;
    kept.store = m_inputs.keptStore();
    kept.saved = execute::SavedValues(
        model, std::make_shared<const execute::SavePlan>(*model, execute::SavePolicy::Nothing), kept.store);
    pass.cache->lastForward() = std::make_unique<LastForward>(
        LastForward{model, pass.inputs, pass.targets, m_known.runner, std::move(kept), m_inputs.keptStore()});
    return std::move(*made);
}

base::Result<void> InputsOnlyWay::run(Pass& pass)
{
    RETRO_CHECK(m_inputs.run(pass.forward->saved, pass.starts, pass.stop, pass.progressOf("relevance"), pass.result));
    takeProgram(*m_known.course, pass);
    return {};
}

/// What a request wants beside the relevance of graph inputs.
WayGives wantedOf(const Pass& pass)
{
    const ExplainRequest& request = pass.request;
    return {request.record || (request.keepsPass && !request.inputsOnly),
            !request.checkpoints.empty() || request.stopAtCheckpoints || pass.prepared->hasCheckpoints,
            request.parameters, !request.inputsOnly};
}

} // namespace

ForwardNeed Way::needs(const Pass& pass) const { return {pass.request.save, pass.values}; }

base::Result<execute::ForwardResult> Way::forward(Pass& pass)
{
    const ForwardNeed need = needs(pass);
    return execute::forward(pass.result.model, pass.inputs, need.policy, pass.stop, pass.progressOf("forward"),
                            need.alsoKept);
}

std::string_view Way::saving(const Pass& pass) const { return execute::nameOf(needs(pass).policy); }

base::Result<std::unique_ptr<Way>> chooseWay(Pass& pass)
{
    using Chosen = base::Result<std::unique_ptr<Way>>;
    const ExplainRequest& request = pass.request;
    if (request.engine == EngineKind::Oracle) {
        return Chosen(oracleWay());
    }
    if (request.forwarding) {
        return Chosen(forwardedWay());
    }
    if (request.save == execute::SavePolicy::Plan) {
        return Chosen(plannedWay()); // a course is not known by what a plan keeps
    }
    if (pass.cache == nullptr || keepsPass(pass) || request.followsDocument) {
        return Chosen(std::make_unique<PromiseWay>());
    }
    const bool isForInputs = request.engine == EngineKind::Promise && InputsOnlyWay::kGives.cover(wantedOf(pass));
    RETRO_TRY(KnownCourse known, knownCourse(pass, isForInputs));
    if (isForInputs && known.runner) {
        return Chosen(std::make_unique<InputsOnlyWay>(std::move(known)));
    }
    return Chosen(std::make_unique<ProgramWay>(std::move(known)));
}

} // namespace retro::engine
