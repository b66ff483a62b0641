// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/box.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/otherrule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace retro::diagnosis
{

namespace
{

/// Of what started, what the rule of one node loses to its stabiliser: > 0.4, an epsilon that is large beside what it
/// stabilises; and how much less of it another rule has to lose to be named.
constexpr double kMostStabilised = 0.4;
constexpr double kLeastSaved = 0.15;
constexpr double kLossBase = 2.2;
/// Rules that are tried in its place.
constexpr std::array<std::string_view, 2> kInstead{"epsilon", "z-plus"};

double stabilisedAt(const Facts& facts, NodeId node)
{
    constexpr auto kCause = static_cast<std::size_t>(event::Cause::Stabiliser);
    return std::abs(facts.balance(node).causes[kCause] / facts.pass()->started);
}

void findLoss(const Facts& facts, Probe& probe)
{
    if (facts.pass()->started == 0) {
        return probe.notRun("no relevance started");
    }
    NodeId node;
    double lost = 0;
    for (std::size_t i = 0; i < facts.graph().nodeCount(); ++i) {
        const double share = stabilisedAt(facts, NodeId(i));
        probe.measured(facts.graph().labelOf(NodeId(i)), share);
        node = share > lost ? NodeId(i) : node;
        lost = std::max(lost, share);
    }
    if (!(lost > kMostStabilised)) {
        return;
    }
    std::string_view best;
    double least = lost - kLeastSaved;
    for (const std::string_view rule : kInstead) {
        if (const auto with = lostWith(facts, node, rule, event::Cause::Stabiliser); with && *with < least) {
            least = *with;
            best = rule;
        }
    }
    if (best.empty()) {
        return;
    }
    const std::string& name = facts.graph().node(node).name;
    Finding& finding = probe.warning(kLossBase, std::min(0.99, lost), facts.place(node));
    finding.what =
        fmt::format("its rule ({}) loses {} of what started to its stabiliser; {} in its place would lose {}",
                    shortRule(facts.pass()->rules[node.index()].rule), percentText(lost), best, lostText(least));
    finding.means = "Its epsilon is large beside the sums that it stabilises: the heatmap lacks that part.";
    finding.remedy = fmt::format("Use {} here", best);
    finding.numbers = {{"share_lost", lost}, {"share_lost_otherwise", least}};
    finding.threshold = kMostStabilised;
    finding.action = {"change rule", {{"node", name}, {"rule", std::string(best)}}, ruleOption(name, best)};
}

} // namespace

const Check ruleLoss{
    "rule.loss",
    "of what started, what the rule of one node loses to its stabiliser, where another rule loses less",
    kMostStabilised,
    "0",
    Need::Conserved,
    false,
    findLoss};

} // namespace retro::diagnosis
