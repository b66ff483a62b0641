// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/runplan.h"

#include "core/analysis/opgraph.h"
#include "core/analysis/report.h"
#include "core/base/jsonfields.h"
#include "core/base/jsonout.h"
#include "core/base/jsontext.h"
#include "core/engine/plan/passplanning.h"
#include "core/engine/plan/planning.h"
#include "core/schedule/planjson.h"

#include <array>

namespace retro::engine
{

using base::JsonFields;
using base::Result;
using nlohmann::json;
using schedule::PlanResult;
using schedule::PlanStatus;

namespace
{

using analysis::Op;
using analysis::OperandPart;
using analysis::OpGraph;
using analysis::OpValue;
using analysis::OpValueId;

constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
constexpr std::size_t kMostMemory = std::size_t{1} << 30U;

// Members of a value and of an operator, by position in their lists.
constexpr std::size_t kValueMembers = 7;
constexpr std::size_t kOpMembers = 13;

json valueJson(const OpValue& value)
{
    return json::array({value.name, value.bytes, value.isPinned, value.isOutput, value.isRequired,
                        value.isDifferentiable, value.relevanceBytes});
}

json partsJson(const Op& op)
{
    if (!op.parts) {
        return nullptr;
    }
    json parts = json::array();
    for (const OperandPart& part : *op.parts) {
        parts.push_back(json::array({part.operand, part.reads}));
        if (part.workspace > 0) {
            parts.back().push_back(part.workspace);
        }
    }
    return parts;
}

unsigned flagsOf(const Op& op)
{
    return (op.isRecomputable ? 1U : 0U) | (op.isStochastic ? 2U : 0U) | (op.isEffectful ? 4U : 0U) |
           (op.hasParameters ? 8U : 0U) | (op.isProduct ? 16U : 0U);
}

json opJson(const Op& op)
{
    return json::array({op.name, op.type, op.inputs, op.outputs, op.savedInputs, op.savedOutputs, partsJson(op),
                        op.parameterReads ? json(*op.parameterReads) : json(), op.cost, op.flops, op.workspace,
                        static_cast<unsigned>(op.phase), flagsOf(op)});
}

/// Reads members; what is of another type throws, which parse() takes for damage.
class PlanReader
{
public:
    explicit PlanReader(std::size_t values) : m_values(values) {}

    static OpValue value(const json& item)
    {
        OpValue value;
        value.name = item.at(0).get<std::string>();
        value.bytes = item.at(1).get<std::uint64_t>();
        value.isPinned = item.at(2).get<bool>();
        value.isOutput = item.at(3).get<bool>();
        value.isRequired = item.at(4).get<bool>();
        value.isDifferentiable = item.at(5).get<bool>();
        value.relevanceBytes = item.at(6).get<std::uint64_t>();
        return value;
    }

    [[nodiscard]] Op op(const json& item)
    {
        Op op;
        op.name = item.at(0).get<std::string>();
        op.type = item.at(1).get<std::string>();
        op.inputs = ids(item.at(2));
        op.outputs = ids(item.at(3));
        op.savedInputs = ids(item.at(4));
        op.savedOutputs = ids(item.at(5));
        if (!item.at(6).is_null()) {
            op.parts.emplace();
            for (const json& part : item.at(6)) {
                op.parts->push_back({id(part.at(0)), ids(part.at(1))});
                op.parts->back().workspace = part.size() > 2 ? part.at(2).get<std::uint64_t>() : 0;
            }
        }
        if (!item.at(7).is_null()) {
            op.parameterReads = ids(item.at(7));
        }
        op.cost = item.at(8).get<double>();
        op.flops = item.at(9).get<double>();
        op.workspace = item.at(10).get<std::uint64_t>();
        const auto phase = item.at(11).get<unsigned>();
        const auto flags = item.at(12).get<unsigned>();
        m_isGood = m_isGood && phase <= static_cast<unsigned>(analysis::Phase::Gradient);
        op.phase = static_cast<analysis::Phase>(phase);
        op.isRecomputable = (flags & 1U) != 0;
        op.isStochastic = (flags & 2U) != 0;
        op.isEffectful = (flags & 4U) != 0;
        op.hasParameters = (flags & 8U) != 0;
        op.isProduct = (flags & 16U) != 0;
        return op;
    }

    [[nodiscard]] bool isGood() const { return m_isGood; }

private:
    OpValueId id(const json& item)
    {
        const auto number = item.get<std::uint64_t>();
        m_isGood = m_isGood && number < m_values;
        return static_cast<OpValueId>(number);
    }

    std::vector<OpValueId> ids(const json& list)
    {
        std::vector<OpValueId> all;
        for (const json& item : list) {
            all.push_back(id(item));
        }
        return all;
    }

