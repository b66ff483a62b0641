// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/rulechoices.h"

#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/rules/ruleformulas.h"
#include "core/lrp/rules/rules.h"

#include <variant>

namespace retro::engine
{

namespace
{

/// The words between "must be one of" and what was given, as a rule refuses a word that it does not have.
std::vector<std::string> wordsIn(const std::string& refusal)
{
    static constexpr std::string_view kBefore = "must be one of ";
    static constexpr std::string_view kAfter = ", not ";
    const std::size_t from = refusal.find(kBefore);
    const std::size_t until = refusal.rfind(kAfter);
    std::vector<std::string> words;
    if (from == std::string::npos || until == std::string::npos || until < from) {
        return words;
    }
    std::string_view rest = std::string_view(refusal).substr(from + kBefore.size(), until - from - kBefore.size());
    while (!rest.empty()) {
        const std::size_t comma = rest.find(", ");
        words.emplace_back(rest.substr(0, comma));
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 2);
    }
    return words;
}

/// Which words each parameter of a rule can have: the rule itself says so when it is given another one.
std::map<std::string, std::vector<std::string>> optionsOf(std::string_view rule, const lrp::RuleParameters& parameters)
{
    std::map<std::string, std::vector<std::string>> options;
    for (const auto& [key, usual] : parameters) {
        if (std::holds_alternative<bool>(usual)) {
            options[key] = {"true", "false"};
        } else if (std::holds_alternative<std::string>(usual)) {
            const auto refused = lrp::makeRule(rule, {{key, std::string("?")}});
            std::vector<std::string> words = refused ? std::vector<std::string>() : wordsIn(refused.error().message);
            if (!words.empty()) {
                options[key] = std::move(words);
            }
        }
    }
    return options;
}

} // namespace

std::vector<RuleChoice> ruleChoices(const execute::BoundModel& model, base::NodeId node)
{
    std::vector<RuleChoice> choices;
    for (const std::string_view name : lrp::ruleNames()) {
        const base::Result<lrp::RulePointer> rule = lrp::makeRule(name, {});
        const bool fits =
            rule.ok() && (*rule)->accepts(model.op(node).structure()) && lrp::misfitOf(**rule, model, node).empty();
        if (fits) {
            const std::string_view structure = ops::nameOf(model.op(node).structure().kind());
            lrp::RuleParameters parameters = (*rule)->parameters();
            auto options = optionsOf(name, parameters);
            choices.push_back({std::string(name), lrp::formulaOf((*rule)->text(), structure), std::move(parameters),
                               std::move(options)});
        }
    }
    return choices;
}

} // namespace retro::engine
