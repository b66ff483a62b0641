// SPDX-License-Identifier: Apache-2.0
// Orders, bounds, plans, tables and refusals against stored vectors. Reads every case of $RETROGRADE_GOLDEN/plan, else
// of tests/data/golden/plan; prints one line per failing case; fails when there is none.
#include "core/analysis/bounds.h"
#include "core/base/file.h"
#include "core/schedule/lifetimes.h"
#include "core/schedule/milp/checkmatemodel.h"
#include "core/schedule/planners/exactsearch.h"
#include "core/schedule/portfolio.h"
#include "core/schedule/simulator.h"
#include "tests/core/schedule/goldencases.h"

#include <fmt/format.h>

#include <QtTest>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <unordered_map>

namespace retro::planningtest
{

using analysis::OpGraph;
using analysis::OpId;
using nlohmann::json;
namespace fs = std::filesystem;

OpGraph graphOfCase(const json& graph)
{
    std::vector<SimpleNode> nodes;
    for (const json& node : graph.at("nodes")) {
        nodes.push_back({node.at("id"), node.at("inputs").get<std::vector<std::string>>(), node.at("bytes"),
                         node.at("flops").get<double>(), node.at("save")});
    }
    return tests::made(graphOf(std::move(nodes), graph.at("inputs").get<std::vector<std::string>>(),
                               graph.at("outputs").get<std::vector<std::string>>(), true));
}

OpGraph jointOfCase(const json& joint)
{
    std::vector<analysis::Op> ops;
    std::vector<analysis::OpValue> values;
    std::unordered_map<std::string, std::uint32_t> ids;
    const auto idOf = [&](const std::string& name) {
        const auto [at, isNew] = ids.emplace(name, static_cast<std::uint32_t>(values.size()));
        if (isNew) {
            values.emplace_back();
            values.back().name = name;
            values.back().isPinned = true; // until somebody makes it
        }
        return at->second;
    };
    for (const json& item : joint) {
        analysis::Op op;
        op.name = item.at("id");
        op.cost = item.at("cost").get<double>();
        op.phase = item.at("kind") == "grad" ? analysis::Phase::Gradient : analysis::Phase::Forward;
        for (const json& input : item.at("inputs")) {
            op.inputs.push_back(idOf(input));
        }
        op.outputs = {idOf(op.name)};
        values[op.outputs[0]].bytes = item.at("bytes");
        values[op.outputs[0]].isPinned = false;
        ops.push_back(std::move(op));
    }
    return tests::made(OpGraph::make(std::move(ops), std::move(values)));
}

std::vector<std::string> namesOf(const OpGraph& graph, const std::vector<OpId>& sequence)
{
    std::vector<std::string> names;
    for (const OpId op : sequence) {
        names.push_back(graph.op(op).name);
    }
    return names;
}

namespace
{

std::vector<OpId> sequenceOfNames(const OpGraph& graph, const json& names)
{
    std::vector<OpId> sequence;
    for (const json& name : names) {
        sequence.push_back(graph.findOp(name.get<std::string>()));
    }
    return sequence;
}

/// A stored sequence through free insertion and the simulator: rows, peak, cost as stored.
void checkStored(const OpGraph& joint, const json& stored, const std::string& what, Findings& findings)
{
    const std::vector<OpId> sequence = sequenceOfNames(joint, stored.at("sequence"));
    const schedule::Simulation run = schedule::simulate(joint, schedule::planOf(joint, sequence));
    findings.require(run.ok(), what + ": " + (run.ok() ? "" : run.error->text));
    json rows = json::array();
    const schedule::Plan plan = schedule::planOf(joint, sequence);
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
        if (plan.steps[i].kind == schedule::StepKind::Compute) {
            rows.push_back({joint.op(plan.steps[i].id).name, run.steps[i].transient, run.steps[i].after});
        }
    }
    findings.equal(what + " memory", rows, stored.at("memory"));
    findings.equal(what + " peak", run.peak, stored.at("peak"));
    findings.equal(what + " cost", run.cost, stored.at("cost"));
    findings.equal(what + " recompute_cost", run.recomputeCost, stored.at("recompute_cost"));
    findings.equal(what + " recompute_ops", run.recomputations, stored.at("recompute_ops"));
}

void checkExact(const OpGraph& joint, std::uint64_t budget, bool isFixed, const json& expected, Findings& findings)
{
    const std::string what = fmt::format("budget {} {}", budget, isFixed ? "fixed order" : "free order");
    const schedule::ExactPlan exact =
        schedule::exactPlan(joint, budget, isFixed ? schedule::FixedOrder::Gradients : schedule::FixedOrder::None);
    if (expected.is_null()) {
        findings.require(exact.status == schedule::ExactStatus::Infeasible, what + ": should be infeasible");
        return;
    }
    findings.require(exact.status == schedule::ExactStatus::Found, what + ": nothing found");
    findings.equal(what + " cost", exact.cost, expected.at("cost"));
    const schedule::Simulation run =
        schedule::simulate(joint, schedule::planOf(joint, exact.sequence), {budget, 1, false});
    findings.require(run.ok(), what + ": " + (run.ok() ? "" : run.error->text));
    findings.equal(what + " simulated cost", run.cost, exact.cost);
    checkStored(joint, expected, what, findings);
}

/// Our heuristics against the stored ones at the same budget.
void checkHeuristics(const OpGraph& joint, std::uint64_t budget, const json& row, Findings& findings)
{
    schedule::PlanRequest request;
    request.graph = &joint;
    request.budget = budget;
    request.seconds = 1;
    const auto result = schedule::planWith("fast", request);
    findings.require(result.ok(), "fast: an error");
    const json& optimum = row.at("optimal_order_free");
    const std::string what = fmt::format("budget {} fast ", budget);
    if (optimum.is_null()) {
        findings.equal(what + "status", nameOf(result->status), "infeasible");
        return;
    }
    findings.equal(what + "status", nameOf(result->status), "optimal");
    findings.equal(what + "cost", result->cost, optimum.at("cost"));
    for (const char* name : {"dtr", "shave"}) {
        const json& stored = row.at(name);
        const bool fits = stored.contains("cost") && stored.value("feasible", true);
        findings.require(!fits || result->cost <= stored.at("cost").get<double>(), what + "is worse than " + name);
    }
}

/// The integer programme: cost, status and the bound of its relaxation.
void checkCheckmate(const OpGraph& joint, std::uint64_t budget, const json& expected, Findings& findings)
{
    schedule::MilpBackend* const solver = schedule::milpBackend();
    if (solver == nullptr) {
        return;
    }
    const std::string what = fmt::format("budget {} checkmate ", budget);
    const schedule::CheckmateModel model(joint, schedule::storeAllSequence(joint), budget);
    schedule::MilpOptions options;
    options.isRelaxed = true;
    const schedule::MilpAnswer relaxed = solver->solve(model.problem(), options);
    if (expected.contains("lp_bound")) {
        findings.require(std::abs(relaxed.bound * model.costUnit() - expected.at("lp_bound").get<double>()) < 1e-3,
                         what + fmt::format("bound of the relaxation is {} instead of {}",
                                            relaxed.bound * model.costUnit(), expected.at("lp_bound").dump()));
    }
    schedule::PlanRequest request;
    request.graph = &joint;
    request.budget = budget;
    request.seconds = 60;
    const auto draft = schedule::findPlanner("checkmate")->draft(request);
    findings.require(draft.ok() == expected.contains("cost"),
                     what + (draft.ok() ? "finds a plan" : draft.error().text()));
    if (draft.ok()) {
        findings.equal(what + "cost", schedule::costOf(joint, draft->sequence), expected.at("cost"));
    }
}

std::uint64_t leastBudget(const OpGraph& joint, bool isFixed)
{
    std::uint64_t budget = analysis::largestOperator(joint, false).bytes;
    const auto fixed = isFixed ? schedule::FixedOrder::Gradients : schedule::FixedOrder::None;
    while (schedule::exactPlan(joint, budget, fixed).status != schedule::ExactStatus::Found) {
        ++budget;
    }
    return budget;
}

void checkJoint(const OpGraph& joint, const json& expected, Findings& findings)
{
    findings.equal("joint size", joint.size(), expected.size());
    for (OpId id = 0; id < std::min(joint.size(), expected.size()); ++id) {
        const json& item = expected[id];
        std::vector<std::string> inputs;
        for (const analysis::OpValueId input : joint.op(id).inputs) {
            inputs.push_back(joint.value(input).name);
        }
        findings.equal("joint id", joint.op(id).name, item.at("id"));
        findings.equal(joint.op(id).name + " inputs", inputs, item.at("inputs"));
        findings.equal(joint.op(id).name + " cost", joint.op(id).cost, item.at("cost"));
        findings.equal(joint.op(id).name + " bytes", joint.outputBytes(id, true), item.at("bytes"));
    }
}

} // namespace

