// SPDX-License-Identifier: Apache-2.0
#include "app/cli/statetext.h"

#include "core/base/jsonout.h"
#include "core/base/record.h"
#include "core/trace/labels.h"
#include "core/trace/meantrelevance.h"
#include "core/trace/why.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace retro::app
{

namespace
{

using base::HandleId;
using base::NodeId;
using nlohmann::ordered_json;
using trace::branchText;

ordered_json nameOf(const trace::Run& run, NodeId node)
{
    return node.isValid() ? ordered_json(run.graph->labelOf(node)) : ordered_json(nullptr);
}

ordered_json names(const trace::Run& run, const std::vector<NodeId>& nodes)
{
    return base::listOf(nodes, [&](const NodeId node) { return run.graph->labelOf(node); });
}

/// A tensor by its number, with shape and sum; null when there is none.
ordered_json tensorJson(const trace::Run& run, HandleId handle)
{
    if (!handle.isValid()) {
        return nullptr;
    }
    if (handle.index() >= run.handles.size()) {
        return {{"tensor", handle.value}};
    }
    const auto& known = run.handles[handle.index()];
    return {{"tensor", handle.value}, {"shape", known.shape}, {"sum", known.sum}};
}

ordered_json branchJson(const trace::Run& run, const trace::BranchState& branch)
{
    const ordered_json children =
        base::listOf(branch.children, [&](const base::PromiseId child) { return trace::promiseText(child); });
    return {{"path", names(run, branch.path)},          {"arg_node", nameOf(run, branch.argNode)},
            {"argument", branch.argument.isValid()},    {"relevance", branch.relevance.isValid()},
            {"arg", tensorJson(run, branch.argument)},  {"arg_found_at", nameOf(run, branch.argumentFoundAt)},
            {"rin", tensorJson(run, branch.relevance)}, {"children", children}};
}

ordered_json promiseJson(const trace::Run& run, const trace::RunState& state, std::size_t index)
{
    const trace::PromiseState& promise = state.promises[index];
    const ordered_json branches =
        base::listOf(promise.branches, [&](const trace::BranchState& branch) { return branchJson(run, branch); });
    ordered_json parents = ordered_json::array();
    std::size_t pending = 0;
    for (const trace::ParentState& parent : promise.parents) {
        parents.push_back(branchText(parent.branch.promise, parent.branch.branch));
        pending += state.promises[parent.branch.promise.index()].isComplete ? 0 : 1;
    }
    const ordered_json relevance =
        base::listOf(promise.relevance, [&](const HandleId handle) { return tensorJson(run, handle); });
    return {{"promise", index},
            {"kind", event::nameOf(promise.kind)},
            {"start", run.graph->labelOf(promise.start)},
            {"open", promise.isOpen},
            {"ready", promise.isReady},
            {"complete", promise.isComplete},
            {"parents", parents},
            {"pending_parents", pending},
            {"rout", relevance},
            {"branches", branches}};
}

bool isIn(const std::vector<NodeId>& nodes, NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); }

/// True for nodes that relevance or a search has reached and that are not done.
bool waits(const trace::RunState& state, NodeId node)
{
    const trace::NodeState& at = state.nodes[node.index()];
    return at.waitsFor.promise.isValid() || (at.landed > 0 && at.missing > 0) || isIn(state.queue, node) ||
           isIn(state.searchStack, node) || isIn(state.normalStack, node);
}

ordered_json partJson(const trace::Run& run, const trace::Part& part)
{
    if (part.branch.promise.isValid()) {
        return branchText(part.branch.promise, part.branch.branch);
    }
    return tensorJson(run, part.handle);
}

ordered_json nodeJson(const trace::Timeline& timeline, NodeId node)
{
    const trace::Run& run = timeline.run();
    const trace::NodeState& at = timeline.state().nodes[node.index()];
    const ordered_json inEdges = base::listOf(at.parts, [&](const trace::Part& part) { return partJson(run, part); });
    ordered_json relevance = ordered_json::array();
    for (std::size_t k = 0; k < at.relevance.size(); ++k) {
        relevance.push_back(tensorJson(run, at.relevance[k]));
        if (relevance.back().contains("sum")) {
            relevance.back()["sum"] = trace::meantSum(run, node, k, at.relevance[k]);
        }
    }
    ordered_json json{{"node", run.graph->labelOf(node)},
                      {"visits", at.visits},
                      {"pending", at.missing},
                      {"in_edges", inEdges},
                      {"relevance", relevance},
                      {"rule_applied", at.ruleApplied},
                      {"waits_for", at.waitsFor.promise.isValid()
                                        ? ordered_json(branchText(at.waitsFor.promise, at.waitsFor.branch))
                                        : ordered_json(nullptr)}};
    if (waits(timeline.state(), node)) {
        json["why"] = trace::whyNotVisited(timeline, node).lines;
    }
    return json;
}

/// Nodes that are part of the run, by id.
ordered_json nodesJson(const trace::Timeline& timeline)
{
    ordered_json nodes = ordered_json::array();
    for (std::size_t i = 0; i < timeline.state().nodes.size(); ++i) {
        const trace::NodeState& at = timeline.state().nodes[i];
        if (at.landed > 0 || at.missing > 0) {
            nodes.push_back(nodeJson(timeline, NodeId(i)));
        }
    }
    return nodes;
}

std::string joined(const ordered_json& list, const char* none = "–")
{
    std::string text;
    for (const ordered_json& item : list) {
        text += (text.empty() ? "" : ", ") + item.get<std::string>();
    }
    return text.empty() ? none : text;
}

std::string orDash(const ordered_json& text) { return text.is_null() ? "–" : text.get<std::string>(); }

/// "t7 [2, 2] Σ 3.5", "P0.1", "–".
std::string partText(const ordered_json& part)
{
    if (part.is_string()) {
        return part.get<std::string>();
    }
    if (part.is_null()) {
        return "–";
    }
    const std::string known = part.contains("sum")
                                  ? fmt::format(" {} Σ {:.6g}", base::jsonOut(part["shape"]), part["sum"].get<double>())
                                  : "";
    return fmt::format("t{}{}", part["tensor"].get<std::uint32_t>(), known);
}

std::string partsText(const ordered_json& parts)
{
    std::string text;
    for (const ordered_json& part : parts) {
        text += (text.empty() ? "" : ", ") + partText(part);
    }
    return text.empty() ? "–" : text;
}

void addPromise(const ordered_json& promise, std::vector<std::string>& lines)
{
    const auto index = promise["promise"].get<std::size_t>();
    const char* word =
        promise["complete"].get<bool>() ? "fulfilled" : (promise["ready"].get<bool>() ? "ready" : "waits");
    lines.push_back(fmt::format("promise       P{} {} at {}: {}{}", index, promise["kind"].get<std::string>(),
                                promise["start"].get<std::string>(), word,
                                promise["open"].get<bool>() ? "" : ", not open"));
    lines.push_back(fmt::format("  parents {} ({} pending), relevance {}", joined(promise["parents"]),
                                promise["pending_parents"].get<std::size_t>(), partsText(promise["rout"])));
    std::size_t number = 0;
    for (const ordered_json& branch : promise["branches"]) {
        lines.push_back(fmt::format("  P{}.{} chain {}; arg node {}; argument {}; relevance {}; children {}", index,
                                    number++, joined(branch["path"]), orDash(branch["arg_node"]),
                                    partText(branch["arg"]), partText(branch["rin"]), joined(branch["children"])));
    }
}

void addNode(const ordered_json& node, std::vector<std::string>& lines)
{
    lines.push_back(fmt::format(
        "node          {}: {} visits, {} pending, in-edges {}, relevance {}{}", node["node"].get<std::string>(),
        node["visits"].get<std::uint32_t>(), node["pending"].get<std::uint32_t>(), partsText(node["in_edges"]),
        partsText(node["relevance"]), node["waits_for"].is_null() ? "" : ", waits for " + orDash(node["waits_for"])));
    if (node.contains("why")) {
        for (const ordered_json& line : node["why"]) {
            lines.push_back("  " + line.get<std::string>());
        }
    }
}

ordered_json planJson(const trace::Run& run, const trace::PlanProgress& plan)
{
    const std::vector<std::string>& tries = run.facts.planTries;
    return {{"tries", plan.tries},
            {"best", plan.best < tries.size() ? ordered_json(tries[plan.best]) : ordered_json()},
            {"cuts", plan.cuts},
            {"drops", plan.drops},
            {"rebuilds", plan.rebuilds},
            {"computed", plan.computed},
            {"recomputed", plan.recomputed},
            {"freed", plan.freed},
            {"moved", plan.moved},
            {"fetched", plan.fetched}};
}

} // namespace

