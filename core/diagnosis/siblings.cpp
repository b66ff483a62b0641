// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/siblings.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>

namespace retro::diagnosis
{

namespace
{

bool isDigit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

/// True where a part of the name before its last one has a number.
bool namesBlock(const std::string& name)
{
    const std::size_t last = name.find_last_of("/.");
    return last != std::string::npos &&
           std::any_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(last), isDigit);
}

} // namespace

std::string stackName(const std::string& name)
{
    std::string stack;
    std::ranges::copy_if(name, std::back_inserter(stack), [](char letter) { return !isDigit(letter); });
    while (stack.ends_with('_') || stack.ends_with('.')) {
        stack.pop_back();
    }
    return stack;
}

std::pair<std::string, std::string> blocksOf(const std::string& first, const std::string& second)
{
    const auto differ = std::ranges::mismatch(first, second);
    const auto at = static_cast<std::size_t>(differ.in1 - first.begin());
    return {first.substr(0, first.find_first_of("/.", at)), second.substr(0, second.find_first_of("/.", at))};
}

std::vector<std::vector<NodeId>> siblingsOf(const graph::Graph& graph)
{
    std::map<std::string, std::vector<NodeId>> stacks;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const graph::Node& node = graph.node(NodeId(i));
        if (namesBlock(node.name)) {
            stacks[stackName(node.name) + " " + node.op].push_back(NodeId(i));
        }
    }
    std::vector<std::vector<NodeId>> siblings;
    for (auto& [name, nodes] : stacks) {
        if (nodes.size() > 1) {
            siblings.push_back(std::move(nodes));
        }
    }
    return siblings;
}

std::optional<std::size_t> oddOneOf(const std::vector<std::string>& texts, std::size_t least)
{
    if (texts.size() < least + 1) {
        return std::nullopt;
    }
    // Of three and more with one odd, two of the first three are the usual ones.
    const std::string& usual = texts[0] == texts[1] || texts[0] == texts[2] ? texts[0] : texts[1];
    const auto isOdd = [&usual](const std::string& text) { return text != usual; };
    return std::ranges::count_if(texts, isOdd) == 1
               ? std::optional(static_cast<std::size_t>(std::ranges::find_if(texts, isOdd) - texts.begin()))
               : std::nullopt;
}

} // namespace retro::diagnosis
