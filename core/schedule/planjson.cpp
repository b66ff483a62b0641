// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planjson.h"

#include "core/base/hash.h"
#include "core/base/jsonfields.h"
#include "core/base/jsonout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

namespace retro::schedule
{

namespace
{

using base::JsonFields;
using base::JsonText;
using base::Result;
using nlohmann::json;

/// Nesting: that of a composite in a subject. Memory: enough for some three million steps.
constexpr base::JsonLimits kPlanLimits{kMaxPlanBytes, 24, std::size_t{768} << 20U};

constexpr std::string_view kFormat = "retrograde-plan/1";
/// Most tiers, blocks or intervals.
constexpr std::size_t kMaxTiers = 64;

// ---------------------------------------------------------------------------------------------------- writing

std::string quoted(const std::string& text) { return base::jsonOut(json(text)); }

std::string stepText(const OpGraph& graph, const Plan& plan, const Step& step)
{
    switch (step.kind) {
    case StepKind::Compute:
        return fmt::format(R"(["c",{}])", quoted(graph.op(step.id).name));
    case StepKind::Free:
        return fmt::format(R"(["f",{}])", quoted(graph.value(step.id).name));
    case StepKind::Offload:
        return fmt::format(R"(["o",{},{}])", quoted(graph.value(step.id).name), quoted(plan.tiers[step.tier].name));
    case StepKind::Prefetch:
        return fmt::format(R"(["p",{}])", quoted(graph.value(step.id).name));
    }
    return {};
}

json annotationsJson(const OpGraph& graph, const Annotations& notes)
{
    json result = json::object();
    result["planner"] = notes.planner;
    result["order"] = notes.order;
    result["blocks"] = notes.blocks;
    json intervals = json::array();
    for (const Interval& one : notes.intervals) {
        const auto child = [](std::uint32_t id) { return id == kNone ? json() : json(id); };
        intervals.push_back({one.low, one.high, child(one.left), child(one.right)});
    }
    result["intervals"] = intervals;
    json checkpoints = json::array();
    for (const OpValueId id : notes.checkpoints) {
        checkpoints.push_back(graph.value(id).name);
    }
    result["checkpoints"] = checkpoints;
    json reasons = json::object();
    for (const auto& [id, text] : notes.reasons) {
        reasons[graph.value(id).name] = text;
    }
    result["reasons"] = reasons;
    return result;
}

json subjectJson(const Subject& subject)
{
    json result = json::object();
    result["half"] = subject.half;
    result["model"] = subject.model;
    result["targets"] = subject.targets;
    result["from"] = subject.from;
    result["parameters"] = subject.hasParameters;
    result["shapes"] = subject.shapes;
    result["order"] = subject.order;
    if (!subject.start.empty()) {
        result["start"] = subject.start;
    }
    if (!subject.conditions.empty()) {
        result["conditions"] = subject.conditions;
    }
    if (!subject.composite.empty()) {
        // The text of our own writer (lrp::toJson), or what the reader of plans has taken in within its limits.
        json composite = json::parse(subject.composite, nullptr, false);
        result["composite"] = composite.is_discarded() ? json(subject.composite) : std::move(composite);
    }
    json decisions = json::object();
    for (const Decision& one : subject.decisions) {
        decisions[one.node] = one.iterations ? json{{"iterations", *one.iterations}} : json{{"branch", one.branch}};
    }
    result["decisions"] = decisions;
    return result;
}

// ---------------------------------------------------------------------------------------------------- reading

class SubjectReader
{
public:
    explicit SubjectReader(const JsonFields& fields) : m_fields(fields) {}

    Result<Subject> read()
    {
        static constexpr std::array<std::string_view, 4> kHalves{"", "forward", "gradient", "relevance"};
        RETRO_TRY(m_subject.half, m_fields.word("half", kHalves, ""));
        RETRO_TRY(m_subject.model, m_fields.text("model"));
        RETRO_TRY(m_subject.targets, m_fields.texts("targets"));
        RETRO_TRY(m_subject.conditions, m_fields.texts("conditions"));
        RETRO_TRY(m_subject.from, m_fields.texts("from"));
        RETRO_TRY(m_subject.start, m_fields.text("start"));
        RETRO_TRY(m_subject.order, m_fields.text("order"));
        RETRO_TRY(m_subject.hasParameters, m_fields.flag("parameters", false));
        if (const json* composite = m_fields.find("composite")) {
            m_subject.composite = composite->is_string() ? composite->get<std::string>() : base::jsonOut(*composite);
        }
        RETRO_CHECK(readShapes());
        RETRO_CHECK(readDecisions());
        return std::move(m_subject);
    }

private:
    Result<void> readShapes()
    {
        RETRO_TRY(const auto shapes, m_fields.object("shapes"));
        const json none = json::object();
        for (const auto& item : (shapes ? shapes->members() : none).items()) {
            const auto isExtent = [](const json& one) { return one.is_number_unsigned(); };
            if (!item.value().is_array() || !std::ranges::all_of(item.value(), isExtent)) {
                return shapes->error(item.key(), "must be a list of whole numbers, 0 or more");
            }
            m_subject.shapes[item.key()] = item.value().get<std::vector<std::int64_t>>();
        }
        return {};
    }

