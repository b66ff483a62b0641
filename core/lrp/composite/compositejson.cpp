// SPDX-License-Identifier: Apache-2.0
// The composite file, docs/formats/composite.md.
#include "core/base/editdistance.h"
#include "core/base/jsonfields.h"
#include "core/base/jsonout.h"
#include "core/base/record.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/composite/jsontext.h"
#include "core/lrp/rules/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace retro::lrp
{

using base::JsonFields;
using nlohmann::json;
using nlohmann::ordered_json;
using ops::StructureKind;

namespace
{

constexpr std::string_view kFormat = "retrograde-composite/1";
constexpr std::size_t kMaxEntries = 10'000;
constexpr std::size_t kMaxOperand = 1023;
constexpr std::size_t kMaxChannels = 65'536; ///< numbers in a list

std::vector<std::string_view> structureNames()
{
    std::vector<std::string_view> names;
    for (int kind = 0; kind < static_cast<int>(StructureKind::NoRelevance); ++kind) {
        names.push_back(ops::nameOf(static_cast<StructureKind>(kind)));
    }
    return names;
}

/// A text that is not empty; `fallback` when missing.
base::Result<std::string> readText(const JsonFields& fields, std::string_view key, std::string fallback = {})
{
    RETRO_TRY(std::string text, fields.text(key, std::move(fallback)));
    if (text.empty() && fields.has(key)) {
        return fields.error(key, "a text that is not empty is needed here");
    }
    return text;
}

base::Result<void> checkFormat(const JsonFields& root)
{
    RETRO_TRY(const std::string format, root.text("format"));
    if (format.empty()) {
        return root.error("format", fmt::format("the field \"format\" must be \"{}\"", kFormat));
    }
    if (format != kFormat) {
        return root.error("format", fmt::format("the format is \"{}\"; this version reads \"{}\"", format, kFormat));
    }
    return {};
}

/// True, or the name of an input.
base::Result<void> readFirst(const JsonFields& fields, Matcher& matcher)
{
    const json* found = fields.find("first");
    if (found == nullptr) {
        return {};
    }
    const bool isName = found->is_string() && !found->get_ref<const std::string&>().empty();
    if (!isName && !found->is_boolean()) {
        return fields.error("first", "true, false or the name of an input is needed here");
    }
    matcher.firstWeight = isName || found->get<bool>();
    matcher.firstFrom = isName ? found->get<std::string>() : std::string();
    return {};
}

base::Result<void> readOperand(const JsonFields& fields, Matcher& matcher)
{
    const json* found = fields.find("operand");
    if (found == nullptr) {
        return {};
    }
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > kMaxOperand) {
        return fields.error("operand", fmt::format("an operand from 0 to {} is needed here", kMaxOperand));
    }
    if (matcher.operandFrom.empty()) {
        return fields.error("operand", "the field goes with \"operand_from\"");
    }
    matcher.operand = found->get<std::size_t>();
    return {};
}

base::Result<std::vector<std::string>> readOperators(const JsonFields& fields, const char* field)
{
    std::vector<std::string> names;
    const json* found = fields.find(field);
    if (found == nullptr) {
        return names;
    }
    const json list = found->is_array() ? *found : json::array({*found});
    for (const json& name : list) {
        if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
            return fields.error(field, "an operator name or a list of them is needed here");
        }
        names.push_back(name.get<std::string>());
    }
    if (names.empty()) {
        return fields.error(field, "the list is empty; name an operator or leave the field out");
    }
    return names;
}

base::Result<void> readStructure(const JsonFields& fields, Matcher& matcher)
{
    RETRO_TRY(const std::string name, readText(fields, "structure"));
    const std::vector<std::string_view> names = structureNames();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) {
        matcher.structure = static_cast<StructureKind>(found - names.begin());
    } else if (!name.empty()) {
        return fields.error("structure", fmt::format("there is no structure \"{}\"; known are {}{}", name,
                                                     fmt::join(names, ", "), base::guessText(name, names)));
    }
    return {};
}

base::Result<Matcher> readMatcher(const JsonFields& fields)
{
    RETRO_CHECK(fields.onlyKnown({"op", "structure", "name", "scope", "operand_from", "operand", "first"}));
    Matcher matcher;
    RETRO_TRY(matcher.ops, readOperators(fields, "op"));
    RETRO_TRY(matcher.operandFrom, readOperators(fields, "operand_from"));
    RETRO_CHECK(readOperand(fields, matcher));
    RETRO_CHECK(readStructure(fields, matcher));
    RETRO_TRY(matcher.nameGlob, readText(fields, "name"));
    RETRO_TRY(matcher.scope, readText(fields, "scope"));
    RETRO_CHECK(readFirst(fields, matcher));
    return matcher;
}

base::Result<RuleParameter> readParameter(const JsonFields& parameters, const std::string& name)
{
    const json& value = parameters.members()[name];
    if (value.is_boolean()) {
        return RuleParameter(value.get<bool>());
    }
    if (value.is_number()) {
        return RuleParameter(value.get<double>());
    }
    if (value.is_string()) {
        return RuleParameter(value.get<std::string>());
    }
    const auto isNumber = [](const json& item) { return item.is_number(); };
    if (!value.is_array() || value.size() > kMaxChannels || !std::all_of(value.begin(), value.end(), isNumber)) {
        return parameters.error(name, "a number, a list of numbers, a text, true or false is needed here");
    }
    return RuleParameter(value.get<std::vector<double>>());
}

