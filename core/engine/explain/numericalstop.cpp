// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/numericalstop.h"

#include "core/engine/explain/ctc.h"

#include "core/execute/forward.h"
#include "core/trace/targetplace.h"
#include "core/trace/wrongnumber.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

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

/// Looks at every value of a forward pass as it is made and keeps the words on those that are not finite, but no value:
/// the search must not need more memory than the pass that went wrong.
class WrongValues final : public execute::ValueStore
{
public:
    void put(ValueId value, Tensor tensor) override
    {
        if (std::string element = trace::wrongElementOf(tensor); !element.empty()) {
            m_elements[value] = std::move(element);
        }
    }
    [[nodiscard]] Tensor get(ValueId) const override { return {}; }
    [[nodiscard]] std::string of(ValueId value) const
    {
        const auto found = m_elements.find(value);
        return found == m_elements.end() ? std::string() : found->second;
    }

private:
    std::map<ValueId, std::string> m_elements;
};

base::Result<std::shared_ptr<const WrongValues>> wrongValues(const ForwardPass& forward)
{
    const graph::Graph& graph = forward.model->graph();
    std::vector<ValueId> all;
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        all.emplace_back(i);
    }
    auto wrong = std::make_shared<WrongValues>();
    RETRO_CHECK(execute::forwardInto(wrong, forward.model, forward.inputs, all, forward.stop));
    return std::shared_ptr<const WrongValues>(std::move(wrong));
}

trace::PassNumbers numbersOf(const ForwardPass& forward, std::shared_ptr<const WrongValues> wrong)
{
    const execute::BoundModel& model = *forward.model;
    return {model.graph(),
            forward.rules,
            {},
            [](ValueId) { return std::string(); },
            [&model, wrong = std::move(wrong)](ValueId value) {
                return model.isConstant(value) ? trace::wrongElementOf(model.constant(value)) : wrong->of(value);
            }};
}

} // namespace

base::Result<void> checkFinite(const FinishedRelevance& pass)
{
    if (trace::firstWrongRow(pass.ledger) == nullptr) {
        return {};
    }
    RETRO_TRY(auto wrongOnes, wrongValues(pass.forward));
    trace::PassNumbers numbers = numbersOf(pass.forward, std::move(wrongOnes));
    numbers.ledger = pass.ledger;
    numbers.relevance = [&pass](ValueId value) {
        return value.index() < pass.relevance.size() ? trace::wrongElementOf(pass.relevance[value.index()])
                                                     : std::string();
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
    const std::vector<std::string> axes = trace::axisNames(forward.model->graph(), value, known.rank());
    const std::string& name = forward.model->graph().value(value).name;
    const std::optional<CtcReading> ctc = ctcReading(*forward.model, value, known);
    if (ctc && readsAsCtc(*ctc, request, start)) {
        return resolveCtc(*ctc, request, start, value, known, name);
    }
    base::Result<ResolvedTarget> target = resolveTarget(request, start, value, known, axes);
    if (target && ctc && !ctc->isSure && request.kind == TargetRequest::Kind::Argmax) {
        target->notes.push_back(ctcHint(*ctc, name));
    }
    if (target || target.error().code != base::ErrorCode::Engine) {
        return target;
    }
    RETRO_TRY(auto wrongOnes, wrongValues(forward));
    if (const auto origin = trace::originOf(numbersOf(forward, std::move(wrongOnes)), value)) {
        return errorOf(*origin, target.error().message);
    }
    return target;
}

} // namespace retro::engine