ordered_json stateJson(const trace::Timeline& timeline)
{
    const trace::Run& run = timeline.run();
    const trace::RunState& state = timeline.state();
    ordered_json promises = ordered_json::array();
    for (std::size_t i = 0; i < state.promises.size(); ++i) {
        promises.push_back(promiseJson(run, state, i));
    }
    const ordered_json frontier =
        base::listOf(state.frontier(), [&](const trace::FrontierMember& member) -> ordered_json {
            return {
                {"node", run.graph->labelOf(member.node)},
                {"held_by_promise", member.heldByPromise},
                {"bytes", member.handle.index() < run.handles.size() ? run.handles[member.handle.index()].bytes : 0}};
        });
    ordered_json json{{"position", timeline.position()},
                      {"visit", state.visit},
                      {"mode", event::shortName(state.mode)},
                      {"node", nameOf(run, state.current)},
                      {"normal_stack", names(run, state.normalStack)},
                      {"search_stack", names(run, state.searchStack)},
                      {"queue", names(run, state.queue)},
                      {"promises", promises},
                      {"nodes", nodesJson(timeline)},
                      {"frontier", frontier},
                      {"frontier_bytes", state.frontierBytes.sum()},
                      {"finished", state.isFinished}};
    if (state.plan != trace::PlanProgress()) {
        json["plan"] = planJson(run, state.plan);
    }
    return json;
}

