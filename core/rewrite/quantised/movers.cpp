// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/quantised/movers.h"

#include "core/rewrite/attributes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>

namespace retro::rewrite
{

namespace
{

/// Operators that move elements of their first operand.
constexpr std::array<std::string_view, 17> kOfFirst{
    "DepthToSpace", "Expand",  "Flatten",   "Gather",    "GatherElements", "GatherND",
    "Identity",     "MaxPool", "Reshape",   "Slice",     "SpaceToDepth",   "Split",
    "Squeeze",      "Tile",    "Transpose", "Unsqueeze", "GlobalMaxPool"};

bool hasOneResult(const graph::Node& node)
{
    return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [](auto id) { return !id.isValid(); });
}

} // namespace

std::vector<std::size_t> movedOperands(const graph::Node& node)
{
    const bool isWhole = std::ranges::all_of(node.outputs, [](auto id) { return id.isValid(); });
    if (!node.domain.empty() || node.inputs.empty() || !isWhole) {
        return {};
    }
    if (node.op == "Concat") {
        std::vector<std::size_t> all(node.inputs.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        return all;
    }
    if (node.op == "Pad") { // of a pad that repeats the picture, or has a number of its own
        const bool hasNumber = node.inputs.size() > 2 && node.inputs[2].isValid();
        const bool isConstant = attributeOr<std::string>(node, "mode", "constant") == "constant";
        if (isConstant) {
            return hasNumber ? std::vector<std::size_t>{0, 2} : std::vector<std::size_t>{};
        }
        return {0};
    }
    if (node.op == "Resize") {
        return attributeOr<std::string>(node, "mode", "nearest") == "nearest" ? std::vector<std::size_t>{0}
                                                                              : std::vector<std::size_t>{};
    }
    const bool isMover = std::ranges::find(kOfFirst, node.op) != kOfFirst.end();
    return isMover && (node.op == "Split" || hasOneResult(node)) ? std::vector<std::size_t>{0}
                                                                 : std::vector<std::size_t>{};
}

} // namespace retro::rewrite
