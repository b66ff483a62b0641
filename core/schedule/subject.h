// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace retro::schedule
{

/// Which way control flow took at a node.
struct Decision
{
    std::string node;                       ///< as it is called in the graph that is written out
    std::string branch;                     ///< of an If: "then_branch" or "else_branch"
    std::optional<std::int64_t> iterations; ///< of a Loop or Scan
    bool operator==(const Decision&) const = default;
};

/// "then_branch", "12 iterations".
[[nodiscard]] std::string textOf(const Decision& decision);

/// What a plan was made for, in names; everything is empty where nobody said it.
struct Subject
{
    std::string half;                                        ///< "forward", "gradient" or "relevance"
    std::string model;                                       ///< file name
    std::vector<std::string> targets;                        ///< values that the second half starts at
    std::string start;                                       ///< of relevance, as --start
    std::string composite;                                   ///< of relevance: the composite as JSON text
    std::vector<std::string> conditions;                     ///< of relevance, as --condition
    std::vector<std::string> from;                           ///< inputs that are wanted; none: every one
    bool hasParameters = false;                              ///< gradients of parameters, too
    std::map<std::string, std::vector<std::int64_t>> shapes; ///< extents per input
    std::vector<Decision> decisions;                         ///< in the order in which they were taken
    std::string order;                                       ///< of the forward operators
    bool operator==(const Subject&) const = default;
};

/// The first decision of a plan that this run does not share, in words: node and both decisions. Empty where none
/// differs.
[[nodiscard]] std::string differenceOf(const std::vector<Decision>& ofPlan, const std::vector<Decision>& ofRun);

} // namespace retro::schedule
