// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/relevancegraphcheck.h"

#include "core/engine/explain/automaticrules.h"
#include "core/engine/explain/runforward.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::engine
{

using base::Result;

namespace
{

double difference(const tensor::Tensor& a, const tensor::Tensor& b)
{
    if (a.shape() != b.shape()) {
        return HUGE_VAL;
    }
    double largest = 0;
    double apart = 0;
    for (std::int64_t i = 0; i < b.size(); ++i) {
        const double one = std::abs(a.at(i) - b.at(i));
        apart = std::isnan(one) ? HUGE_VAL : std::max(apart, one);
        largest = std::max(largest, std::abs(b.at(i)));
    }
    return apart == 0 ? 0 : largest == 0 ? HUGE_VAL : apart / largest;
}

/// Inputs of the graph: those of the model, and what says where relevance starts.
Result<std::vector<tensor::Tensor>> inputsOf(const LoadedModel& graph, const ExplainRequest& request,
                                             const RelevanceGraph& written, const ExplainResult& explained)
{
    std::vector<tensor::Tensor> inputs = request.inputs;
    if (written.chooser.empty()) {
        return inputs;
    }
    const graph::Value& chooser = graph.graph()->value(graph.graph()->inputs().back());
    if (tensor::isFloating(chooser.dtype)) {
        inputs.push_back(explained.target.start);
        return inputs;
    }
    const std::vector<std::int64_t>& index = explained.target.index;
    inputs.push_back(tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(index.size())}, index));
    return inputs;
}

} // namespace

Result<std::vector<RelevanceGraphDifference>>
checkRelevanceGraph(const std::filesystem::path& file, const LoadedModelPointer& model, const ExplainRequest& request,
                    const RelevanceGraph& written, const std::stop_token& stop)
{
    ExplainRequest asked = request;
    if (isAutomatic(asked)) { // the graph was written before any input was seen, so no pass changed its rules
        asked.composite = written.metadata.at("retrograde.composite");
    }
    RETRO_TRY(const ExplainResult explained, explain(*model, asked, stop));
    RETRO_TRY(const LoadedModelPointer graph, loadModel(file, rewrite::noRewrites(), stop));
    RETRO_TRY(const std::vector<tensor::Tensor> inputs, inputsOf(*graph, request, written, explained));
    RETRO_TRY(const ForwardOutputs made, runForward(*graph, inputs, request.precision, stop));
    if (!made.leftOut.empty()) {
        return base::Error{base::ErrorCode::Engine, "the graph that was written cannot run: " + made.leftOut.front(),
                           file.string()};
    }
    std::vector<RelevanceGraphDifference> differences;
    constexpr std::string_view kPrefix = "relevance/";
    for (std::size_t i = 0; i < made.outputs.size(); ++i) {
        const std::string& name = made.names[i];
        if (!name.starts_with(kPrefix)) {
            continue;
        }
        const auto value = explained.model->graph().findValue(name.substr(kPrefix.size()));
        if (!value) {
            continue;
        }
        tensor::Tensor expected = explained.relevance[value->index()];
        if (!expected.isValid()) { // nothing arrived
            expected = tensor::Tensor::zeros(made.outputs[i].dtype(), made.outputs[i].shape());
        }
        differences.push_back({name, difference(made.outputs[i], expected)});
        if (!std::isfinite(differences.back().largest)) {
            return base::Error{
                base::ErrorCode::Engine,
                fmt::format("the output {} of the graph that was written is not the engine's relevance", name),
                file.string()};
        }
    }
    return differences;
}

} // namespace retro::engine
