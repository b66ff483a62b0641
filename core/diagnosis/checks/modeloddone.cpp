// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/replacement.h"
#include "core/diagnosis/siblings.h"
#include "core/graph/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

namespace retro::diagnosis
{

namespace
{

/// Nodes of a stack that say one number, beside the one that says another.
constexpr std::size_t kLeastUsualNodes = 3;
constexpr double kOddOneEffect = 0.6;
constexpr double kOddOneBase = 2.2; // where it changes the answer

std::string operandTrait(std::size_t slot) { return fmt::format("operand {}", slot); }

/// What numbers of a node are called, and their texts: real attributes, lone numbers among its operands, and whether
/// pads are as wide before as behind. What layers of a stack may differ in (strides, groups, shapes) is none of them.
std::map<std::string, std::string> traitsOf(const ModelFacts& model, const graph::Node& node)
{
    static constexpr std::array<std::string_view, 9> kArithmetic{
        "Mul", "Div", "Add", "Sub", "Pow", "Clip", "Max", "Min", "LayerNormalization"};
    std::map<std::string, std::string> traits;
    for (const auto& [name, attribute] : node.attributes) {
        if (const auto* number = std::get_if<double>(&attribute)) {
            traits[name] = fmt::format("{:.6g}", *number);
        }
    }
    const std::vector<std::int64_t> pads = graph::intsAttribute(node, "pads");
    const auto half = static_cast<std::ptrdiff_t>(pads.size() / 2);
    if (half > 0) {
        const bool isEven = std::equal(pads.begin(), pads.begin() + half, pads.begin() + half);
        traits["pads"] = isEven ? "as wide before as behind" : fmt::format("{}", fmt::join(pads, ", "));
    }
    for (std::size_t i = 0; std::ranges::find(kArithmetic, node.op) != kArithmetic.end() && i < node.inputs.size();
         ++i) {
        const Tensor constant = model.constantOperand(node, i);
        if (constant.isValid() && constant.size() == 1) {
            traits[operandTrait(i)] = fmt::format("{:.6g}", constant.at(0));
        }
    }
    return traits;
}

/// A node with the trait of another one of its stack.
Replacement withTraitOf(const ModelFacts& model, NodeId id, const graph::Node& sibling, const std::string& trait)
{
    Replacement replacement{id, model.graph().node(id), {}};
    if (const auto attribute = sibling.attributes.find(trait); attribute != sibling.attributes.end()) {
        replacement.node.attributes[trait] = attribute->second;
    }
    for (std::size_t i = 0; i < sibling.inputs.size(); ++i) {
        if (trait == operandTrait(i)) {
            replacement.constants.emplace_back(i, model.constantOperand(sibling, i));
        }
    }
    return replacement;
}

/// One number that all nodes of a stack have.
void findOddTrait(const Facts& facts, const std::vector<NodeId>& stack, const std::string& trait,
                  const std::vector<std::string>& texts, Probe& probe)
{
    const std::optional<std::size_t> odd = oddOneOf(texts, kLeastUsualNodes);
    if (!odd) {
        return;
    }
    const std::string& name = facts.model()->graph().node(stack[*odd]).name;
    const std::string& usual = texts[*odd == 0 ? 1 : 0];
    Finding& finding = probe.note(kOddOneEffect, {PlaceKind::Node, name, facts.nodeOfPass(name)});
    finding.what =
        fmt::format("its {} is {}; that of the {} others like it is {}", trait, texts[*odd], stack.size() - 1, usual);
    finding.means = "Layers of one stack are made alike: this one may have been exported or converted otherwise.";
    finding.remedy = "Compare it with the source of the model";
    finding.numbers = {{"others", static_cast<double>(stack.size() - 1)}};
    finding.action = {"go to node", {{"node", name}}, {}};
    const graph::Node& sibling = facts.model()->graph().node(stack[*odd == 0 ? 1 : 0]);
    raiseByEffect(facts, withTraitOf(*facts.model(), stack[*odd], sibling, trait), kOddOneBase, finding);
}

void findOddNodes(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.model()->graph();
    for (const std::vector<NodeId>& stack : siblingsOf(graph)) {
        if (stack.size() <= kLeastUsualNodes) {
            continue;
        }
        std::vector<std::map<std::string, std::string>> nodes;
        std::set<std::string> traits;
        for (const NodeId id : stack) {
            nodes.push_back(traitsOf(*facts.model(), graph.node(id)));
            for (const auto& [trait, text] : nodes.back()) {
                traits.insert(trait);
            }
        }
        for (const std::string& trait : traits) {
            std::vector<std::string> texts;
            for (const auto& node : nodes) {
                const auto at = node.find(trait);
                texts.insert(texts.end(), at == node.end() ? 0 : 1, at == node.end() ? std::string() : at->second);
            }
            if (texts.size() == nodes.size()) {
                findOddTrait(facts, stack, trait, texts, probe);
            }
        }
        probe.measured(graph.node(stack.front()).name, 0);
    }
}

} // namespace

const Check modelOddOne{
    "model.odd-one",
    "numbers of a node (epsilon, slope, factor, bounds, pads) that all others of its stack have alike",
    0,
    "0",
    Need::Model,
    true,
    findOddNodes};

} // namespace retro::diagnosis
