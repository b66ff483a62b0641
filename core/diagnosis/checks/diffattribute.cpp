// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/compared.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Base and e of diff.attribute and diff.rewired (section 4.8).
constexpr double kAttributeBase = 2.7;
constexpr double kAttributeEffect = 0.8;

void findAttributes(const Facts& facts, Probe& probe)
{
    const Compared* compared = facts.compared();
    if (compared == nullptr || !compared->isComparable()) {
        return probe.notRun("the two have no common structure");
    }
    probe.measured(facts.sources().modelName, static_cast<double>(compared->attributes.size()));
    for (const AttributeDifference& difference : compared->attributes) {
        const graph::Node& node = compared->own->graph().node(difference.node);
        Finding& finding = probe.difference(kAttributeBase, kAttributeEffect,
                                            {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        finding.what = difference.own == difference.other
                           ? fmt::format("its attribute {} has other elements than in the reference", difference.name)
                           : fmt::format("its attribute {} is {}, in the reference {}", difference.name, difference.own,
                                         difference.other);
        finding.means = "The node computes something else than its partner.";
        finding.remedy = "Export it as in the reference";
        finding.numbers = {{"attributes", 1}};
        finding.chart =
            rowsOf("Attribute " + difference.name, {{"here", difference.own}, {"reference", difference.other}});
        finding.action = {"go to node", {{"node", node.name}, {"attribute", difference.name}}, {}};
    }
}

} // namespace

const Check diffAttribute{
    "diff.attribute", "attributes that differ at nodes that both models have", 0, "0", Need::Reference, true,
    findAttributes};

} // namespace retro::diagnosis
