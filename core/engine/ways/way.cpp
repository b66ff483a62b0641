// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/way.h"

#include "core/engine/ways/inputsonly.h"
#include "core/engine/ways/program.h"

namespace retro::engine
{

namespace
{

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
