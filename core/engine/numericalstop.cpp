// SPDX-License-Identifier: Apache-2.0
#include "core/engine/numericalstop.h"

#include "core/execute/forward.h"
#include "core/trace/wrongnumber.h"

#include <fmt/format.h>

namespace retro::engine
{

using base::ValueId;
using tensor::Tensor;

namespace
{

constexpr const char* kGoOn = "go on with --go-on (and --run FILE.retro) to look at what comes of it";

base::Error errorOf(const trace::WrongNumber& wrong, const std::string& advice)
{
    return {base::ErrorCode::Engine, fmt::format("{}; {}", wrong.text, advice), wrong.where};
}

base::Result<execute::ForwardResult> allValues(const ForwardPass& forward)
{
    return execute::forward(forward.model, forward.inputs, execute::SavePolicy::All, forward.stop);
}

trace::PassNumbers numbersOf(const ForwardPass& forward, const execute::ForwardResult& values)
{
    return {forward.model->graph(),
            forward.rules,
            {},
            [](ValueId) { return Tensor(); },
            [&values](ValueId value) { return values.saved.anyValue(value); }};
}

} // namespace

base::Result<void> checkFinite(const FinishedRelevance& pass)
{
    if (trace::firstWrongRow(pass.ledger) == nullptr) {
        return {};
    }
    RETRO_TRY(const execute::ForwardResult values, allValues(pass.forward));
    trace::PassNumbers numbers = numbersOf(pass.forward, values);
    numbers.ledger = pass.ledger;
    numbers.relevance = [&pass](ValueId value) {
        return value.index() < pass.relevance.size() ? pass.relevance[value.index()] : Tensor();
    };
    if (const auto wrong = trace::firstWrongNumber(numbers)) {
        return errorOf(*wrong, fmt::format("look at the input and the weights, choose another rule or a larger epsilon "
                                           "for the node, or {}",
                                           kGoOn));
    }
    return {};
}

base::Error withoutAdvice(base::Error error)
{
    if (const std::size_t advice = error.message.rfind("; look at "); advice != std::string::npos) {
        error.message.resize(advice);
    }
    return error;
}

base::Result<void> checkProducts(const ForwardPass& forward, std::span<const Tensor> products)
{
    const graph::Graph& graph = forward.model->graph();
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const std::string product = trace::wrongElementOf(products[graph.inputs()[i].index()]);
        if (product.empty()) {
            continue;
        }
        const std::string own = trace::wrongElementOf(forward.inputs[i]);
        return base::Error{
            base::ErrorCode::Engine,
            fmt::format("input times gradient is {}; {}; look at the input, choose a composite that does "
                        "not multiply by it, or {}",
                        product,
                        own.empty() ? std::string("the input is finite: the product overflowed")
                                    : "the input is " + own,
                        kGoOn),
            fmt::format("input \"{}\"", graph.value(graph.inputs()[i]).name)};
    }
    return {};
}

base::Result<ResolvedTarget> resolveTargetOf(const ForwardPass& forward, const TargetRequest& request,
                                             const StartRequest& start, ValueId value, const Tensor& known)
{
    base::Result<ResolvedTarget> target = resolveTarget(request, start, value, known);
    if (target || target.error().code != base::ErrorCode::Engine) {
        return target;
    }
    RETRO_TRY(const execute::ForwardResult values, allValues(forward));
    if (const auto origin = trace::originOf(numbersOf(forward, values), value)) {
        return errorOf(*origin, target.error().message);
    }
    return target;
}

} // namespace retro::engine
