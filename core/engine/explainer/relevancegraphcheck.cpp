// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/relevancegraphcheck.h"

#include "core/engine/explain/automaticrules.h"
#include "core/engine/explain/oraclecheck.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/input/fittedinput.h"
#include "core/ops/algebra.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

constexpr std::string_view kRelevancePrefix = "relevance/";
constexpr double kFloatBound = 1e-5;
constexpr double kDoubleBound = 1e-9;
constexpr double kTimesOwn = 4; ///< as far as another order of additions may be, of what float itself is from double

/// Inputs of the graph: those of the model, and what says where relevance starts.
Result<std::vector<tensor::Tensor>> inputsOf(const LoadedModel& graph, const ExplainRequest& request,
                                             const RelevanceGraph& written, const ExplainResult& explained)
{
    std::vector<tensor::Tensor> inputs = request.inputs;
    const graph::Graph& own = explained.model->graph();
    for (std::size_t i = 0; i < inputs.size(); ++i) { // other runtimes take no other type
        const tensor::DType type = graph.graph()->value(graph.graph()->inputs()[i]).dtype;
        const auto& given = own.value(own.inputs()[i]).given;
        if (tensor::isFloating(inputs[i].dtype()) && given) {
            inputs[i] = numbersOf(inputs[i], *given);
        } else if (tensor::isFloating(type) && tensor::isFloating(inputs[i].dtype())) {
            inputs[i] = inputs[i].to(type);
        }
    }
    if (written.chooser.empty()) {
        return inputs;
    }
    const graph::Value& chooser = graph.graph()->value(graph.graph()->inputs().back());
    if (tensor::isFloating(chooser.dtype)) {
        inputs.push_back(explained.target.start);
        return inputs;
    }
    std::vector<std::int64_t> index = explained.target.index;
    for (std::int64_t& one : index) {
        one = written.words > 0 ? one % written.words : one;
    }
    inputs.push_back(tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(index.size())}, index));
    return inputs;
}

/// The relevance that an output of the graph stands for; zeros where nothing arrived.
tensor::Tensor expectedOf(const ExplainResult& explained, const std::string& output, const tensor::Tensor& found)
{
    const auto value = explained.model->graph().findValue(output.substr(kRelevancePrefix.size()));
    tensor::Tensor expected = value ? explained.relevance[value->index()] : tensor::Tensor();
    return expected.isValid() ? expected : tensor::Tensor::zeros(found.dtype(), found.shape());
}

Result<void> takePrecise(RelevanceGraphCheck& check, const LoadedModel& model, ExplainRequest request,
                         const std::stop_token& stop)
{
    request.precision = execute::Precision::Double;
    RETRO_TRY(const ExplainResult explained, explain(model, request, stop));
    for (std::size_t i = 0; i < check.outputs.size(); ++i) {
        check.precise.push_back(expectedOf(explained, check.outputs[i], check.expected[i]));
    }
    return {};
}

} // namespace

RelevanceGraphDifference RelevanceGraphCheck::differenceOf(std::size_t output, const tensor::Tensor& found) const
{
    const bool isDouble = expected[output].dtype() == tensor::DType::Float64;
    const double bound = isDouble ? kDoubleBound : kFloatBound;
    const double largest = relativeDifference(found, expected[output]);
    if (isDouble || largest <= bound || output >= precise.size()) {
        return {outputs[output], largest, bound};
    }
    const double own = relativeDifference(expected[output], precise[output]);
    return {outputs[output], relativeDifference(found, precise[output]), std::max(bound, kTimesOwn * own)};
}

Result<RelevanceGraphCheck> checkRelevanceGraph(const std::filesystem::path& file, const LoadedModelPointer& model,
                                                const ExplainRequest& request, const RelevanceGraph& written,
                                                bool alsoInDouble, const std::stop_token& stop)
{
    ExplainRequest asked = request;
    if (isAutomatic(asked)) { // the graph was written before any input was seen, so no pass changed its rules
        asked.composite = written.metadata.at("retrograde.composite");
    }
    RETRO_TRY(const ExplainResult explained, explain(*model, asked, stop));
    RETRO_TRY(const LoadedModelPointer graph, loadModel(file, rewrite::noRewrites(), stop));
    RelevanceGraphCheck check;
    RETRO_TRY(check.inputs, inputsOf(*graph, request, written, explained));
    for (const graph::ValueId input : graph->graph()->inputs()) {
        check.inputNames.push_back(graph->graph()->value(input).name);
    }
    RETRO_TRY(const ForwardOutputs made, runForward(*graph, check.inputs, request.precision, stop));
    if (!made.leftOut.empty()) {
        return base::Error{base::ErrorCode::Engine, "the graph that was written cannot run: " + made.leftOut.front(),
                           file.string()};
    }
    std::vector<tensor::Tensor> found;
    for (std::size_t i = 0; i < made.outputs.size(); ++i) {
        const bool isAsked = std::ranges::find(written.relevance, made.names[i]) != written.relevance.end();
        if (!isAsked) {
            continue;
        }
        check.outputs.push_back(made.names[i]);
        check.expected.push_back(expectedOf(explained, made.names[i], made.outputs[i]));
        found.push_back(made.outputs[i]);
    }
    const auto compareAll = [&] {
        check.differences.clear();
        for (std::size_t i = 0; i < found.size(); ++i) {
            check.differences.push_back(check.differenceOf(i, found[i]));
        }
    };
    compareAll();
    const bool allHold = std::ranges::all_of(check.differences, &RelevanceGraphDifference::holds);
    if (request.precision != execute::Precision::Double && (alsoInDouble || !allHold)) {
        RETRO_CHECK(takePrecise(check, *model, request, stop));
        compareAll();
    }
    return check;
}

} // namespace retro::engine