    Result<void> readDecisions()
    {
        RETRO_TRY(const auto decisions, m_fields.object("decisions"));
        const json none = json::object();
        for (const auto& item : (decisions ? decisions->members() : none).items()) {
            RETRO_TRY(const auto one, decisions->object(item.key()));
            Decision decision{item.key(), {}, {}};
            if (one) {
                RETRO_TRY(decision.branch, one->text("branch"));
                RETRO_TRY(decision.iterations, one->whole("iterations", 0));
            }
            if (decision.branch.empty() == !decision.iterations) {
                return decisions->error(item.key(), "a decision has a branch or a number of iterations");
            }
            m_subject.decisions.push_back(std::move(decision));
        }
        return {};
    }

    const JsonFields& m_fields;
    Subject m_subject;
};

Result<std::optional<std::uint64_t>> budgetIn(const JsonFields& root)
{
    const json* budget = root.find("budget");
    if (budget == nullptr) {
        return std::optional<std::uint64_t>();
    }
    if (!budget->is_number_unsigned()) {
        return root.error("budget", "it must be a whole number of bytes, or null");
    }
    return std::optional(budget->get<std::uint64_t>());
}

class Reader
{
public:
    Reader(const OpGraph& graph, JsonFields root) : m_graph(graph), m_root(std::move(root)), m_text(m_root.source())
    {
        for (OpId id = 0; id < graph.size(); ++id) {
            if (graph.op(id).phase != analysis::Phase::Source) {
                m_ops.emplace(graph.op(id).name, id);
            }
        }
        for (OpValueId id = 0; id < graph.values().size(); ++id) {
            m_values.emplace(graph.value(id).name, id);
        }
    }

    /// True when the plan says that it was made for another graph; its steps may be of this one all the same.
    [[nodiscard]] bool isOfAnother() const { return !m_madeFor.empty(); }

    Result<Plan> run(const std::function<Result<void>(const Subject&)>& check)
    {
        RETRO_CHECK(readHead());
        RETRO_TRY(const auto subject, m_root.object("subject"));
        if (subject) {
            RETRO_TRY(m_plan.subject, SubjectReader(*subject).read());
            RETRO_CHECK(check ? check(*m_plan.subject) : Result<void>());
        }
        RETRO_CHECK(readTiers());
        RETRO_CHECK(readSteps());
        RETRO_TRY(const auto notes, m_root.object("annotations"));
        if (notes) {
            RETRO_CHECK(readAnnotations(*notes));
        }
        return std::move(m_plan);
    }

private:
    Result<void> readHead()
    {
        RETRO_CHECK(checkFormat());
        RETRO_TRY(const std::string hash, m_root.text("graph_hash"));
        if (hash != base::hex(m_graph.hash())) {
            m_madeFor = hash.empty() ? "?" : hash;
        }
        m_plan.graphHash = m_graph.hash();
        RETRO_TRY(m_plan.budget, budgetIn(m_root));
        return {};
    }

    Result<void> checkFormat() const
    {
        RETRO_TRY(const std::string format, m_root.text("format"));
        if (format == kFormat) {
            return {};
        }
        const bool isNewer = format.starts_with("retrograde-plan/");
        return m_root.error("format",
                            isNewer ? fmt::format("{} is newer than this program, which reads {}", format, kFormat)
                                    : fmt::format("this is no plan: \"format\" must be \"{}\"", kFormat));
    }

    Result<void> readTiers()
    {
        RETRO_TRY(const json* tiers, m_root.list("tiers", kMaxTiers));
        for (std::size_t i = 0; tiers != nullptr && i < tiers->size(); ++i) {
            RETRO_TRY(const JsonFields fields, m_root.item("tiers", i));
            Tier tier;
            RETRO_TRY(tier.name, fields.text("name"));
            RETRO_TRY(const std::optional<double> rate, fields.number("bytes_per_second"));
            tier.bytesPerSecond = rate.value_or(0);
            const bool isNew = m_tiers.emplace(tier.name, static_cast<std::uint32_t>(i)).second;
            if (tier.name.empty() || !isNew || !(tier.bytesPerSecond > 0) || !std::isfinite(tier.bytesPerSecond)) {
                return m_root.error(fmt::format("tiers[{}]", i),
                                    "needs a name of its own and bytes_per_second above 0");
            }
            m_plan.tiers.push_back(std::move(tier));
        }
        return {};
    }

