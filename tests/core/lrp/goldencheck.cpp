// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/goldencheck.h"

#include "tests/core/lrp/eventlog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::lrptest
{

namespace
{

using nlohmann::json;

constexpr double kTolerance = 1e-9;

void flatten(const json& values, std::vector<double>& flat)
{
    if (values.is_number()) {
        flat.push_back(values.get<double>());
    }
    for (const json& entry : values.is_array() ? values : json::array()) {
        flatten(entry, flat);
    }
}

double largestOf(const json& values)
{
    double largest = 1;
    for (const double value : flat(values)) {
        largest = std::max(largest, std::abs(value));
    }
    return largest;
}

bool agrees(const Tensor& tensor, const json& expected, double tolerance)
{
    const std::vector<double> wanted = flat(expected);
    if (!tensor.isValid() || tensor.size() != static_cast<std::int64_t>(wanted.size())) {
        return false;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!(std::abs(tensor.at(static_cast<std::int64_t>(i)) - wanted[i]) <= tolerance)) {
            return false;
        }
    }
    return true;
}

NodeId nodeNamed(const graph::Graph& graph, const std::string& id)
{
    if (const auto node = graph.findNode(id)) {
        return *node;
    }
    const auto value = graph.findValue(id);
    return value ? graph.inputNode(*value) : NodeId();
}

std::string firstDifference(const char* what, const std::vector<std::string>& found,
                            const std::vector<std::string>& wanted)
{
    for (std::size_t i = 0; i < std::max(found.size(), wanted.size()); ++i) {
        const std::string left = i < found.size() ? found[i] : "nothing";
        const std::string right = i < wanted.size() ? wanted[i] : "nothing";
        if (left != right) {
            return fmt::format("{} {}: \"{}\" instead of \"{}\"", what, i, left, right);
        }
    }
    return {};
}

// In-relevance of every branch at the time its promise was complete.
std::string checkCompletions(const GoldenCase& golden, const TensorRun& run, const RunText& text)
{
    for (std::size_t i = 0; i < golden.completionRins.size(); ++i) {
        const std::vector<json>& wanted = golden.completionRins[i];
        const Completion& found = text.completions[i];
        for (std::size_t branch = 0; branch < wanted.size(); ++branch) {
            const bool known = branch < found.relevance.size() && found.relevance[branch].isValid();
            const Tensor tensor = known ? run.tensors[found.relevance[branch].index()] : Tensor();
            if (!agrees(tensor, wanted[branch], kTolerance * largestOf(wanted[branch]))) {
                return fmt::format("in-relevance of {}.{} is not {}", found.who, branch, wanted[branch].dump());
            }
        }
    }
    return {};
}

// What Aggregates began with; nothing stands for zeros.
std::string checkBeginnings(const GoldenCase& golden, const TensorRun& run, const RunText& text)
{
    for (std::size_t i = 0; i < golden.beginnings.size(); ++i) {
        const std::vector<json>& wanted = golden.beginnings[i];
        const Completion& found = text.beginnings[i];
        for (std::size_t k = 0; k < wanted.size(); ++k) {
            const bool known = k < found.relevance.size() && found.relevance[k].isValid();
            const Tensor tensor = known ? run.tensors[found.relevance[k].index()] : Tensor();
            const std::vector<double> numbers = flat(wanted[k]);
            const bool isNothing = std::ranges::all_of(numbers, [](double one) { return one == 0; });
            if (!(isNothing && !known) && !agrees(tensor, wanted[k], kTolerance * largestOf(wanted[k]))) {
                return fmt::format("{} does not begin with {}", found.who, wanted[k].dump());
            }
        }
    }
    return {};
}

} // namespace

std::vector<double> flat(const json& values)
{
    std::vector<double> list;
    flatten(values, list);
    return list;
}

std::string checkTopo(const GoldenCase& golden, const TensorCase& made)
{
    for (const auto& [id, index] : golden.topo.items()) {
        const NodeId node = nodeNamed(made.model->graph(), id);
        if (!node.isValid() || !made.graph.contains(node) || made.graph.topo(node) != index.get<std::uint32_t>()) {
            return fmt::format("topo of {} is not {}", id, index.dump());
        }
    }
    return made.graph.postOrder().size() == golden.topo.size() ? std::string() : "the graph has other nodes than topo";
}

std::string checkControlFlow(const GoldenCase& golden, const TensorCase& made, const TensorRun& run)
{
    const auto nameOf = [&](NodeId node) { return made.model->graph().labelOf(node); };
    const RunText text = golden.byDocument ? documentTextOf(run.events, nameOf) : textOf(run.events, nameOf);
    std::string fault = firstDifference("visit", text.trace, golden.trace);
    if (fault.empty() && golden.events) {
        fault = firstDifference("event", text.events, *golden.events);
        fault = fault.empty() ? checkCompletions(golden, run, text) : fault;
        fault = fault.empty() ? checkBeginnings(golden, run, text) : fault;
    }
    return fault;
}

std::string checkRelevance(const char* what, const json& expected, const json& scale, const TensorCase& made,
                           const lrp::RelevanceTable& table)
{
    for (const auto& [id, values] : expected.items()) {
        const NodeId node = nodeNamed(made.model->graph(), id);
        const Tensor found = node.isValid() && !table[node.index()].empty() ? table[node.index()][0] : Tensor();
        if (values.is_null() && !found.isValid()) {
            continue; // nothing arrives there
        }
        if (!agrees(found, values, kTolerance * largestOf(scale.value(id, json())))) {
            return fmt::format("{} of {} is not {}", what, id, values.dump());
        }
    }
    return {};
}

} // namespace retro::lrptest
