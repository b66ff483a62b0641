// SPDX-License-Identifier: Apache-2.0
// The composite file, docs/formats/composite.md.
#include "core/base/jsonout.h"
#include "core/lrp/composite.h"
#include "core/lrp/jsontext.h"
#include "core/lrp/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

namespace retro::lrp
{

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

/// Reads the fields of one composite; each function gets the path of the field that it reads.
class CompositeReader
{
public:
    explicit CompositeReader(const JsonText& text) : m_text(text) {}

    [[nodiscard]] base::Result<Composite> read() const
    {
        const json& root = m_text.root();
        RETRO_CHECK(expectObject(root, ""));
        RETRO_CHECK(checkFormat(root));
        RETRO_CHECK(onlyKnown(root, "", {"format", "name", "times_input", "divides_start", "entries"}));
        Composite composite;
        RETRO_TRY(composite.name, readText(root, "", "name", "composite"));
        RETRO_TRY(composite.timesInput, readFlag(root, "", "times_input"));
        RETRO_TRY(composite.dividesStart, readFlag(root, "", "divides_start"));
        const auto entries = root.find("entries");
        if (entries == root.end() || !entries->is_array() || entries->empty() || entries->size() > kMaxEntries) {
            return m_text.error("entries", fmt::format("a list of 1 to {} entries is needed here", kMaxEntries));
        }
        for (std::size_t i = 0; i < entries->size(); ++i) {
            RETRO_TRY(CompositeEntry entry, readEntry((*entries)[i], fmt::format("entries[{}]", i)));
            entry.origin = EntryOrigin::File;
            entry.written = fmt::format("entries[{}] of the composite file", i);
            composite.entries.push_back(std::move(entry));
        }
        return composite;
    }

private:
    static std::string child(const std::string& path, std::string_view key)
    {
        return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
    }

    [[nodiscard]] base::Result<void> expectObject(const json& value, const std::string& path) const
    {
        return value.is_object() ? base::Result<void>() : m_text.error(path, "an object { … } is needed here");
    }

    [[nodiscard]] base::Result<void> checkFormat(const json& root) const
    {
        const auto format = root.find("format");
        if (format == root.end() || !format->is_string()) {
            return m_text.error("format", fmt::format("the field \"format\" must be \"{}\"", kFormat));
        }
        if (*format != kFormat) {
            return m_text.error("format", fmt::format("the format is \"{}\"; this version reads \"{}\"",
                                                      format->get_ref<const std::string&>(), kFormat));
        }
        return {};
    }

    [[nodiscard]] base::Result<void> onlyKnown(const json& object, const std::string& path,
                                               std::initializer_list<std::string_view> known) const
    {
        for (const auto& item : object.items()) {
            if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
                return m_text.error(child(path, item.key()),
                                    fmt::format("there is no such field; known are {}", fmt::join(known, ", ")));
            }
        }
        return {};
    }