    Result<void> readSteps()
    {
        RETRO_TRY(const json* steps, m_root.list("steps", kMaxPlanSteps));
        if (steps == nullptr) {
            return m_text.error("", "the plan has no \"steps\"");
        }
        for (std::size_t i = 0; i < steps->size(); ++i) {
            RETRO_TRY(const Step step, readStep((*steps)[i], i));
            m_plan.steps.push_back(step);
        }
        return {};
    }

    /// "c", "f", "o" or "p" where the item is a step of that form; empty otherwise.
    static std::string kindOf(const json& item)
    {
        const auto isText = [](const json& part) { return part.is_string(); };
        if (!item.is_array() || item.size() < 2 || !std::ranges::all_of(item, isText)) {
            return {};
        }
        const std::string kind = item[0].get<std::string>();
        const bool isPlain = kind == "c" || kind == "f" || kind == "p";
        return (isPlain && item.size() == 2) || (kind == "o" && item.size() == 3) ? kind : std::string();
    }

    Result<Step> readStep(const json& item, std::size_t at) const
    {
        static const std::unordered_map<std::string, StepKind> kKinds{
            {"c", StepKind::Compute}, {"f", StepKind::Free}, {"o", StepKind::Offload}, {"p", StepKind::Prefetch}};
        const std::string path = fmt::format("steps[{}]", at);
        const auto kind = kKinds.find(kindOf(item));
        if (kind == kKinds.end()) {
            return m_text.error(path, R"(must be ["c", operator], ["f", value], ["o", value, tier] or ["p", value])");
        }
        Step step;
        step.kind = kind->second;
        const bool isOp = step.kind == StepKind::Compute;
        RETRO_TRY(step.id, idOf(isOp ? m_ops : m_values, item[1], path, isOp ? "operator" : "value"));
        if (step.kind == StepKind::Offload) {
            RETRO_TRY(step.tier, idOf(m_tiers, item[2], path, "tier"));
        }
        return step;
    }

    template <class Map>
    Result<std::uint32_t> idOf(const Map& ids, const json& name, const std::string& path, const char* what) const
    {
        const auto at = name.is_string() ? ids.find(name.template get_ref<const std::string&>()) : ids.end();
        if (at == ids.end()) {
            const std::string why =
                isOfAnother() ? fmt::format("; the plan was made for graph {}, this one is {}: make a new plan for it",
                                            m_madeFor, base::hex(m_graph.hash()))
                              : std::string();
            return m_text.error(path, fmt::format("there is no {} {}{}", what, base::jsonOut(name), why));
        }
        return at->second;
    }

    Result<void> readAnnotations(const JsonFields& notes)
    {
        RETRO_TRY(m_plan.annotations.planner, notes.text("planner"));
        RETRO_TRY(m_plan.annotations.order, notes.text("order"));
        RETRO_CHECK(readBlocks(notes));
        RETRO_CHECK(readIntervals(notes));
        RETRO_TRY(const json* checkpoints, notes.list("checkpoints", m_graph.values().size()));
        for (std::size_t i = 0; checkpoints != nullptr && i < checkpoints->size(); ++i) {
            RETRO_TRY(const OpValueId id,
                      idOf(m_values, (*checkpoints)[i], fmt::format("annotations.checkpoints[{}]", i), "value"));
            m_plan.annotations.checkpoints.push_back(id);
        }
        return readReasons(notes);
    }

    Result<void> readReasons(const JsonFields& notes)
    {
        RETRO_TRY(const auto reasons, notes.object("reasons"));
        const json none = json::object();
        for (const auto& item : (reasons ? reasons->members() : none).items()) {
            RETRO_TRY(const OpValueId id, idOf(m_values, json(item.key()), "annotations.reasons", "value"));
            RETRO_TRY(m_plan.annotations.reasons[id], reasons->text(item.key()));
        }
        return {};
    }

    Result<std::uint32_t> positionOf(const json& item, const std::string& path, std::size_t most) const
    {
        if (!item.is_number_unsigned() || item.get<std::uint64_t>() > most) {
            return m_text.error(path, fmt::format("must be a whole number up to {}", most));
        }
        return static_cast<std::uint32_t>(item.get<std::uint64_t>());
    }

    Result<void> readBlocks(const JsonFields& notes)
    {
        RETRO_TRY(const json* blocks, notes.list("blocks", m_graph.size()));
        for (std::size_t i = 0; blocks != nullptr && i < blocks->size(); ++i) {
            RETRO_TRY(const std::uint32_t end,
                      positionOf((*blocks)[i], fmt::format("annotations.blocks[{}]", i), m_graph.size()));
            m_plan.annotations.blocks.push_back(end);
        }
        return {};
    }

