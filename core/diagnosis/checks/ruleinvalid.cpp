// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"
#include "core/base/jsontext.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/lrp/rules/parametertext.h"
#include "core/lrp/rules/rules.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// How far α − β may be from 1 (section 4.7, rule.invalid: 1e-6), and e.
constexpr double kMostUnbalanced = 1e-6;
constexpr double kInvalidEffect = 0.9;
/// Largest composite file that is looked at.
constexpr std::size_t kMostCompositeBytes = 16U << 20U;

lrp::RuleParameters parametersOf(const nlohmann::json& rule)
{
    lrp::RuleParameters parameters;
    const nlohmann::json params = rule.value("params", nlohmann::json::object());
    for (const auto& [key, value] : params.items()) {
        if (value.is_boolean()) {
            parameters[key] = value.get<bool>();
        } else if (value.is_number()) {
            parameters[key] = value.get<double>();
        } else if (value.is_string()) {
            parameters[key] = value.get<std::string>();
        } else if (value.is_array() && std::ranges::all_of(value, [](const auto& item) { return item.is_number(); })) {
            parameters[key] = value.get<std::vector<double>>();
        }
    }
    return parameters;
}

double numberOr(const lrp::RuleParameters& parameters, std::string_view name, double fallback)
{
    const auto at = parameters.find(name);
    const auto* number = at == parameters.end() ? nullptr : std::get_if<double>(&at->second);
    return number != nullptr ? *number : fallback;
}

/// The node that a glob means, where it is one node of the model; else the glob.
std::string nodeOfGlob(const Facts& facts, const std::string& glob)
{
    const std::string stem = glob.substr(0, glob.find_first_of("*?"));
    if (facts.model() == nullptr || glob.empty()) {
        return glob;
    }
    for (const graph::Node& node : facts.model()->graph().nodes()) {
        if (stem == glob ? node.name == glob : node.name.starts_with(stem)) {
            return node.name;
        }
    }
    return glob;
}

struct WrittenRule
{
    std::string where; ///< "entry 0 of rules.json", "--rule name:…"
    std::string node;  ///< or a glob, or empty
    std::string rule;
    lrp::RuleParameters parameters;
};

void judge(const Facts& facts, const WrittenRule& written, Probe& probe)
{
    const double beyond = lrp::imbalanceOf(written.rule, written.parameters).value_or(0);
    const auto made = lrp::makeRule(written.rule, written.parameters);
    const bool isUnbalanced = std::abs(beyond) > kMostUnbalanced;
    const std::string place = nodeOfGlob(facts, written.node);
    probe.measured(place.empty() ? written.where : place, std::abs(beyond));
    if (!isUnbalanced && made.ok()) {
        return;
    }
    const bool isNode = !place.empty();
    Finding& finding = probe.error(kInvalidEffect, {isNode ? PlaceKind::Node : PlaceKind::Entry,
                                                    isNode ? place : written.where, facts.nodeOfPass(place)});
    if (isUnbalanced) {
        finding.what = fmt::format("{}: alpha − beta is {}, it has to be 1 (alpha {}, beta {})", written.where,
                                   numberText(1 + beyond), numberText(numberOr(written.parameters, "alpha", 2)),
                                   numberText(numberOr(written.parameters, "beta", 1)));
        finding.means = fmt::format("Such a rule hands on {} times what arrives.", numberText(1 + beyond));
        finding.remedy = "Write alpha 2, beta 1, or alpha 1, beta 0";
        finding.numbers = {{"alpha_minus_beta", 1 + beyond}};
        finding.threshold = kMostUnbalanced;
    } else {
        finding.what = fmt::format("{}: rule {}: {}{}", written.where, written.rule,
                                   made.error().where == "rule" ? "" : made.error().where + " ", made.error().message);
        finding.means = "The composite cannot be used.";
        finding.remedy = "Correct the entry";
    }
    finding.action = {"edit entry", {{"entry", written.where}, {"node", place}}, {}};
}

void judgeFile(const Facts& facts, const std::string& path, Probe& probe)
{
    auto text = base::readTextFile(path, kMostCompositeBytes);
    const auto parsed = base::JsonText::parse(text ? std::move(*text) : std::string(), path, {kMostCompositeBytes});
    const nlohmann::json json = parsed ? parsed->root() : nlohmann::json();
    if (!json.is_object() || !json.contains("entries") || !json["entries"].is_array()) {
        return;
    }
    const std::string name = std::filesystem::path(path).filename().string();
    std::size_t number = 0;
    for (const nlohmann::json& entry : json["entries"]) {
        const std::size_t at = number++;
        const bool hasRule = entry.is_object() && entry.contains("rule") && entry["rule"].is_object() &&
                             entry["rule"].value("name", nlohmann::json()).is_string();
        if (!hasRule) {
            continue;
        }
        const nlohmann::json match = entry.value("match", nlohmann::json::object());
        const bool isNamed = match.is_object() && match.contains("name") && match["name"].is_string();
        judge(facts,
              {fmt::format("entry {} of {}", at, name), isNamed ? match["name"].get<std::string>() : "",
               entry["rule"]["name"].get<std::string>(), parametersOf(entry["rule"])},
              probe);
    }
}

/// A rule that was put before the composite and is refused. "name:/conv2/Conv=alpha-beta:alpha=2,beta=0".
void judgeOverride(const Facts& facts, const std::string& text, Probe& probe)
{
    if (lrp::parseOverride(text).ok()) {
        return; // what it gives a node is looked at there
    }
    const std::size_t middle = text.find('=', text.rfind('"') == std::string::npos ? 0 : text.rfind('"'));
    const std::string rule = middle == std::string::npos ? std::string() : text.substr(middle + 1);
    const std::size_t colon = std::min(rule.find(':'), rule.size());
    const auto parameters =
        lrp::parseParameters(colon < rule.size() ? rule.substr(colon + 1) : std::string(), "--rule " + text);
    if (middle == std::string::npos || !parameters) {
        return;
    }
    std::string node = text.starts_with("name:") ? text.substr(5, middle - 5) : std::string();
    std::erase(node, '"');
    judge(facts, {"--rule " + text, node, rule.substr(0, colon), *parameters}, probe);
}

void findInvalid(const Facts& facts, Probe& probe)
{
    const lrp::Specification named = lrp::splitSpecification(facts.sources().composite);
    if (named.base.ends_with(".json")) {
        judgeFile(facts, named.base, probe);
    }
    for (const std::string& text : named.overrides) {
        judgeOverride(facts, text, probe);
    }
    if (facts.pass() == nullptr || !facts.pass()->assigned) {
        return;
    }
    for (std::size_t i = 0; i < facts.pass()->assigned->size(); ++i) {
        const lrp::AssignedRule& assigned = (*facts.pass()->assigned)[i];
        const lrp::RuleParameters parameters = assigned.rule ? assigned.rule->parameters() : lrp::RuleParameters();
        if (assigned.rule && lrp::imbalanceOf(assigned.rule->name(), parameters)) {
            judge(facts,
                  {assigned.matcher, facts.graph().labelOf(NodeId(i)), std::string(assigned.rule->name()), parameters},
                  probe);
        }
    }
}

} // namespace

const Check ruleInvalid{
    "rule.invalid",  "|α − β − 1| of a rule; other parameters outside of their domain are found as well",
    kMostUnbalanced, "0",
    Need::Nothing,   true,
    findInvalid};

} // namespace retro::diagnosis