    [[nodiscard]] base::Result<std::string> readText(const json& object, const std::string& path, std::string_view key,
                                                     std::string fallback) const
    {
        const auto value = object.find(key);
        if (value == object.end()) {
            return fallback;
        }
        if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
            return m_text.error(child(path, key), "a text that is not empty is needed here");
        }
        return value->get<std::string>();
    }

    [[nodiscard]] base::Result<bool> readFlag(const json& object, const std::string& path, std::string_view key) const
    {
        const auto value = object.find(key);
        if (value == object.end()) {
            return false;
        }
        if (!value->is_boolean()) {
            return m_text.error(child(path, key), "true or false is needed here");
        }
        return value->get<bool>();
    }

    [[nodiscard]] base::Result<CompositeEntry> readEntry(const json& value, const std::string& path) const
    {
        RETRO_CHECK(expectObject(value, path));
        RETRO_CHECK(onlyKnown(value, path, {"match", "rule"}));
        CompositeEntry entry;
        if (const auto match = value.find("match"); match != value.end()) {
            RETRO_TRY(entry.matcher, readMatcher(*match, path + ".match"));
        }
        const auto rule = value.find("rule");
        if (rule == value.end()) {
            return m_text.error(path, "the field \"rule\" is missing");
        }
        RETRO_TRY(entry.rule, readRule(*rule, path + ".rule"));
        return entry;
    }

    [[nodiscard]] base::Result<Matcher> readMatcher(const json& value, const std::string& path) const
    {
        RETRO_CHECK(expectObject(value, path));
        RETRO_CHECK(onlyKnown(value, path, {"op", "structure", "name", "scope", "operand_from", "operand", "first"}));
        Matcher matcher;
        RETRO_TRY(matcher.ops, readOperators(value, path, "op"));
        RETRO_TRY(matcher.operandFrom, readOperators(value, path, "operand_from"));
        RETRO_TRY(matcher.operand, readSlot(value, path));
        if (matcher.operand && matcher.operandFrom.empty()) {
            return m_text.error(path + ".operand", "the field goes with \"operand_from\"");
        }
        RETRO_TRY(const std::string structure, readText(value, path, "structure", {}));
        RETRO_TRY(matcher.structure, structureOf(structure, path));
        RETRO_TRY(matcher.nameGlob, readText(value, path, "name", {}));
        RETRO_TRY(matcher.scope, readText(value, path, "scope", {}));
        RETRO_CHECK(readFirst(value, path, matcher));
        return matcher;
    }

    // true, or the name of an input.
    [[nodiscard]] base::Result<void> readFirst(const json& value, const std::string& path, Matcher& matcher) const
    {
        const auto found = value.find("first");
        if (found == value.end()) {
            return {};
        }
        const bool isName = found->is_string() && !found->get_ref<const std::string&>().empty();
        if (!isName && !found->is_boolean()) {
            return m_text.error(path + ".first", "true, false or the name of an input is needed here");
        }
        matcher.firstWeight = isName || found->get<bool>();
        matcher.firstFrom = isName ? found->get<std::string>() : std::string();
        return {};
    }

    [[nodiscard]] base::Result<std::optional<std::size_t>> readSlot(const json& value, const std::string& path) const
    {
        const auto found = value.find("operand");
        if (found == value.end()) {
            return std::optional<std::size_t>();
        }
        if (!found->is_number_unsigned() || found->get<std::uint64_t>() > kMaxOperand) {
            return m_text.error(path + ".operand", fmt::format("an operand from 0 to {} is needed here", kMaxOperand));
        }
        return std::optional(found->get<std::size_t>());
    }

    [[nodiscard]] base::Result<std::vector<std::string>> readOperators(const json& value, const std::string& path,
                                                                       const char* field) const
    {
        std::vector<std::string> names;
        const auto found = value.find(field);
        if (found == value.end()) {
            return names;
        }
        const json list = found->is_array() ? *found : json::array({*found});
        for (const json& name : list) {
            if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
                return m_text.error(path + "." + field, "an operator name or a list of them is needed here");
            }
            names.push_back(name.get<std::string>());
        }
        if (names.empty()) {
            return m_text.error(path + "." + field, "the list is empty; name an operator or leave the field out");
        }
        return names;
    }

    [[nodiscard]] base::Result<std::optional<StructureKind>> structureOf(const std::string& name,
                                                                         const std::string& path) const
    {
        const std::vector<std::string_view> names = structureNames();
        const auto found = std::find(names.begin(), names.end(), name);
        if (found != names.end()) {
            return std::optional(static_cast<StructureKind>(found - names.begin()));
        }
        if (name.empty()) {
            return std::optional<StructureKind>();
        }
        return m_text.error(path + ".structure",
                            fmt::format("there is no structure \"{}\"; known are {}", name, fmt::join(names, ", ")));
    }

    [[nodiscard]] base::Result<RulePointer> readRule(const json& value, const std::string& path) const
    {
        RETRO_CHECK(expectObject(value, path));
        RETRO_CHECK(onlyKnown(value, path, {"name", "params"}));
        RETRO_TRY(const std::string name, readText(value, path, "name", {}));
        if (name.empty()) {
            return m_text.error(path, "the field \"name\" is missing");
        }
        RETRO_TRY(const RuleParameters parameters, readParameters(value, path + ".params"));
        base::Result<RulePointer> rule = makeRule(name, parameters);
        if (!rule.ok()) {
            const bool isName = rule.error().where == "rule";
            return m_text.error(isName ? path + ".name" : path + ".params." + rule.error().where, rule.error().message);
        }
        return rule;
    }

    [[nodiscard]] base::Result<RuleParameters> readParameters(const json& rule, const std::string& path) const
    {
        RuleParameters parameters;
        const auto values = rule.find("params");
        if (values == rule.end()) {
            return parameters;
        }
        RETRO_CHECK(expectObject(*values, path));
        for (const auto& item : values->items()) {
            RETRO_TRY(parameters[item.key()], readParameter(item.value(), path + "." + item.key()));
        }
        return parameters;
    }

    [[nodiscard]] base::Result<RuleParameter> readParameter(const json& value, const std::string& path) const
    {
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
            return m_text.error(path, "a number, a list of numbers, a text, true or false is needed here");
        }
        return RuleParameter(value.get<std::vector<double>>());
    }

    const JsonText& m_text;
};

