// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/compared.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Base and e of diff.rewired (section 4.8).
constexpr double kRewiredBase = 2.7;
constexpr double kRewiredEffect = 0.8;

void findRewired(const Facts& facts, Probe& probe)
{
    const Compared* compared = facts.compared();
    if (compared == nullptr || !compared->isComparable()) {
        return probe.notRun("the two have no common structure");
    }
    probe.measured(facts.sources().modelName, static_cast<double>(compared->rewired.size()));
    for (const RewiredOperand& operand : compared->rewired) {
        const graph::Node& node = compared->own->graph().node(operand.node);
        Finding& finding =
            probe.difference(kRewiredBase, kRewiredEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        finding.what = fmt::format("reads {} as {}; in the reference it reads {}", operand.own,
                                   roleOf(node, operand.slot), operand.other);
        finding.means = "The model is wired in another way.";
        finding.remedy = "Look at both graphs side by side";
        finding.numbers = {{"operands", 1}};
        finding.chart = rowsOf(fmt::format("Where its {} comes from", roleOf(node, operand.slot)),
                               {{"here", operand.own, node.name}, {"reference", operand.other, node.name}});
        finding.action = {"show side by side", {{"node", node.name}}, {}};
    }
}

} // namespace

const Check diffRewired{
    "diff.rewired", "operands that are another value than in the reference", 0, "0", Need::Reference, true,
    findRewired};

} // namespace retro::diagnosis
