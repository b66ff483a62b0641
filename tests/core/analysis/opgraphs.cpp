// SPDX-License-Identifier: Apache-2.0
#include "tests/core/analysis/opgraphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

namespace retro::planningtest
{

using analysis::Op;
using analysis::OpGraph;
using analysis::OpValue;
using analysis::Phase;

base::Result<OpGraph> graphOf(std::vector<SimpleNode> nodes, const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs, bool sortsByName)
{
    if (sortsByName) {
        std::stable_sort(nodes.begin(), nodes.end(),
                         [](const SimpleNode& a, const SimpleNode& b) { return a.name < b.name; });
    }
    std::unordered_map<std::string, std::uint32_t> ids;
    for (const SimpleNode& node : nodes) {
        ids.emplace(node.name, static_cast<std::uint32_t>(ids.size()));
    }
    const auto contains = [](const std::vector<std::string>& names, const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    std::vector<Op> ops;
    std::vector<OpValue> values;
    for (std::uint32_t id = 0; id < nodes.size(); ++id) {
        const SimpleNode& node = nodes[id];
        Op op;
        op.name = node.name;
        op.type = "op";
        op.cost = node.cost;
        op.flops = node.cost;
        op.outputs = {id};
        op.phase = contains(inputs, node.name) ? Phase::Source : Phase::Forward;
        for (const std::string& input : node.inputs) {
            const auto at = ids.find(input);
            op.inputs.push_back(at == ids.end() ? analysis::kNone : at->second);
        }
        op.savedInputs = node.save == "input" || node.save == "both" ? op.inputs : std::vector<std::uint32_t>();
        op.savedOutputs = node.save == "output" || node.save == "both" ? op.outputs : std::vector<std::uint32_t>();
        ops.push_back(std::move(op));
        OpValue value;
        value.name = node.name;
        value.bytes = node.bytes;
        value.isPinned = contains(inputs, node.name);
        value.isOutput = contains(outputs, node.name);
        values.push_back(std::move(value));
    }
    return OpGraph::make(std::move(ops), std::move(values));
}

namespace
{

template <class T>
T taken(base::Result<T> result)
{
    if (!result.ok()) {
        std::fputs((result.error().text() + "\n").c_str(), stderr);
        std::abort();
    }
    return std::move(result).value();
}

} // namespace

OpGraph unitChain(std::size_t length)
{
    std::vector<SimpleNode> nodes{{"x", {}}};
    for (std::size_t i = 0; i < length; ++i) {
        nodes.push_back({fmt::format("n{}", i), {nodes.back().name}});
    }
    const std::string last = nodes.back().name;
    return taken(graphOf(std::move(nodes), {"x"}, {last}));
}

OpGraph randomGraph(std::mt19937_64& random, std::size_t count)
{
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    constexpr std::array<const char*, 4> kSaves{"input", "output", "both", "none"};
    std::vector<SimpleNode> nodes{{"x", {}, 1 + below(4)}};
    std::vector<std::string> inputs{"x"};
    if (below(3) == 0) {
        nodes.push_back({"y", {}, below(5)});
        inputs.push_back("y");
    }
    const std::size_t window = 1 + below(6);
    for (std::size_t i = 0; i < count; ++i) {
        SimpleNode node{fmt::format("n{}", i), {}, below(7), static_cast<double>(below(6)), kSaves[below(4)]};
        const std::size_t operands = 1 + (below(2) == 0 ? below(3) : 0);
        for (std::size_t k = 0; k < operands; ++k) {
            node.inputs.push_back(nodes[nodes.size() - 1 - below(std::min(nodes.size(), window))].name);
        }
        nodes.push_back(std::move(node));
    }
    std::vector<std::string> outputs{nodes.back().name};
    if (below(3) == 0) {
        outputs.push_back(nodes[below(nodes.size())].name);
    }
    return taken(graphOf(std::move(nodes), inputs, outputs));
}

analysis::JointGraph jointOfGraph(const OpGraph& graph) { return taken(analysis::jointGraph(graph, graph.order())); }

} // namespace retro::planningtest
