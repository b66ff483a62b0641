// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/otherrule.h"

#include "core/diagnosis/numbertext.h"
#include "core/lrp/composite/ruleoverride.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::diagnosis
{

std::optional<double> lostWith(const Facts& facts, NodeId node, std::string_view rule, event::Cause cause)
{
    if (!facts.sources().makesPasses || !facts.sources().explainAgain || facts.stop().stop_requested()) {
        return std::nullopt;
    }
    lrp::Specification named = lrp::splitSpecification(facts.sources().composite);
    lrp::Matcher matcher;
    matcher.nameGlob = facts.graph().node(node).name;
    named.overrides.insert(named.overrides.begin(), lrp::overrideText(matcher, rule, {}));
    Variation variation;
    variation.composite = lrp::joinSpecification(named);
    base::Result<Pass> made = facts.sources().explainAgain(variation);
    if (!made || made->started == 0) {
        return std::nullopt;
    }
    const double started = made->started;
    Sources sources;
    sources.stop = facts.stop();
    sources.makePass = [pass = std::move(made).value()]() -> base::Result<Pass> { return pass; };
    return std::abs(Facts(std::move(sources)).balance(node).causes[static_cast<std::size_t>(cause)] / started);
}

std::string lostText(double share)
{
    constexpr double kHardlyAny = 1e-3;
    return share < kHardlyAny ? "hardly any" : percentText(share);
}

std::string lostWithText(const Facts& facts, NodeId node, std::string_view rule, event::Cause cause)
{
    const auto lost = lostWith(facts, node, rule, cause);
    return lost ? fmt::format(" With {} here {} of what started would be lost so.", rule, lostText(*lost))
                : std::string();
}

} // namespace retro::diagnosis
