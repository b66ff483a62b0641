// SPDX-License-Identifier: Apache-2.0
// golden_plan_reads: what the second half of joint graphs reads, what plans of it need and cost at best, and the
// criteria of height-compressibility, against stored cases. Reads every file of $RETROGRADE_GOLDEN/plan_reads, else of
// tests/data/golden/plan_reads; prints one line per failing case; fails when there is none.
#include "core/analysis/report.h"
#include "core/base/file.h"
#include "core/engine/plan/planning.h"
#include "core/formats/graphjson.h"
#include "core/schedule/lifetimes.h"
#include "core/schedule/peaktensors.h"
#include "core/schedule/planorders.h"
#include "core/schedule/simulator.h"
#include "tests/goldenfiles.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

using namespace retro;
using analysis::JointGraph;
using analysis::OpGraph;
using analysis::OpId;
using analysis::OpValueId;
using nlohmann::json;

namespace
{

namespace fs = std::filesystem;

/// What is wrong with a case, as it is found.
class Faults
{
public:
    explicit Faults(std::string where) : m_where(std::move(where)) {}

    void add(const std::string& what)
    {
        fmt::print("FAIL {}: {}\n", m_where, what);
        ++count;
    }
    template <class Found, class Wanted>
    void equal(const char* what, const Found& found, const Wanted& wanted)
    {
        if (!(found == wanted)) {
            add(fmt::format("{} is {}, not {}", what, found, wanted));
        }
    }
    void near(const char* what, double found, double wanted)
    {
        if (!(std::abs(found - wanted) <= 1e-12 * std::max(1.0, std::abs(wanted)))) {
            add(fmt::format("{} is {}, not {}", what, found, wanted));
        }
    }