base::Result<RulePointer> readRule(const JsonFields& fields)
{
    RETRO_CHECK(fields.onlyKnown({"name", "params"}));
    RETRO_TRY(const std::string name, readText(fields, "name"));
    if (name.empty()) {
        return fields.error("name", "the field \"name\" is missing");
    }
    RuleParameters parameters;
    RETRO_TRY(const auto given, fields.object("params"));
    const json none = json::object();
    for (const auto& item : (given ? given->members() : none).items()) {
        RETRO_TRY(parameters[item.key()], readParameter(*given, item.key()));
    }
    base::Result<RulePointer> rule = makeRule(name, parameters);
    if (!rule.ok()) {
        const std::string& where = rule.error().where;
        return fields.source().error(fields.pathOf(where == "rule" ? "name" : "params." + where), rule.error().message);
    }
    return rule;
}

base::Result<CompositeEntry> readEntry(const JsonFields& fields)
{
    RETRO_CHECK(fields.onlyKnown({"match", "rule"}));
    CompositeEntry entry;
    RETRO_TRY(const auto match, fields.object("match"));
    if (match) {
        RETRO_TRY(entry.matcher, readMatcher(*match));
    }
    RETRO_TRY(const auto rule, fields.object("rule"));
    if (!rule) {
        return fields.error("rule", "the field \"rule\" is missing");
    }
    RETRO_TRY(entry.rule, readRule(*rule));
    return entry;
}

base::Result<Composite> readComposite(const JsonFields& root)
{
    RETRO_CHECK(checkFormat(root));
    RETRO_CHECK(root.onlyKnown({"format", "name", "times_input", "divides_start", "entries"}));
    Composite composite;
    RETRO_TRY(composite.name, readText(root, "name", "composite"));
    RETRO_TRY(composite.timesInput, root.flag("times_input", false));
    RETRO_TRY(composite.dividesStart, root.flag("divides_start", false));
    RETRO_TRY(const json* entries, root.list("entries"));
    if (entries == nullptr || entries->empty() || entries->size() > kMaxEntries) {
        return root.error("entries", fmt::format("a list of 1 to {} entries is needed here", kMaxEntries));
    }
    for (std::size_t i = 0; i < entries->size(); ++i) {
        RETRO_TRY(const JsonFields item, root.item("entries", i));
        RETRO_TRY(CompositeEntry entry, readEntry(item));
        entry.origin = EntryOrigin::File;
        entry.written = fmt::format("entries[{}] of the composite file", i);
        composite.entries.push_back(std::move(entry));
    }
    return composite;
}

// One name, or a list of them; nothing when there is none.
ordered_json operatorsToJson(const std::vector<std::string>& names)
{
    return names.size() == 1 ? ordered_json(names.front()) : base::ifAny(names);
}

ordered_json matcherToJson(const Matcher& matcher)
{
    const ordered_json first = matcher.firstFrom.empty() ? ordered_json(true) : ordered_json(matcher.firstFrom);
    return base::objectOf(
        {{"op", operatorsToJson(matcher.ops)},
         {"structure", matcher.structure ? ordered_json(ops::nameOf(*matcher.structure)) : base::kLeftOut},
         {"name", base::ifAny(matcher.nameGlob)},
         {"scope", base::ifAny(matcher.scope)},
         {"operand_from", operatorsToJson(matcher.operandFrom)},
         {"operand", base::ifAny(matcher.operand)},
         {"first", matcher.firstWeight ? first : base::kLeftOut}});
}

ordered_json ruleToJson(const Rule& rule)
{
    ordered_json result = {{"name", rule.name()}};
    for (const auto& [name, value] : rule.parameters()) {
        std::visit([&into = result["params"][name]](const auto& plain) { into = plain; }, value);
    }
    return result;
}

} // namespace

base::Result<Composite> parseComposite(const std::string& text, const std::string& where)
{
    RETRO_TRY(const JsonText parsed, JsonText::parse(text, where, {kMaxCompositeBytes, kMaxCompositeDepth}));
    RETRO_TRY(const JsonFields root, JsonFields::of(parsed, parsed.root(), ""));
    return readComposite(root);
}

std::string toJson(const Composite& composite)
{
    const ordered_json entries = base::listOf(composite.entries, [](const CompositeEntry& entry) {
        return base::objectOf(
            {{"match", base::ifAny(matcherToJson(entry.matcher))}, {"rule", ruleToJson(*entry.rule)}});
    });
    const ordered_json result = base::objectOf({{"format", kFormat},
                                                {"name", composite.name},
                                                {"times_input", base::ifAny(composite.timesInput)},
                                                {"divides_start", base::ifAny(composite.dividesStart)},
                                                {"entries", entries}});
    // Bytes that are not UTF-8 (from a file's node names) must not make this throw.
    return base::jsonOut(result, 2) + "\n";
}

} // namespace retro::lrp
