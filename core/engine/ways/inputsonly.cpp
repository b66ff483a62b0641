// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/inputsonly.h"

#include "core/execute/followingnodes.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace retro::engine
{

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

} // namespace retro::engine