    Result<void> readIntervals(const JsonFields& notes)
    {
        RETRO_TRY(const json* intervals, notes.list("intervals", 2 * m_graph.size() + 1));
        for (std::size_t i = 0; intervals != nullptr && i < intervals->size(); ++i) {
            const std::string path = fmt::format("annotations.intervals[{}]", i);
            RETRO_TRY(const Interval one, readInterval((*intervals)[i], i, intervals->size(), path));
            m_plan.annotations.intervals.push_back(one);
        }
        return {};
    }

    /// Children stand behind their parent, so that a tree has no cycle.
    Result<Interval> readInterval(const json& item, std::size_t at, std::size_t count, const std::string& path) const
    {
        if (!item.is_array() || item.size() != 4) {
            return m_text.error(path, "must be [from, until, left or null, right or null]");
        }
        Interval one;
        RETRO_TRY(one.low, positionOf(item[0], path, m_graph.size()));
        RETRO_TRY(one.high, positionOf(item[1], path, m_graph.size()));
        RETRO_TRY(one.left, childOf(item[2], at, count, path));
        RETRO_TRY(one.right, childOf(item[3], at, count, path));
        return one;
    }

    Result<std::uint32_t> childOf(const json& item, std::size_t at, std::size_t count, const std::string& path) const
    {
        if (item.is_null()) {
            return kNone;
        }
        RETRO_TRY(const std::uint32_t child, positionOf(item, path, count - 1));
        if (child <= at) {
            return m_text.error(path, "children stand behind their parent");
        }
        return child;
    }

    const OpGraph& m_graph;
    JsonFields m_root;
    const JsonText& m_text;
    Plan m_plan;
    std::string m_madeFor; ///< the hash that it states, where that is another
    std::unordered_map<std::string, std::uint32_t> m_ops;
    std::unordered_map<std::string, std::uint32_t> m_values;
    std::unordered_map<std::string, std::uint32_t> m_tiers;
};

} // namespace

std::string toPlanJson(const OpGraph& graph, const Plan& plan)
{
    std::string text = fmt::format("{{\n\"format\": \"{}\",\n\"graph_hash\": \"{}\",\n\"budget\": {},\n", kFormat,
                                   base::hex(plan.graphHash), plan.budget ? std::to_string(*plan.budget) : "null");
    json tiers = json::array();
    for (const Tier& tier : plan.tiers) {
        tiers.push_back({{"name", tier.name}, {"bytes_per_second", tier.bytesPerSecond}});
    }
    if (plan.subject) {
        text += fmt::format("\"subject\": {},\n", base::jsonOut(subjectJson(*plan.subject)));
    }
    text += fmt::format("\"tiers\": {},\n\"steps\": [", base::jsonOut(tiers));
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        text += (i == 0 ? "\n" : ",\n") + stepText(graph, plan, plan.steps[i]);
    }
    const json notes = annotationsJson(graph, plan.annotations);
    text += fmt::format("\n],\n\"annotations\": {}\n}}\n", base::jsonOut(notes));
    return text;
}

std::function<Result<void>(const Subject&)> decisionCheck(std::vector<Decision> ofRun)
{
    return [ofRun = std::move(ofRun)](const Subject& subject) -> Result<void> {
        const std::string difference = differenceOf(subject.decisions, ofRun);
        return difference.empty() ? Result<void>()
                                  : base::inputError("plan again with this input (`plan --input`)", difference);
    };
}

Result<std::string> modelOfPlan(std::string text, const std::string& where)
{
    RETRO_TRY(const JsonText parsed, JsonText::parse(std::move(text), where, kPlanLimits));
    RETRO_TRY(const JsonFields root, JsonFields::of(parsed, parsed.root(), ""));
    RETRO_TRY(const std::optional<JsonFields> subject, root.object("subject"));
    return subject ? subject->text("model") : Result<std::string>(std::string());
}

Result<std::optional<std::uint64_t>> budgetOfPlan(std::string text, const std::string& where)
{
    RETRO_TRY(const JsonText parsed, JsonText::parse(std::move(text), where, kPlanLimits));
    RETRO_TRY(const JsonFields root, JsonFields::of(parsed, parsed.root(), ""));
    return budgetIn(root);
}

Result<Plan> parsePlanJson(const OpGraph& graph, std::string text, const std::string& where, bool* isOfAnother,
                           const std::function<Result<void>(const Subject&)>& check)
{
    RETRO_TRY(const JsonText parsed, JsonText::parse(std::move(text), where, kPlanLimits));
    RETRO_TRY(JsonFields root, JsonFields::of(parsed, parsed.root(), ""));
    Reader reader(graph, std::move(root));
    Result<Plan> plan = reader.run(check);
    if (isOfAnother != nullptr) {
        *isOfAnother = reader.isOfAnother();
    }
    return plan;
}

} // namespace retro::schedule