void checkPlan(const json& item, Findings& findings)
{
    const OpGraph forward = graphOfCase(item.at("graph"));
    const analysis::JointGraph made = jointOfGraph(forward);
    const OpGraph& joint = made.graph;
    checkJoint(joint, item.at("joint"), findings);
    findings.equal("order", namesOf(forward, {forward.order().begin(), forward.order().end()}), item.at("order"));
    findings.equal("min_op_bytes", analysis::largestOperator(joint, false).bytes, item.at("min_op_bytes"));
    findings.equal("base_cost", analysis::costOfAll(joint), item.at("base_cost"));
    findings.equal("min_peak_fixed_order", leastBudget(joint, true), item.at("min_peak_fixed_order"));
    findings.equal("min_peak_order_free", leastBudget(joint, false), item.at("min_peak_order_free"));
    findings.require(analysis::memoryFloor(joint).bytes <= item.at("min_peak_order_free").get<std::uint64_t>(),
                     "the memory floor is above the least peak");
    checkStored(joint, item.at("store_all"), "store_all", findings);
    for (const json& row : item.at("budgets")) {
        const auto budget = row.at("budget").get<std::uint64_t>();
        checkExact(joint, budget, true, row.at("optimal_fixed_gradient_order"), findings);
        checkExact(joint, budget, false, row.at("optimal_order_free"), findings);
        checkHeuristics(joint, budget, row, findings);
        if (row.contains("checkmate")) {
            checkCheckmate(joint, budget, row.at("checkmate"), findings);
        }
        const auto bound = analysis::costBound(joint, budget);
        const json& optimum = row.at("optimal_order_free");
        findings.require(optimum.is_null() || (bound && *bound <= optimum.at("cost").get<double>()),
                         fmt::format("budget {}: the cost bound is above the optimum", budget));
    }
}

