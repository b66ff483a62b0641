// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/wayofinput.h"

namespace retro::diagnosis
{

namespace
{

/// e of flow.unconnected (section 4.6): no path from an input to the target.
constexpr double kUnconnectedEffect = 0.8;

void findUnconnected(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    if (!facts.pass()->target.isValid()) {
        return probe.notRun("the target is not known");
    }
    for (const ValueId input : graph.inputs()) {
        if (!carriesRelevance(facts, input)) {
            continue;
        }
        const bool isConnected = facts.leadsToTarget()[graph.inputNode(input).index()];
        probe.measured(graph.value(input).name, isConnected ? 0 : 1);
        if (isConnected) {
            continue;
        }
        Finding& finding = probe.warning(2, kUnconnectedEffect, facts.place(input));
        finding.what = "is not connected with the target " + graph.value(facts.pass()->target).name;
        finding.means = "Nothing of it reaches the target, so it cannot get relevance.";
        finding.numbers = {{"unconnected_inputs", 1}};
        finding.remedy = "Choose a target that is computed from it: --target";
        finding.action = {"choose target", {{"input", graph.value(input).name}}, {}};
    }
}

} // namespace

const Check flowUnconnected{
    "flow.unconnected", "no path leads from an input to the target (1: none)", 0, "0", Need::Pass, true,
    findUnconnected};

} // namespace retro::diagnosis
