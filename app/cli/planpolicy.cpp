// SPDX-License-Identifier: Apache-2.0
#include "app/cli/planpolicy.h"

#include "core/base/jsonout.h"

#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace retro::app
{

using nlohmann::ordered_json;

namespace
{

bool isForward(const graph::Node& node) { return !node.facts || node.facts->phase != "backward"; }

/// Of a result: where it lies; none when the capture does not say.
std::optional<std::int64_t> storageOf(const graph::Graph& graph, graph::ValueId value)
{
    const std::shared_ptr<const graph::ValueFacts>& facts = graph.value(value).facts;
    return facts && facts->storage ? std::optional(static_cast<std::int64_t>(*facts->storage)) : std::nullopt;
}

/// Names of the forward operators that a plan runs more than once.
std::set<std::string> repeatedIn(const analysis::OpGraph& joint, const schedule::Plan& plan)
{
    std::map<analysis::OpId, std::size_t> runs;
    for (const schedule::Step& step : plan.steps) {
        runs[step.id] += step.kind == schedule::StepKind::Compute ? 1 : 0;
    }
    std::set<std::string> names;
    for (const auto& [op, count] : runs) {
        if (count > 1 && op < joint.size() && joint.op(op).phase == analysis::Phase::Forward) {
            names.insert(joint.op(op).name);
        }
    }
    return names;
}

/// Storages of what is computed again, and of what a later operator writes over.
std::set<std::int64_t> givenUp(const graph::Graph& graph, const std::set<std::string>& repeated)
{
    std::set<std::int64_t> storages;
    for (const graph::Node& node : graph.nodes()) {
        const bool writesOver = node.facts && !node.facts->recomputable;
        for (const graph::ValueId output : node.outputs) {
            const auto storage = output.isValid() ? storageOf(graph, output) : std::nullopt;
            if (storage && isForward(node) && (writesOver || repeated.contains(node.name))) {
                storages.insert(*storage);
            }
        }
    }
    return storages;
}

} // namespace

base::Result<std::string> checkpointPolicy(const graph::Graph& graph, const analysis::OpGraph& joint,
                                           const schedule::Plan& plan)
{
    const std::set<std::string> repeated = repeatedIn(joint, plan);
    const std::set<std::int64_t> storages = givenUp(graph, repeated);
    ordered_json calls = ordered_json::array();
    for (const graph::Node& node : graph.nodes()) {
        if (!isForward(node)) {
            continue;
        }
        const auto name = node.metadata.find("operator");
        if (name == node.metadata.end()) {
            return base::usageError("a policy lists the operators that PyTorch runs; plan for a graph of "
                                    "retrograde.capture.torchautograd",
                                    "--policy, node '" + node.name + "'");
        }
        bool isAgain = repeated.contains(node.name);
        for (const graph::ValueId output : node.outputs) {
            const auto storage = output.isValid() ? storageOf(graph, output) : std::nullopt;
            isAgain = isAgain || (storage && storages.contains(*storage));
        }
        calls.push_back({name->second, isAgain ? "recompute" : "save"});
    }
    const ordered_json policy{
        {"format", "retrograde-checkpoint-policy/1"}, {"planner", plan.annotations.planner}, {"calls", calls}};
    return base::jsonOut(policy, 1) + "\n";
}

} // namespace retro::app
