// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/composite/ruleoverride.h"

#include "core/base/editdistance.h"
#include "core/lrp/rules/parametertext.h"
#include "core/lrp/rules/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace retro::lrp
{

using base::Result;
using base::usageError;
using ops::StructureKind;

namespace
{

constexpr std::size_t kMostOperand = 1023;
constexpr std::string_view kHow =
    "write MATCHER=RULE or MATCHER=RULE:key=value,… with name:, op:, structure:, scope:, from:, operand:, first "
    "or first:INPUT, joined with &";

std::string_view trimmed(std::string_view text)
{
    const auto first = text.find_first_not_of(" \t");
    const auto last = text.find_last_not_of(" \t");
    return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

/// Position of `mark` outside double quotes; npos when it is nowhere.
std::size_t findOutside(std::string_view text, char mark)
{
    bool isQuoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (isQuoted && text[i] == '\\') {
            ++i;
        } else if (text[i] == '"') {
            isQuoted = !isQuoted;
        } else if (text[i] == mark && !isQuoted) {
            return i;
        }
    }
    return std::string_view::npos;
}

std::vector<std::string_view> parted(std::string_view text, char mark)
{
    std::vector<std::string_view> parts;
    while (true) {
        const std::size_t at = findOutside(text, mark);
        parts.push_back(trimmed(text.substr(0, at)));
        if (at == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(at + 1);
    }
}

std::string unquoted(std::string_view text)
{
    if (text.size() < 2 || text.front() != '"' || text.back() != '"') {
        return std::string(text);
    }
    std::string plain;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        i += text[i] == '\\' && i + 2 < text.size() ? 1 : 0;
        plain += text[i];
    }
    return plain;
}

std::string quoted(const std::string& text)
{
    const bool isPlain = !text.empty() && text.find_first_of("\"\\|&=, \t") == std::string::npos;
    if (isPlain) {
        return text;
    }
    std::string result = "\"";
    for (const char c : text) {
        result += c == '"' || c == '\\' ? "\\" : "";
        result += c;
    }
    return result + "\"";
}

std::optional<StructureKind> structureNamed(const std::string& name)
{
    for (int kind = 0; kind < static_cast<int>(StructureKind::NoRelevance); ++kind) {
        if (ops::nameOf(static_cast<StructureKind>(kind)) == name) {
            return static_cast<StructureKind>(kind);
        }
    }
    return std::nullopt;
}

std::vector<std::string> listOf(std::string_view text)
{
    std::vector<std::string> items;
    for (const std::string_view item : parted(text, ',')) {
        items.push_back(unquoted(item));
    }
    return items;
}

Result<void> takeStructure(const std::string& value, Matcher& matcher)
{
    matcher.structure = structureNamed(value);
    if (matcher.structure) {
        return {};
    }
    std::vector<std::string_view> known;
    for (int kind = 0; kind < static_cast<int>(StructureKind::NoRelevance); ++kind) {
        known.push_back(ops::nameOf(static_cast<StructureKind>(kind)));
    }
    return usageError(fmt::format("there is no structure \"{}\"; known are {}{}", value, fmt::join(known, ", "),
                                  base::guessText(value, known)));
}

Result<void> takeOperand(const std::string& value, Matcher& matcher)
{
    std::size_t slot = 0;
    const char* end = value.data() + value.size();
    const auto read = std::from_chars(value.data(), end, slot);
    if (read.ec != std::errc() || read.ptr != end || slot > kMostOperand) {
        return usageError(fmt::format("\"{}\" is no operand from 0 to {}", value, kMostOperand));
    }
    matcher.operand = slot;
    return {};
}

Result<void> takeField(std::string_view key, std::string_view value, Matcher& matcher)
{
    if (key == "name") {
        matcher.nameGlob = unquoted(value);
    } else if (key == "scope") {
        matcher.scope = unquoted(value);
    } else if (key == "first") {
        matcher.firstWeight = true;
        matcher.firstFrom = unquoted(value);
    } else if (key == "op") {
        matcher.ops = listOf(value);
    } else if (key == "from") {
        matcher.operandFrom = listOf(value);
    } else if (key == "structure") {
        return takeStructure(unquoted(value), matcher);
    } else if (key == "operand") {
        return takeOperand(unquoted(value), matcher);
    } else {
        return usageError(fmt::format("there is no condition \"{}\"; {}", key, kHow));
    }
    return {};
}

Result<void> takeCondition(std::string_view text, Matcher& matcher)
{
    if (text == "first") {
        matcher.firstWeight = true;
        return {};
    }
    const std::size_t colon = findOutside(text, ':');
    if (colon == std::string_view::npos || trimmed(text.substr(colon + 1)).empty()) {
        return usageError(fmt::format("\"{}\" is no condition; {}", text, kHow));
    }
    return takeField(trimmed(text.substr(0, colon)), trimmed(text.substr(colon + 1)), matcher);
}

Result<Matcher> parseMatcher(std::string_view text)
{
    Matcher matcher;
    for (const std::string_view condition : parted(text, '&')) {
        RETRO_CHECK(takeCondition(condition, matcher));
    }
    if (matcher.operand && matcher.operandFrom.empty()) {
        return usageError("operand: goes with from:");
    }
    return matcher;
}

Result<CompositeEntry> entryOf(const std::string& text)
{
    const std::size_t equals = findOutside(text, '=');
    if (equals == std::string::npos) {
        return usageError(std::string(kHow));
    }
    CompositeEntry entry;
    RETRO_TRY(entry.matcher, parseMatcher(std::string_view(text).substr(0, equals)));
    const std::string_view rule = trimmed(std::string_view(text).substr(equals + 1));
    const std::size_t colon = rule.find(':');
    const std::string_view parameters = colon == std::string_view::npos ? std::string_view() : rule.substr(colon + 1);
    RETRO_TRY(const RuleParameters read, parseParameters(parameters, std::string(rule)));
    RETRO_TRY(entry.rule, base::within(makeRule(trimmed(rule.substr(0, colon)), read), std::string(rule)));
    return entry;
}

std::string listText(std::string_view key, const std::vector<std::string>& names)
{
    std::vector<std::string> items;
    std::ranges::transform(names, std::back_inserter(items), quoted);
    return fmt::format("{}:{}", key, fmt::join(items, ","));
}

std::string matcherText(const Matcher& matcher)
{
    std::vector<std::string> parts;
    if (matcher.firstWeight) {
        parts.push_back(matcher.firstFrom.empty() ? "first" : "first:" + quoted(matcher.firstFrom));
    }
    if (!matcher.ops.empty()) {
        parts.push_back(listText("op", matcher.ops));
    }
    if (matcher.structure) {
        parts.push_back("structure:" + quoted(std::string(ops::nameOf(*matcher.structure))));
    }
    if (!matcher.nameGlob.empty()) {
        parts.push_back("name:" + quoted(matcher.nameGlob));
    }
    if (!matcher.scope.empty()) {
        parts.push_back("scope:" + quoted(matcher.scope));
    }
    if (!matcher.operandFrom.empty()) {
        parts.push_back(listText("from", matcher.operandFrom));
    }
    if (matcher.operand) {
        parts.push_back(fmt::format("operand:{}", *matcher.operand));
    }
    return fmt::format("{}", fmt::join(parts, "&"));
}

} // namespace

Specification splitSpecification(std::string_view text)
{
    Specification specification;
    for (const std::string_view part : parted(text, '|')) {
        specification.overrides.emplace_back(part);
    }
    specification.base = std::move(specification.overrides.front());
    specification.overrides.erase(specification.overrides.begin());
    return specification;
}

std::string joinSpecification(const Specification& specification)
{
    std::string text = specification.base;
    for (const std::string& one : specification.overrides) {
        text += " | " + one;
    }
    return text;
}

Result<CompositeEntry> parseOverride(const std::string& text)
{
    auto entry = entryOf(text);
    return entry ? std::move(entry) : base::within(std::move(entry).error(), fmt::format("rule '{}'", text));
}

std::string overrideText(const Matcher& matcher, std::string_view rule, const RuleParameters& parameters)
{
    return fmt::format("{}={}{}{}", matcherText(matcher), rule, parameters.empty() ? "" : ":", textOf(parameters));
}

Result<Composite> withOverrides(Composite composite, std::span<const std::string> overrides)
{
    if (overrides.size() > kMostOverrides) {
        return usageError(
            fmt::format("at most {} rules can be put before a composite; write a composite file", kMostOverrides));
    }
    std::vector<CompositeEntry> entries;
    for (const std::string& one : overrides) {
        RETRO_TRY(CompositeEntry entry, parseOverride(one));
        entry.origin = EntryOrigin::Override;
        entry.written = fmt::format("the rule '{}'", one);
        entries.push_back(std::move(entry));
    }
    composite.entries.insert(composite.entries.begin(), std::make_move_iterator(entries.begin()),
                             std::make_move_iterator(entries.end()));
    composite.name = joinSpecification({composite.name, {overrides.begin(), overrides.end()}});
    return composite;
}

} // namespace retro::lrp