    std::size_t count = 0;

private:
    std::string m_where;
};

using Names = std::set<std::string>;

std::string textOf(const Names& names)
{
    std::string text;
    for (const std::string& name : names) {
        text += " " + name;
    }
    return text;
}

/// The operator of a joint graph by its name, a forward one by the name of the value that it makes.
OpId operatorOf(const OpGraph& graph, const std::string& name)
{
    for (OpId op = 0; op < graph.size(); ++op) {
        const auto makes = [&](OpValueId id) { return graph.value(id).name == name; };
        const auto& outputs = graph.op(op).outputs;
        if (graph.op(op).name == name || std::any_of(outputs.begin(), outputs.end(), makes)) {
            return op;
        }
    }
    return analysis::kNone;
}

Names readsOf(const OpGraph& graph, OpId op)
{
    Names names;
    for (const OpValueId id : graph.reads(op)) {
        names.insert(graph.value(id).name);
    }
    return names;
}

/// Forward values that operators of the second half read, the start and the inputs left out.
Names neededOf(const JointGraph& joint, const std::string& target)
{
    const OpGraph& graph = joint.graph;
    Names needed;
    for (auto op = static_cast<OpId>(joint.forwardCount); op < graph.size(); ++op) {
        const bool isStart = graph.op(op).name.ends_with(":" + target);
        for (const OpValueId id : graph.reads(op)) {
            const OpId producer = graph.value(id).producer;
            const bool isForward = producer != analysis::kNone && producer < joint.forwardCount;
            if (isForward && !(isStart && graph.value(id).name == target)) {
                needed.insert(graph.value(id).name);
            }
        }
    }
    return needed;
}

void checkReads(Faults& faults, const JointGraph& joint, const json& expect)
{
    const OpGraph& graph = joint.graph;
    for (const auto& [name, operands] : expect.at("reads").items()) {
        const OpId op = graph.findOp(name);
        const Names wanted = operands.get<Names>();
        const Names found = op == analysis::kNone ? Names() : readsOf(graph, op);
        if (found != wanted) {
            faults.add(fmt::format("{} reads{}, not{}", name, textOf(found), textOf(wanted)));
        }
    }
    faults.equal("operators of the second half", graph.size() - joint.forwardCount, expect.at("reads").size());
}

void checkStoreAll(Faults& faults, const OpGraph& graph, const json& expect)
{
    const std::vector<OpId> sequence = schedule::storeAllSequence(graph);
    const schedule::Simulation run = schedule::simulate(graph, schedule::planOf(graph, sequence));
    faults.equal("store_all_peak", run.peak, expect.at("store_all_peak").get<std::uint64_t>());
    faults.equal("store_all_peak of the report", analysis::storeAllPeak(graph), run.peak);
    std::map<std::string, std::uint64_t> atPeak;
    for (const schedule::PeakTensor& one : schedule::peakTensors(graph, schedule::planOf(graph, sequence), run)) {
        atPeak[one.name] = one.bytes;
    }
    const auto wanted = expect.at("store_all_peak_values").get<std::map<std::string, std::uint64_t>>();
    if (atPeak != wanted) {
        faults.add(fmt::format("in memory at the peak is {}, not {}", json(atPeak).dump(), json(wanted).dump()));
    }
    faults.near("cost", run.cost, expect.at("cost").get<double>());
    faults.equal("largest_operator", analysis::largestOperator(graph, false).bytes,
                 expect.at("largest_operator").get<std::uint64_t>());
}

/// No planner may go below the least cost, the exact search has to reach it, and the floor is below the least peak.
void checkOptimal(Faults& faults, const JointGraph& joint, const OpGraph& forward, const json& expect)
{
    const OpGraph& graph = joint.graph;
    const auto least = expect.at("least_peak").get<std::uint64_t>();
    if (analysis::memoryFloor(graph).bytes > least) {
        faults.add(fmt::format("the floor {} is above the least peak {}", analysis::memoryFloor(graph).bytes, least));
    }
    for (const json& one : expect.at("optimal")) {
        schedule::PlanRequest request;
        request.graph = &graph;
        request.budget = one.at("budget").get<std::uint64_t>();
        const auto cost = one.at("cost").get<double>();
        std::vector<OpId> sequence;
        for (const json& name : one.at("sequence")) {
            sequence.push_back(operatorOf(graph, name.get<std::string>()));
        }
        if (std::ranges::find(sequence, analysis::kNone) != sequence.end()) {
            faults.add("the optimal sequence has operators that the joint graph has not");
            continue;
        }
        const schedule::Simulation run = schedule::simulate(graph, schedule::planOf(graph, sequence));
        if (!run.ok() || run.peak > request.budget) {
            faults.add(fmt::format("the optimal sequence at {} does not run", request.budget));
        }
        faults.near("cost of the optimal sequence", run.cost, cost);
        for (const schedule::Planner& planner : schedule::planners()) {
            if (planner.name == "user" || planner.name == "offload") {
                continue; // has nothing to choose, moves values
            }
            request.seconds = planner.name == "exact" ? 10 : 0.02; // the others may end with what they have
            const auto found = schedule::planWith(planner.name, request);
            const bool isBelow = found.ok() && found->plan && found->cost < cost * (1 - 1e-12);
            if (isBelow) {
                faults.add(fmt::format("{} costs {} at {}, below the least, {}", planner.name, found->cost,
                                       request.budget, cost));
            }
            if (planner.name == "exact" && found.ok() && found->plan) {
                faults.near("exact", found->cost, cost);
            }
        }
        const auto fast = schedule::planInOrders("fast", schedule::kAutoOrder, forward, joint, request);
        if (!fast.ok() || (fast->plan && fast->cost < cost * (1 - 1e-12))) {
            faults.add("the fast planners in their orders went below the least cost");
        }
    }
}

void checkExpectation(Faults& faults, const engine::LoadedModel& model, const json& entry, const json& expect)
{
    const auto mode = expect.at("mode").get<std::string>();
    const auto target = entry.at("target").get<std::string>();
    const std::string prefix = "relevance:";
    engine::HalfWish half;
    half.outputs = {model.graph()->findValue(target).value()};
    analysis::JointOptions options;
    if (mode.starts_with(prefix)) {
        half.kind = options.kind = analysis::JointKind::Relevance;
        half.composite = mode.substr(prefix.size());
    } else {
        half.from = expect.at("from").get<std::vector<std::string>>();
        options.hasParameterGradients = mode == "gradient+parameters";
    }
    const auto planning = engine::planningGraphOf(model, {}, half);
    if (!planning.ok()) {
        faults.add(planning.error().text());
        return;
    }
    const auto joint = analysis::jointOf(planning->graph, planning->graph.order(), options);
    if (!joint.ok()) {
        faults.add(joint.error().text());
        return;
    }
    for (const auto& [name, bytes] : entry.at("bytes").items()) {
        const OpId op = operatorOf(joint->graph, name);
        const std::uint64_t found = op == analysis::kNone ? 0 : joint->graph.outputBytes(op, true);
        faults.equal(("bytes of " + name).c_str(), found, bytes.get<std::uint64_t>());
    }
    checkReads(faults, *joint, expect);
    const Names needed = expect.at("needed").get<Names>();
    if (neededOf(*joint, target) != needed) {
        faults.add(fmt::format("needed are{}, not{}", textOf(neededOf(*joint, target)), textOf(needed)));
    }
    checkStoreAll(faults, joint->graph, expect);
    checkOptimal(faults, *joint, planning->graph, expect);
}

std::size_t checkModel(const json& entry, const fs::path& folder)
{
    rewrite::RewriteOptions asWritten; // the expectations name the values of the file
    const std::string all = "all";
    if (!rewrite::switchOff(asWritten, {&all, 1}).ok()) {
        return 1;
    }
    const auto model = engine::loadModel(folder / entry.at("model").get<std::string>(), asWritten);
    if (!model.ok()) {
        fmt::print("FAIL {}: {}\n", entry.at("name").get<std::string>(), model.error().text());
        return 1;
    }
    std::size_t count = 0;
    for (const json& expect : entry.at("expect")) {
        Faults faults(fmt::format("{} {} from {}", entry.at("name").get<std::string>(),
                                  expect.at("mode").get<std::string>(), expect.at("from").dump()));
        checkExpectation(faults, **model, entry, expect);
        count += faults.count;
    }
    return count;
}

std::size_t checkCriteria(const json& entry)
{
    Faults faults(entry.at("name").get<std::string>());
    const auto read = formats::parseGraphJson(entry.at("graph").dump(), "criteria.json");
    const auto planning =
        read.ok() ? analysis::planningGraph(**read) : base::Result<analysis::PlanningGraph>(read.error());
    if (!planning.ok()) {
        faults.add(planning.error().text());
        return faults.count;
    }
    const OpGraph& graph = planning->graph;
    std::vector<OpId> order;
    for (const json& name : entry.at("order")) {
        OpId op = 0;
        while (op < graph.size() && graph.op(op).name != name.get<std::string>()) {
            ++op;
        }
        order.push_back(op);
    }
    const analysis::Compressibility found = analysis::compressibility(graph, analysis::frontierProfile(graph, order));
    const json& expect = entry.at("expect");
    faults.equal("width", found.width, expect.at("width").get<std::uint64_t>());
    faults.near("width_ratio", found.ratio, expect.at("width_ratio").get<double>());
    faults.near("long_lived_share", found.longLivedShare, expect.at("long_lived_share").get<double>());
    faults.equal("most_readers", found.mostReaders, expect.at("most_readers").get<std::size_t>());
    faults.equal("depth", found.depth, expect.at("depth").get<std::size_t>());
    faults.near("depth_ratio", found.depthRatio, expect.at("depth_ratio").get<double>());
    constexpr std::array kCriteria{"width", "long_lived", "readers", "depth"};
    for (std::size_t i = 0; i < kCriteria.size(); ++i) {
        faults.equal(kCriteria[i], found.criteria.at(i).holds, expect.at("holds").at(kCriteria[i]).get<bool>());
    }
    faults.equal("height_compressible", found.isCompressible, expect.at("height_compressible").get<bool>());
    return faults.count;
}

} // namespace

int main()
{
    const fs::path folder = tests::goldenFolder("plan_reads");
    std::size_t cases = 0;
    std::size_t failed = 0;
    for (const fs::path& path : tests::goldenFiles(folder)) {
        std::ifstream file(path);
        const json list = json::parse(file, nullptr, false);
        for (const json& entry : list.is_array() ? list : json::array()) {
            failed += entry.at("kind") == "criteria" ? checkCriteria(entry) : checkModel(entry, folder);
            ++cases;
        }
    }
    fmt::print("golden_plan_reads: {} cases, {} faults\n", cases, failed);
    return cases > 0 && failed == 0 ? 0 : 1;
}