    std::size_t m_values;
    bool m_isGood = true;
};

/// Lists of lists of so many members.
bool isList(const json& root, const char* name, std::size_t members)
{
    const auto list = root.find(name);
    const auto isItem = [members](const json& item) { return item.is_array() && item.size() == members; };
    return list != root.end() && list->is_array() && std::all_of(list->begin(), list->end(), isItem);
}

/// A planning graph as JSON: `values` and `ops`, each a list of its members in a fixed order. For run files, which keep
/// what a plan was made for.
std::string toOpGraphJson(const OpGraph& graph)
{
    json values = json::array();
    for (const OpValue& value : graph.values()) {
        values.push_back(valueJson(value));
    }
    json ops = json::array();
    for (const Op& op : graph.ops()) {
        ops.push_back(opJson(op));
    }
    return base::jsonOut(json{{"values", std::move(values)}, {"ops", std::move(ops)}});
}

/// Reads it back; `where` is used in messages. Errors (Input): not JSON, a member that is missing or of another type,
/// what OpGraph::make refuses.
Result<OpGraph> parseOpGraphJson(std::string text, const std::string& where)
{
    RETRO_TRY(const base::JsonText parsed, base::JsonText::parse(std::move(text), where, {kMostBytes, 8, kMostMemory}));
    const base::Error damaged = base::inputError("the graph that its plan was made for is damaged", where);
    const json& root = parsed.root();
    if (!root.is_object() || !isList(root, "values", kValueMembers) || !isList(root, "ops", kOpMembers)) {
        return damaged;
    }
    std::vector<OpValue> values;
    std::vector<Op> ops;
    PlanReader reader(root["values"].size());
    try {
        for (const json& item : root["values"]) {
            values.push_back(PlanReader::value(item));
        }
        for (const json& item : root["ops"]) {
            ops.push_back(reader.op(item));
        }
    } catch (const json::exception&) {
        return damaged;
    }
    if (!reader.isGood()) {
        return damaged;
    }
    return OpGraph::make(std::move(ops), std::move(values));
}

constexpr std::array<std::string_view, 2> kKinds{"gradient", "relevance"};
constexpr std::string_view kForward = "forward";
constexpr std::array kUnits{analysis::CostUnit::Milliseconds, analysis::CostUnit::Flops, analysis::CostUnit::Operators};
constexpr std::array kStatuses{PlanStatus::Optimal, PlanStatus::Feasible, PlanStatus::Infeasible,
                               PlanStatus::InfeasibleInThisOrder};

/// What is known of a plan that nobody searched for here: what its graph and its steps say.
PlanResult judged(const analysis::OpGraph& joint, const ChosenPlan& chosen)
{
    PlanResult result;
    result.status = PlanStatus::Feasible;
    result.planner = chosen.plan.annotations.planner;
    result.order = chosen.plan.annotations.order;
    const schedule::Simulation run = schedule::simulate(joint, chosen.plan);
    result.peak = run.peak;
    result.budget = chosen.plan.budget.value_or(run.peak);
    result.basePeak = analysis::storeAllPeak(joint);
    const analysis::Bound floor = analysis::memoryFloor(joint);
    result.floor = floor.bytes;
    result.floorAt = floor.at == analysis::kNone ? std::string() : joint.op(floor.at).name;
    result.cost = run.cost;
    result.movedBytes = run.movedBytes;
    result.baseCost = analysis::costOfAll(joint);
    result.lowerBound = analysis::costBound(joint, result.budget).value_or(result.baseCost);
    return result;
}

std::string questionText(const PlanResult& result, const PlannedHalf& half, const std::string& strategy)
{
    const json question{{"half", half.isForwardAlone ? kForward : kKinds[static_cast<std::size_t>(half.kind)]},
                        {"unit", analysis::nameOf(half.unit)},
                        {"constant_bytes", half.constantBytes},
                        {"strategy", strategy},
                        {"status", schedule::nameOf(result.status)},
                        {"planner", result.planner},
                        {"order", result.order},
                        {"reason", result.reason},
                        {"budget", result.budget},
                        {"peak", result.peak},
                        {"base_peak", result.basePeak},
                        {"floor", result.floor},
                        {"floor_at", result.floorAt},
                        {"cost", result.cost},
                        {"moved_bytes", result.movedBytes},
                        {"base_cost", result.baseCost},
                        {"lower_bound", result.lowerBound},
                        {"seconds", result.seconds}};
    return base::jsonOut(question);
}

template <class Things>
auto named(const Things& things, const std::string& name)
{
    auto found = things.front();
    for (const auto one : things) {
        found = nameOf(one) == name ? one : found;
    }
    return found;
}

Result<void> readQuestion(const JsonFields& fields, RestoredPlan& restored)
{
    RETRO_TRY(const std::string half, fields.text("half"));
    restored.half.kind = half == kKinds[1] ? analysis::JointKind::Relevance : analysis::JointKind::Gradient;
    restored.half.isForwardAlone = half == kForward;
    RETRO_TRY(const std::string unit, fields.text("unit"));
    restored.half.unit = named(kUnits, unit);
    const auto bytes = [&](std::string_view name, std::uint64_t& into) -> Result<void> {
        RETRO_TRY(const auto number, fields.whole(name, 0, static_cast<std::int64_t>(analysis::kMaxTotalBytes)));
        into = static_cast<std::uint64_t>(number.value_or(0));
        return {};
    };
    const auto number = [&](std::string_view name, double& into) -> Result<void> {
        RETRO_TRY(const auto read, fields.number(name));
        into = read.value_or(0);
        return {};
    };
    PlanResult& result = restored.result;
    RETRO_CHECK(bytes("constant_bytes", restored.half.constantBytes));
    RETRO_TRY(restored.strategy, fields.text("strategy"));
    RETRO_TRY(const std::string status, fields.text("status"));
    result.status = named(kStatuses, status);
    RETRO_TRY(result.planner, fields.text("planner"));
    RETRO_TRY(result.order, fields.text("order"));
    RETRO_TRY(result.reason, fields.text("reason"));
    RETRO_CHECK(bytes("budget", result.budget));
    RETRO_CHECK(bytes("peak", result.peak));
    RETRO_CHECK(bytes("base_peak", result.basePeak));
    RETRO_CHECK(bytes("floor", result.floor));
    RETRO_TRY(result.floorAt, fields.text("floor_at"));
    RETRO_CHECK(number("cost", result.cost));
    RETRO_CHECK(bytes("moved_bytes", result.movedBytes));
    RETRO_CHECK(number("base_cost", result.baseCost));
    RETRO_CHECK(number("lower_bound", result.lowerBound));
    return number("seconds", result.seconds);
}

} // namespace

std::shared_ptr<trace::RunPlan> runPlanOf(const analysis::OpGraph& forward, const analysis::JointGraph& joint,
                                          const ChosenPlan& chosen, const PlannedHalf& half)
{
    auto plan = std::make_shared<trace::RunPlan>();
    plan->text = schedule::toPlanJson(joint.graph, chosen.plan);
    plan->graph = toOpGraphJson(forward);
    const PlanResult result = chosen.search ? *chosen.search : judged(joint.graph, chosen);
    plan->question = questionText(result, half, chosen.strategy);
    for (const schedule::Attempt& one : result.attempts) {
        plan->attempts.push_back({one.planner, one.order, one.fits, one.peak, one.cost, one.seconds, one.refusal});
    }
    return plan;
}

Result<RestoredPlan> restorePlan(const trace::RunPlan& plan, const std::string& where)
{
    RestoredPlan restored;
    RETRO_TRY(const base::JsonText text,
              base::JsonText::parse(plan.question, where, {std::size_t{1} << 20U, 4, std::size_t{16} << 20U}));
    RETRO_TRY(const JsonFields fields, JsonFields::of(text, text.root(), ""));
    RETRO_CHECK(readQuestion(fields, restored));
    RETRO_TRY(restored.forward, parseOpGraphJson(plan.graph, where));
    RETRO_TRY(restored.joint, analysis::jointOf(restored.forward, restored.forward.order(),
                                                jointOptions(restored.half.kind, restored.half.unit)));
    if (restored.half.isForwardAlone) {
        RETRO_TRY(restored.joint, forwardAlone(restored.joint));
    }
    RETRO_TRY(restored.result.plan, schedule::parsePlanJson(restored.joint.graph, plan.text, where));
    const schedule::Simulation run =
        schedule::simulate(restored.joint.graph, *restored.result.plan, {analysis::kMaxTotalBytes, 1, false});
    if (!run.ok()) {
        return base::inputError("its plan fails: " + run.error->text, where);
    }
    restored.storeAllPeak = analysis::storeAllPeak(restored.joint.graph);
    restored.baseCost = analysis::costOfAll(restored.joint.graph);
    for (const trace::PlannerTry& one : plan.attempts) {
        schedule::Attempt attempt;
        attempt.planner = one.planner;
        attempt.order = one.order;
        attempt.fits = one.fits;
        attempt.peak = one.peak;
        attempt.cost = one.cost;
        attempt.seconds = one.seconds;
        attempt.refusal = one.refusal;
        restored.result.attempts.push_back(std::move(attempt));
    }
    return restored;
}

} // namespace retro::engine
