// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/subject.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::schedule
{

std::string textOf(const Decision& decision)
{
    return decision.iterations ? fmt::format("{} iterations", *decision.iterations) : decision.branch;
}

std::string differenceOf(const std::vector<Decision>& ofPlan, const std::vector<Decision>& ofRun)
{
    const auto find = [](const std::vector<Decision>& among, const std::string& node) {
        const auto at = std::ranges::find(among, node, &Decision::node);
        return at == among.end() ? nullptr : &*at;
    };
    const Decision* planned = nullptr;
    for (const Decision& one : ofPlan) { // a name is behind that of the nodes around it: the shortest is outermost
        const Decision* taken = find(ofRun, one.node);
        const bool isSame = taken != nullptr && *taken == one;
        if (!isSame && (planned == nullptr || one.node.size() < planned->node.size())) {
            planned = &one;
        }
    }
    if (planned != nullptr) {
        const Decision* taken = find(ofRun, planned->node);
        return fmt::format("node '{}': the plan was made for {}, this run {}", planned->node, textOf(*planned),
                           taken == nullptr ? "does not get there" : "takes " + textOf(*taken));
    }
    for (const Decision& taken : ofRun) {
        if (!ofPlan.empty() && find(ofPlan, taken.node) == nullptr) {
            return fmt::format("node '{}': the plan does not get there, this run takes {}", taken.node, textOf(taken));
        }
    }
    return {};
}

} // namespace retro::schedule
