// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cutchain.h"
#include "core/schedule/lifetimes.h"
#include "core/schedule/planners/mincutsolver.h"
#include "core/schedule/planners/revolvetable.h"
#include "core/schedule/planners/rotortable.h"
#include "tests/core/schedule/goldencases.h"

#include <algorithm>
#include <cmath>

namespace retro::planningtest
{

using analysis::OpGraph;
using analysis::OpId;
using nlohmann::json;

namespace
{

schedule::RotorChain chainOf(const json& chain)
{
    schedule::RotorChain result;
    result.forwardTime = chain.at("uf").get<std::vector<double>>();
    result.backwardTime = chain.at("ub").get<std::vector<double>>();
    result.outputBytes = chain.at("wa").get<std::vector<std::uint64_t>>();
    result.savedBytes = chain.at("wabar").get<std::vector<std::uint64_t>>();
    result.gradientBytes = chain.at("wd").get<std::vector<std::uint64_t>>();
    result.forwardTemporary = chain.at("of").get<std::vector<std::uint64_t>>();
    result.backwardTemporary = chain.at("ob").get<std::vector<std::uint64_t>>();
    return result;
}

void checkRotor(const json& item, Findings& findings)
{
    for (const json& row : item.at("table")) {
        const auto memory = row.at("M").get<std::uint64_t>();
        const std::string at = row.at("chain").get<std::string>() + " M=" + std::to_string(memory) + " ";
        const schedule::RotorTable table(chainOf(item.at("chains").at(row.at("chain"))), memory, 500);
        findings.equal(at + "cost", table.cost() ? json(*table.cost()) : json(), row.at("cost"));
        std::vector<std::string> steps;
        for (const schedule::RotorStep& step : table.steps()) {
            steps.push_back(nameOf(step));
        }
        findings.equal(at + "ops", steps, row.at("ops"));
    }
}

void checkRevolve(const json& item, Findings& findings)
{
    for (const json& row : item.at("table")) {
        const auto length = row[0].get<std::uint32_t>();
        const auto states = row[1].get<std::uint32_t>();
        findings.equal("revolve " + row.dump(), schedule::RevolveTable(length, states).steps(length, states), row[2]);
        findings.equal("closed form " + row.dump(), schedule::revolveClosedForm(length, states), row[2]);
    }
}

/// A chain a0 (given) → a1 → … with gradients d0 … dn, as the interval cases name it.
OpGraph namedChain(std::size_t length)
{
    std::vector<SimpleNode> nodes{{"a0", {}}};
    for (std::size_t i = 1; i <= length; ++i) {
        nodes.push_back({"a" + std::to_string(i), {nodes.back().name}});
    }
    const std::string last = nodes.back().name;
    return *graphOf(std::move(nodes), {"a0"}, {last});
}

json treeJson(const std::vector<schedule::Interval>& tree, std::uint32_t at)
{
    json node{{"lo", tree[at].low}, {"hi", tree[at].high}};
    if (tree[at].left != analysis::kNone) {
        node["kids"] = {treeJson(tree, tree[at].left), treeJson(tree, tree[at].right)};
    }
    return node;
}

} // namespace

void checkTable(const json& item, Findings& findings)
{
    item.contains("chains") ? checkRotor(item, findings) : checkRevolve(item, findings);
}

void checkInterval(const json& item, Findings& findings)
{
    for (const json& row : item.at("rows")) {
        const auto length = row.at("n").get<std::size_t>();
        const bool isFlat = row.at("split") == "sqrt_blocks";
        const std::string at = row.at("split").get<std::string>() + " n=" + std::to_string(length) + " ";
        const analysis::JointGraph joint = jointOfGraph(namedChain(length));
        const std::size_t size = isFlat ? static_cast<std::size_t>(std::sqrt(static_cast<double>(length))) : 1;
        const schedule::CutChain chain(joint.graph,
                                       schedule::halvesOf(joint.graph, schedule::storeAllSequence(joint.graph)),
                                       schedule::regularEnds(length, size));
        const auto replay = isFlat ? schedule::replayIntervals(chain, schedule::FlatSplitter(), 0)
                                   : schedule::replayIntervals(chain, schedule::MidpointSplitter(3), 0);
        findings.require(replay.has_value(), at + "nothing came");
        if (!replay) {
            continue;
        }
        std::vector<std::string> names = namesOf(joint.graph, replay->sequence);
        for (std::string& name : names) {
            name = name.starts_with("d:a") ? "d" + name.substr(3) : name;
        }
        findings.equal(at + "sequence", names, row.at("sequence"));
        findings.equal(at + "peak", schedule::peakOf(joint.graph, replay->sequence), row.at("peak"));
        findings.equal(at + "recompute", replay->sequence.size() - joint.graph.size(), row.at("recompute"));
    }
    for (const auto& [leaves, expected] : item.at("tree_bottom_up").items()) {
        const auto tree = schedule::bottomUpTree(static_cast<std::uint32_t>(std::stoul(leaves)));
        findings.equal("tree of " + leaves, treeJson(tree, 0), expected);
    }
}

void checkMinCut(const json& item, Findings& findings)
{
    const OpGraph graph = graphOfCase(item.at("graph"));
    const analysis::JointGraph joint = jointOfGraph(graph);
    std::vector<std::uint64_t> price;
    for (const analysis::OpValue& value : joint.graph.values()) {
        price.push_back(value.bytes);
    }
    std::vector<bool> isBanned(joint.graph.size(), false);
    for (const json& name : item.at("banned")) {
        isBanned[joint.graph.findOp(name.get<std::string>())] = true;
    }
    const schedule::MinCut cut = schedule::minimumCut(joint.graph, price, isBanned);
    std::vector<std::string> saved;
    for (const analysis::OpValueId id : cut.saved) {
        saved.push_back(joint.graph.value(id).name);
    }
    std::sort(saved.begin(), saved.end());
    findings.equal("saved", saved, item.at("saved"));
    findings.equal("saved_bytes", cut.bytes, item.at("saved_bytes"));
    const auto sequence = schedule::sequenceOfSaved(joint.graph, schedule::storeAllSequence(joint.graph), cut.saved);
    findings.equal("sequence", namesOf(joint.graph, sequence), item.at("plan").at("sequence"));
    findings.equal("cost", schedule::costOf(joint.graph, sequence), item.at("plan").at("cost"));
    findings.equal("peak", schedule::peakOf(joint.graph, sequence), item.at("plan").at("peak"));
    const auto storeAll = schedule::storeAllSequence(joint.graph);
    findings.equal("store_all sequence", namesOf(joint.graph, storeAll), item.at("store_all").at("sequence"));
    findings.equal("store_all peak", schedule::peakOf(joint.graph, storeAll), item.at("store_all").at("peak"));
}

} // namespace retro::planningtest
