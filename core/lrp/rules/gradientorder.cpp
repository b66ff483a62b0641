// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/gradientorder.h"

#include "core/lrp/rules/rules.h"

#include <algorithm>

namespace retro::lrp
{

EdgeOrder edgeOrder(const RuleAssignment& rules)
{
    const std::string plain = gradientRule()->text();
    const auto isOther = [&](const AssignedRule& one) { return one.rule != nullptr && one.rule->text() != plain; };
    return std::ranges::any_of(rules, isOther) ? EdgeOrder::Met : EdgeOrder::Tape;
}

} // namespace retro::lrp
