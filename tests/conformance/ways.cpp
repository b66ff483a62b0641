// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/ways.h"

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

/// Counts one way; only a bug is an error.
Result<void> book(WaysDone& done, const char* way, const Result<void>& ending)
{
    if (ending.ok()) {
        ++done.answered;
        return {};
    }
    done.refused.push_back(std::string(way) + ": " + ending.error().text());
    return ending.error().code == ErrorCode::Bug ? within(ending.error(), way) : Result<void>();
}

template <class T>
Result<void> emptied(const Result<T>& result)
{
    return result.ok() ? Result<void>() : Result<void>(result.error());
}

Result<void> relevanceOf(const engine::LoadedModel& model, const engine::ExplainRequest& request)
{
    return emptied(engine::explain(model, request));
}

Result<void> gradientOf(const engine::LoadedModel& model, const std::vector<tensor::Tensor>& inputs)
{
    engine::GradientRequest request;
    request.inputs = inputs;
    return emptied(engine::gradient(model, request));
}

Result<void> verified(const engine::LoadedModel& model, const std::vector<tensor::Tensor>& inputs)
{
    engine::VerifyRequest request;
    request.inputs = inputs;
    return emptied(engine::verify(model, request));
}

} // namespace

Result<WaysDone> goEveryWay(const engine::LoadedModel& model, const std::vector<tensor::Tensor>& inputs)
{
    WaysDone done;
    RETRO_CHECK(book(done, "info", emptied(engine::inferSymbolicShapes(model.graph()))));
    RETRO_CHECK(book(done, "run", emptied(engine::runForward(model, inputs, execute::Precision::Float))));
    engine::ExplainRequest request;
    request.inputs = inputs;
    request.goesOnWhenNotFinite = true;
    RETRO_CHECK(book(done, "explain", relevanceOf(model, request)));
    request.parameters = true;
    RETRO_CHECK(book(done, "explain --parameters", relevanceOf(model, request)));
    RETRO_CHECK(book(done, "grad", gradientOf(model, inputs)));
    RETRO_CHECK(book(done, "verify", verified(model, inputs)));
    return done;
}

} // namespace retro::conformance
