// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/rowrules.h"

#include "core/base/file.h"
#include "core/engine/model/prepare.h"
#include "core/lrp/composite/ruleoverride.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace retro::engine
{

namespace
{

/// What its nodes hand back at a row follows from that row: neither a part of all elements, nor their mean, nor places
/// in a triangle.
bool isOfRows(const lrp::Rule& rule)
{
    const lrp::RuleParameters parameters = rule.parameters();
    const auto has = [&parameters](const char* name, const lrp::RuleParameter& value) {
        const auto at = parameters.find(name);
        return at != parameters.end() && at->second == value;
    };
    return (!parameters.contains("filter") || has("filter", 1.0)) && !has("stabiliser", std::string("rms")) &&
           !has("causal", true);
}

/// Also those that pick rows and put them among others, which the whole model does not have.
bool matchesPicks(const lrp::Matcher& matcher)
{
    constexpr std::array<std::string_view, 3> kPicks{"Gather", "Identity", "Pad"};
    constexpr std::array<ops::StructureKind, 4> kLayers{ops::StructureKind::LinearMap, ops::StructureKind::Bilinear,
                                                        ops::StructureKind::SelfNormalisation,
                                                        ops::StructureKind::Softmax};
    const auto isPick = [&kPicks](const std::string& op) { return std::ranges::count(kPicks, op) > 0; };
    const bool isOfOthers = matcher.firstWeight ||
                            (!matcher.ops.empty() && std::ranges::none_of(matcher.ops, isPick)) ||
                            (matcher.structure && std::ranges::count(kLayers, *matcher.structure) > 0);
    return !isOfOthers || std::ranges::any_of(matcher.operandFrom, isPick);
}

/// True where a rule that people wrote gives a row what it gives it among all rows, and is for no node that picks rows
/// but to hand relevance on.
bool isOfRows(const lrp::CompositeEntry& entry)
{
    const bool handsOn = entry.rule->name() == "gradient" || entry.rule->name() == "pass";
    return isOfRows(*entry.rule) && (handsOn || !matchesPicks(entry.matcher));
}

} // namespace

bool hasRulesOfRows(const std::string& composite)
{
    const lrp::Specification named = lrp::splitSpecification(composite);
    const auto says = [&named](const char* word) { return named.base.find(word) != std::string::npos; };
    std::vector<lrp::CompositeEntry> entries;
    if (named.base.ends_with(".json")) {
        const auto text = base::readTextFile(named.base, kMaxCompositeFileBytes);
        auto file = text.ok() ? lrp::parseComposite(*text, named.base) : base::Result<lrp::Composite>(text.error());
        if (!file.ok() || file->timesInput) {
            return false;
        }
        entries = std::move(file->entries);
    } else if (named.base.starts_with("dynamic") || says("filter") || says("rms")) {
        return false;
    }
    const bool areOfRows = std::ranges::all_of(entries, [](const auto& entry) { return isOfRows(entry); });
    return areOfRows && std::ranges::all_of(named.overrides, [](const std::string& text) {
               const auto entry = lrp::parseOverride(text);
               return entry.ok() && isOfRows(*entry);
           });
}

} // namespace retro::engine
