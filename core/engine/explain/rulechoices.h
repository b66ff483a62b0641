// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/lrp/rules/rule.h"

#include <map>
#include <string>
#include <vector>

namespace retro::engine
{

/// A rule that a node can have.
struct RuleChoice
{
    std::string name;
    std::string formula;            ///< empty when none is written down
    lrp::RuleParameters parameters; ///< all, with their usual values
    /// The words that a parameter can have, for those that are a choice: "bias" → absorb, zero, spread.
    std::map<std::string, std::vector<std::string>> options = {};
};

/// The rules that are defined for a node of the model, in the order of the documentation; without parameters that do
/// not fit it. Cheap.
[[nodiscard]] std::vector<RuleChoice> ruleChoices(const execute::BoundModel& model, base::NodeId node);

} // namespace retro::engine
