// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/liveness.h"
#include "tests/core/tape/golden.h"

#include <set>

namespace retro::tapetest
{

using namespace retro::analysis;
using nlohmann::json;

namespace
{

// The table of needs of these files; what the product's operators save is another matter.
std::vector<std::uint32_t> readsOf(const std::string& op, const std::vector<std::uint32_t>& operands, std::uint32_t own)
{
    static const std::set<std::string> kOperands{"mul", "matmul", "relu", "log", "inv"};
    if (kOperands.contains(op)) {
        return operands;
    }
    return op == "exp" || op == "sigmoid" ? std::vector<std::uint32_t>{own} : std::vector<std::uint32_t>();
}

StorageProblem problemOf(const json& golden)
{
    StorageProblem problem{golden.at("leaf_sizes"), {}, golden.at("out")};
    for (const json& node : golden.at("nodes")) {
        const std::vector<std::uint32_t> operands = node.at("in");
        const auto own = static_cast<std::uint32_t>(problem.valueCount());
        problem.nodes.push_back({operands, readsOf(node.at("op"), operands, own), node.at("size"), node.at("cost")});
    }
    return problem;
}

json intervalsOf(const Liveness& lives)
{
    json intervals = json::object();
    const auto add = [&intervals](const std::string& kind, const std::vector<LiveInterval>& list) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i].exists()) {
                intervals[kind + std::to_string(i)] = {list[i].first, list[i].last};
            }
        }
    };
    add("v", lives.values);
    add("g", lives.gradients);
    return intervals;
}

json asJson(const Liveness& lives)
{
    json steps = json::array();
    json live = json::array();
    json rebuilt = json::object();
    for (std::size_t step = 0; step < lives.steps.size(); ++step) {
        steps.push_back((lives.steps[step].isBackward ? "B" : "F") + std::to_string(lives.steps[step].value));
        live.push_back(residentNames(lives, step));
    }
    for (const auto& [step, values] : lives.rebuilt) {
        rebuilt[std::to_string(step)] = values;
    }
    return {{"steps", steps},
            {"live", live},
            {"rebuilt", rebuilt},
            {"intervals", intervalsOf(lives)},
            {"resident", lives.resident},
            {"peak", lives.peak},
            {"extra_cost", lives.extraCost}};
}

} // namespace

std::string checkLiveness(const json& golden)
{
    const std::set<std::uint32_t> recompute = golden.at("recompute");
    const json got = asJson(liveness(problemOf(golden), recompute));
    for (const auto& [key, wanted] : golden.at("expect").items()) {
        if (got.at(key) != wanted) {
            return key + " is " + got[key].dump();
        }
    }
    return {};
}

std::string checkChoice(const json& golden)
{
    const StorageProblem problem = problemOf(golden);
    if (json(storageCandidates(problem)) != golden.at("expect").at("candidates")) {
        return "the candidates are " + json(storageCandidates(problem)).dump();
    }
    for (const json& row : golden["expect"].at("budgets")) {
        const StorageChoice choice = chooseStorage(problem, row.at("budget"));
        json got{{"budget", row["budget"]}, {"feasible", choice.isFeasible}};
        if (choice.isFeasible) {
            got.update({{"recompute", choice.recompute}, {"extra_cost", choice.extraCost}, {"peak", choice.peak}});
        }
        if (!choice.isProven || got != row) {
            return "the choice is " + got.dump();
        }
    }
    return {};
}

} // namespace retro::tapetest