std::vector<std::string> stateLines(const trace::Timeline& timeline)
{
    const ordered_json state = stateJson(timeline);
    std::vector<std::string> lines{fmt::format("position      {} (visit {}, {})",
                                               state["position"].get<std::uint64_t>(),
                                               state["visit"].get<std::uint32_t>(), state["mode"].get<std::string>()),
                                   "node          " + orDash(state["node"]),
                                   "normal stack  " + joined(state["normal_stack"]),
                                   "search stack  " + joined(state["search_stack"]),
                                   "queue         " + joined(state["queue"]),
                                   fmt::format("frontier      {} tensors, {} bytes", state["frontier"].size(),
                                               state["frontier_bytes"].get<std::int64_t>())};
    if (state.contains("plan")) {
        const ordered_json& plan = state["plan"];
        lines.push_back(fmt::format("search        {} tries, best {}; {} cuts, {} dropped, {} computed again",
                                    plan["tries"].get<std::uint32_t>(), orDash(plan["best"]),
                                    plan["cuts"].get<std::uint32_t>(), plan["drops"].get<std::uint32_t>(),
                                    plan["rebuilds"].get<std::uint32_t>()));
        lines.push_back(fmt::format("plan          {} computed, {} again, {} freed, {} moved, {} fetched",
                                    plan["computed"].get<std::uint32_t>(), plan["recomputed"].get<std::uint32_t>(),
                                    plan["freed"].get<std::uint32_t>(), plan["moved"].get<std::uint32_t>(),
                                    plan["fetched"].get<std::uint32_t>()));
    }
    for (const ordered_json& promise : state["promises"]) {
        addPromise(promise, lines);
    }
    for (const ordered_json& node : state["nodes"]) {
        addNode(node, lines);
    }
    return lines;
}

} // namespace retro::app