// One name, or a list of them; nothing when there is none.
void writeOperators(const std::vector<std::string>& names, const char* field, ordered_json& result)
{
    if (names.size() == 1) {
        result[field] = names.front();
    } else if (!names.empty()) {
        result[field] = names;
    }
}

ordered_json matcherToJson(const Matcher& matcher)
{
    ordered_json result = ordered_json::object();
    writeOperators(matcher.ops, "op", result);
    if (matcher.structure) {
        result["structure"] = ops::nameOf(*matcher.structure);
    }
    if (!matcher.nameGlob.empty()) {
        result["name"] = matcher.nameGlob;
    }
    if (!matcher.scope.empty()) {
        result["scope"] = matcher.scope;
    }
    writeOperators(matcher.operandFrom, "operand_from", result);
    if (matcher.operand) {
        result["operand"] = *matcher.operand;
    }
    if (matcher.firstWeight) {
        result["first"] = matcher.firstFrom.empty() ? ordered_json(true) : ordered_json(matcher.firstFrom);
    }
    return result;
}

ordered_json ruleToJson(const Rule& rule)
{
    ordered_json result = {{"name", rule.name()}};
    for (const auto& [name, value] : rule.parameters()) {
        std::visit([&](const auto& plain) { result["params"][name] = plain; }, value);
    }
    return result;
}

} // namespace

base::Result<Composite> parseComposite(const std::string& text, const std::string& where)
{
    RETRO_TRY(const JsonText parsed, JsonText::parse(text, where, {kMaxCompositeBytes, kMaxCompositeDepth}));
    return CompositeReader(parsed).read();
}

std::string toJson(const Composite& composite)
{
    ordered_json result = {{"format", kFormat}, {"name", composite.name}};
    if (composite.timesInput) {
        result["times_input"] = true;
    }
    if (composite.dividesStart) {
        result["divides_start"] = true;
    }
    result["entries"] = ordered_json::array();
    for (const CompositeEntry& entry : composite.entries) {
        ordered_json item = ordered_json::object();
        if (ordered_json match = matcherToJson(entry.matcher); !match.empty()) {
            item["match"] = std::move(match);
        }
        item["rule"] = ruleToJson(*entry.rule);
        result["entries"].push_back(std::move(item));
    }
    // Bytes that are not UTF-8 (from a file's node names) must not make this throw.
    return base::jsonOut(result, 2) + "\n";
}

} // namespace retro::lrp
