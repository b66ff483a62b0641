// SPDX-License-Identifier: Apache-2.0
#include "core/ops/schema/schema.h"

#include "core/base/editdistance.h"
#include "core/ops/schema/schematables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

namespace retro::ops
{

namespace
{

using graph::Node;

std::vector<OperatorSchema> joinedSchemas()
{
    std::vector<OperatorSchema> all;
    for (const SchemaTable* table : {&kStandardSchemasToF, &kStandardSchemasToQ, &kStandardSchemasToZ,
                                     &kLearningSchemas, &kMicrosoftSchemas, &kQonnxSchemas, &kOwnSchemas}) {
        all.insert(all.end(), table->begin(), table->end());
    }
    std::sort(all.begin(), all.end(), [](const OperatorSchema& a, const OperatorSchema& b) {
        return std::tie(a.domain, a.op, a.sinceOpset) < std::tie(b.domain, b.op, b.sinceOpset);
    });
    return all;
}

/// Calls f(word) for each word of a text until it gives something.
template <class F>
std::optional<std::string> firstOfWords(std::string_view text, const F& f)
{
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (auto found = f(text.substr(0, end))) {
            return found;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::nullopt;
}

/// "X W B?" taken apart.
struct NameList
{
    struct Entry
    {
        std::string_view name;
        bool isOptional = false;
    };
    std::vector<Entry> entries;
    std::size_t least = 0; ///< behind the last one that must be there
    bool isOpen = false;   ///< the last name stands for any number

    /// The entry that stands for place `i`; there is one.
    [[nodiscard]] const Entry& at(std::size_t i) const { return entries[std::min(i, entries.size() - 1)]; }
};

NameList namesOf(std::string_view text)
{
    NameList list;
    firstOfWords(text, [&](std::string_view word) -> std::optional<std::string> {
        const char mark = word.back();
        const bool isMarked = mark == '?' || mark == '*' || mark == '+';
        list.entries.push_back({isMarked ? word.substr(0, word.size() - 1) : word, mark == '?'});
        list.least = mark == '?' || mark == '*' ? list.least : list.entries.size();
        list.isOpen = mark == '*' || mark == '+';
        return std::nullopt;
    });
    return list;
}

/// Operands that are the node's own, without values that its inner graphs read from around it.
std::size_t ownOperands(const Node& node)
{
    std::size_t captured = 0;
    for (const auto& [name, value] : node.attributes) {
        if (const auto* inner = std::get_if<graph::Subgraph>(&value)) {
            captured = std::max(captured, inner->captured);
        }
    }
    return node.inputs.size() - std::min(captured, node.inputs.size());
}

std::optional<std::string> operandFaultBy(const OperatorSchema& schema, const Node& node)
{
    const NameList list = namesOf(schema.operands);
    const std::size_t given = ownOperands(node);
    const auto isThere = [&](std::size_t slot) { return slot < given && node.inputs[slot].isValid(); };
    const std::size_t needed = list.isOpen ? std::max(list.least, given) : list.least;
    for (std::size_t slot = 0; slot < needed; ++slot) {
        if (!isThere(slot) && !list.at(slot).isOptional) {
            return fmt::format("operand {} is missing ({} of {})", slot, list.at(slot).name, node.op);
        }
    }
    for (std::size_t slot = list.entries.size(); slot < given && !list.isOpen; ++slot) {
        if (isThere(slot)) {
            return fmt::format("operand {} is one too many; {} takes at most {} at this opset", slot, node.op,
                               list.entries.size());
        }
    }
    return std::nullopt;
}

std::optional<std::string> outputFaultBy(const OperatorSchema& schema, const Node& node)
{
    const NameList list = namesOf(schema.outputs);
    for (std::size_t k = 0; k < list.entries.size() && !list.isOpen; ++k) {
        const bool isLeftOut = k < node.outputs.size() && !node.outputs[k].isValid();
        if (isLeftOut && !list.entries[k].isOptional) {
            return fmt::format("output {} ({} of {}) has no name, but is not optional", k, list.entries[k].name,
                               node.op);
        }
    }
    if (list.isOpen || node.outputs.size() <= list.entries.size()) {
        return std::nullopt;
    }
    return fmt::format("{} outputs, but {} has at most {} at this opset", node.outputs.size(), node.op,
                       list.entries.size());
}

/// "pads:ints!" taken apart.
struct AttributeEntry
{
    std::string_view name;
    std::string_view kind;
    bool isNeeded = false;
};

AttributeEntry attributeEntry(std::string_view word)
{
    AttributeEntry entry;
    entry.isNeeded = word.ends_with('!');
    word.remove_suffix(entry.isNeeded ? 1 : 0);
    const std::size_t colon = std::min(word.find(':'), word.size());
    entry.name = word.substr(0, colon);
    entry.kind = word.substr(std::min(colon + 1, word.size()));
    return entry;
}

/// In the order of graph::Attribute: what a schema calls the kind, and what people read.
struct KindWords
{
    std::string_view word;
    std::string_view inWords;
};
constexpr std::array<KindWords, 8> kKindWords{{{"int", "an integer"},
                                               {"float", "a float"},
                                               {"text", "a text"},
                                               {"tensor", "a tensor"},
                                               {"ints", "a list of integers"},
                                               {"floats", "a list of floats"},
                                               {"texts", "a list of texts"},
                                               {"graph", "a graph"}}};
static_assert(kKindWords.size() == std::variant_size_v<graph::Attribute>);

std::string_view kindInWords(std::string_view kind)
{
    const auto at = std::ranges::find(kKindWords, kind, &KindWords::word);
    return kind == "flag" ? "0 or 1" : at == kKindWords.end() ? kind : at->inWords;
}

std::string unknownAttribute(const Node& node, const OperatorSchema& schema, const std::string& name)
{
    std::string known;
    std::vector<std::string_view> names;
    firstOfWords(schema.attributes, [&](std::string_view word) -> std::optional<std::string> {
        names.push_back(attributeEntry(word).name);
        known += fmt::format("{}{}", known.empty() ? "" : ", ", names.back());
        return std::nullopt;
    });
    const std::vector<std::string_view> near = base::nearestNames(name, names);
    const std::string guess = near.empty() ? std::string() : fmt::format("; did you mean '{}'?", near.front());
    const std::string has = known.empty() ? "it has none" : "it has " + known;
    return fmt::format("attribute '{}' is none of {} at this opset ({}){}", name, node.op, has, guess);
}

std::optional<std::string> fitFault(const Node& node, const AttributeEntry& entry)
{
    const auto found = node.attributes.find(entry.name);
    if (found == node.attributes.end()) {
        return entry.isNeeded
                   ? std::optional(fmt::format("attribute '{}' is missing; {} needs it", entry.name, node.op))
                   : std::nullopt;
    }
    const KindWords& given = kKindWords[found->second.index()];
    if (given.word == entry.kind) {
        return std::nullopt;
    }
    if (const auto* flag = std::get_if<std::int64_t>(&found->second); flag != nullptr && entry.kind == "flag") {
        return *flag == 0 || *flag == 1
                   ? std::nullopt
                   : std::optional(fmt::format("attribute '{}' is {}, but must be 0 or 1", entry.name, *flag));
    }
    return fmt::format("attribute '{}' is {}, but must be {}", entry.name, given.inWords, kindInWords(entry.kind));
}

std::optional<std::string> attributeFaultBy(const OperatorSchema& schema, const Node& node)
{
    if (schema.attributes == "*") {
        return std::nullopt;
    }
    std::vector<std::string_view> names;
    auto fault = firstOfWords(schema.attributes, [&](std::string_view word) {
        names.push_back(attributeEntry(word).name);
        return fitFault(node, attributeEntry(word));
    });
    for (const auto& [name, value] : node.attributes) {
        if (!fault && !name.starts_with("__") && std::ranges::find(names, name) == names.end()) {
            return unknownAttribute(node, schema, name);
        }
    }
    return fault;
}

} // namespace

std::span<const OperatorSchema> schemas()
{
    static const std::vector<OperatorSchema> all = joinedSchemas();
    return all;
}

const OperatorSchema* schemaOf(std::string_view domain, std::string_view op, std::int64_t opset)
{
    const auto all = schemas();
    const auto key = std::tuple(domain == "ai.onnx" ? std::string_view{} : domain, op, opset);
    const auto after = std::upper_bound(all.begin(), all.end(), key, [](const auto& wanted, const OperatorSchema& s) {
        return wanted < std::tuple(s.domain, s.op, s.sinceOpset);
    });
    if (after == all.begin()) {
        return nullptr;
    }
    const OperatorSchema& found = *(after - 1);
    return std::tuple(found.domain, found.op) == std::tuple(std::get<0>(key), op) ? &found : nullptr;
}

std::optional<std::string> schemaFault(const Node& node)
{
    const OperatorSchema* schema = schemaOf(node.domain, node.op, node.opset);
    if (schema == nullptr) {
        return std::nullopt;
    }
    for (const auto check : {operandFaultBy, outputFaultBy, attributeFaultBy}) {
        if (auto fault = check(*schema, node)) {
            return fault;
        }
    }
    return std::nullopt;
}

std::optional<std::string> operandFault(const Node& node)
{
    const OperatorSchema* schema = schemaOf(node.domain, node.op, node.opset);
    if (schema == nullptr) {
        const std::string_view domain = node.domain == "ai.onnx" ? std::string_view{} : node.domain;
        const auto all = schemas();
        const auto first = std::ranges::lower_bound(all, std::tuple(domain, std::string_view(node.op)), {},
                                                    [](const auto& one) { return std::tuple(one.domain, one.op); });
        const bool isKnown = first != all.end() && first->domain == domain && first->op == node.op;
        schema = isKnown ? &*first : nullptr;
    }
    if (schema == nullptr) {
        return std::nullopt;
    }
    auto fault = operandFaultBy(*schema, node);
    return fault ? fault : outputFaultBy(*schema, node);
}

namespace
{

/// The node itself, and the graphs inside it.
base::Result<void> expectSchemasOf(const Node& node)
{
    if (auto fault = schemaFault(node)) {
        const std::string domain = node.domain.empty() ? std::string{} : node.domain + '.';
        return base::inputError(std::move(*fault),
                                fmt::format("node '{}' ({}{}, opset {})", node.name, domain, node.op, node.opset));
    }
    for (const auto& [name, value] : node.attributes) {
        if (const auto* inner = std::get_if<graph::Subgraph>(&value)) {
            RETRO_CHECK(expectSchemas(*inner->graph));
        }
    }
    return {};
}

} // namespace

base::Result<void> expectSchemas(const graph::Graph& graph)
{
    for (const Node& node : graph.nodes()) {
        RETRO_CHECK(expectSchemasOf(node));
    }
    return {};
}

} // namespace retro::ops
