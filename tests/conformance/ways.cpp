// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/ways.h"

#include "core/base/failure.h"
#include "core/engine/explain/explain.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/model/symbolicshapes.h"
#include "core/engine/verify/verify.h"

namespace retro::conformance
{

using base::ErrorCode;
using base::Result;

namespace
{

template <class T>
Result<void> emptied(const Result<T>& result)
{
    return result.ok() ? Result<void>() : Result<void>(result.error());
}

/// Goes one way and counts it; only a bug is an error. What it throws is an error, as for a verb.
template <class Go>
Result<void> goOne(WaysDone& done, const char* way, const Go& go)
{
    const Result<void> ending = base::caught([&go]() -> Result<void> { return emptied(go()); });
    if (ending.ok()) {
        ++done.answered;
        return {};
    }
    done.refused.push_back(std::string(way) + ": " + ending.error().text());
    return ending.error().code == ErrorCode::Bug ? within(ending.error(), way) : Result<void>();
}

} // namespace

Result<WaysDone> goEveryWay(const engine::LoadedModel& model, const std::vector<tensor::Tensor>& inputs)
{
    WaysDone done;
    RETRO_CHECK(goOne(done, "info", [&] { return engine::inferSymbolicShapes(model.graph()); }));
    RETRO_CHECK(goOne(done, "run", [&] { return engine::runForward(model, inputs, execute::Precision::Float); }));
    engine::ExplainRequest request;
    request.inputs = inputs;
    request.goesOnWhenNotFinite = true;
    RETRO_CHECK(goOne(done, "explain", [&] { return engine::explain(model, request); }));
    request.parameters = true;
    RETRO_CHECK(goOne(done, "explain --parameters", [&] { return engine::explain(model, request); }));
    engine::GradientRequest gradient;
    gradient.inputs = inputs;
    RETRO_CHECK(goOne(done, "grad", [&] { return engine::gradient(model, gradient); }));
    engine::VerifyRequest verification;
    verification.inputs = inputs;
    RETRO_CHECK(goOne(done, "verify", [&] { return engine::verify(model, verification); }));
    return done;
}

} // namespace retro::conformance