void checkNegative(const json& item, Findings& findings)
{
    const OpGraph joint = jointOfCase(item.at("joint"));
    static const std::map<std::string, schedule::PlanErrorKind> kKinds{
        {"missing input", schedule::PlanErrorKind::MissingInput},
        {"compute while live", schedule::PlanErrorKind::AlreadyLive},
        {"free of a dead value", schedule::PlanErrorKind::DeadFree},
        {"gradient twice", schedule::PlanErrorKind::GradientTwice},
        {"gradient missing", schedule::PlanErrorKind::NeverRun},
        {"over budget", schedule::PlanErrorKind::OverBudget}};
    for (const json& one : item.at("cases")) {
        const std::string label = one.at("label");
        schedule::Plan plan;
        plan.graphHash = joint.hash();
        if (!one.at("budget").is_null()) {
            plan.budget = one.at("budget").get<std::uint64_t>();
        }
        for (const json& step : one.at("steps")) {
            const OpId op = joint.findOp(step[1].get<std::string>());
            plan.steps.push_back(step[0] == "c" ? schedule::Step{schedule::StepKind::Compute, op}
                                                : schedule::Step{schedule::StepKind::Free, joint.op(op).outputs[0]});
        }
        const schedule::Simulation run = schedule::simulate(joint, plan);
        findings.require(!run.ok(), label + ": was let through");
        if (run.ok()) {
            continue;
        }
        const auto kind = kKinds.find(label);
        const auto expected = kind == kKinds.end() ? schedule::PlanErrorKind::MissingInput : kind->second;
        findings.equal(label + " kind", nameOf(run.error->kind), nameOf(expected));
        const std::string text = one.at("error");
        const json step = text.starts_with("step ") ? json(std::stoul(text.substr(5))) : json();
        findings.equal(label + " step", run.error->step ? json(*run.error->step) : json(), step);
    }
}

} // namespace retro::planningtest

using namespace retro::planningtest;

class GoldenPlan : public QObject
{
    Q_OBJECT

private slots:
    void cases()
    {
        const char* const given = std::getenv("RETROGRADE_GOLDEN");
        const fs::path root =
            given == nullptr ? fs::path(RETRO_SOURCE_DIR "/tests/data/golden/plan") : fs::path(given) / "plan";
        static const std::map<std::string, void (*)(const nlohmann::json&, Findings&)> kChecks{
            {"forward", &checkForward}, {"plan", &checkPlan},         {"negative", &checkNegative},
            {"mincut", &checkMinCut},   {"interval", &checkInterval}, {"table", &checkTable}};
        int count = 0;
        int failed = 0;
        std::error_code error;
        for (const fs::directory_entry& entry : fs::directory_iterator(root, error)) {
            if (entry.path().extension() != ".json") {
                continue;
            }
            const auto text = retro::base::readTextFile(entry.path(), 64U << 20);
            QVERIFY2(text.ok(), entry.path().c_str());
            const auto item = nlohmann::json::parse(*text, nullptr, false);
            QVERIFY2(item.is_object(), entry.path().c_str());
            const auto check = kChecks.find(item.value("kind", ""));
            QVERIFY2(check != kChecks.end(), entry.path().c_str());
            Findings findings;
            check->second(item, findings);
            ++count;
            failed += findings.lines().empty() ? 0 : 1;
            for (const std::string& line : findings.lines()) {
                fmt::print("{}: {}\n", entry.path().filename().string(), line.substr(0, 600));
            }
        }
        fmt::print("{} cases, {} failed\n", count, failed);
        QVERIFY2(count > 0, root.c_str());
        QCOMPARE(failed, 0);
    }
};

QTEST_GUILESS_MAIN(GoldenPlan)
#include "goldenplan.moc"
