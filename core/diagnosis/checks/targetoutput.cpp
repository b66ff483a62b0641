// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::diagnosis
{

namespace
{

/// Layers with weights behind the deepest output of the same shape over those behind the explained one (section 4.3,
/// target.output: ≥ 2); e of the warning and of the note.
constexpr double kLeastDepthRatio = 2;
constexpr double kOutputEffect = 0.7;
constexpr double kOutputNoteEffect = 0.2;

std::size_t layersBehind(const Facts& facts, ValueId output)
{
    const std::vector<bool> isAncestor = ancestorsOf(facts.graph(), output);
    std::size_t layers = 0;
    for (std::size_t i = 0; i < facts.graph().nodeCount(); ++i) {
        layers += isAncestor[i] && facts.isKind(NodeId(i), ops::StructureKind::LinearMap) ? 1 : 0;
    }
    return layers;
}

void findOutput(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    const ValueId target = facts.pass()->target;
    const bool isOutput = std::ranges::find(graph.outputs(), target) != graph.outputs().end();
    if (facts.sources().hasOwnTarget || !isOutput || graph.outputs().size() < 2) {
        return;
    }
    const std::size_t own = layersBehind(facts, target);
    ValueId deepest = target;
    std::size_t most = own;
    for (const ValueId output : graph.outputs()) {
        const std::size_t layers = facts.shape(output) == facts.shape(target) ? layersBehind(facts, output) : 0;
        if (layers > most) {
            deepest = output;
            most = layers;
        }
    }
    const double ratio = static_cast<double>(most) / static_cast<double>(std::max<std::size_t>(1, own));
    probe.measured(graph.value(target).name, ratio);
    if (deepest == target) {
        return;
    }
    const std::string& name = graph.value(deepest).name;
    Finding& finding = ratio >= kLeastDepthRatio ? probe.warning(2, kOutputEffect, facts.place(target))
                                                 : probe.note(kOutputNoteEffect, facts.place(target));
    finding.what = fmt::format("is one of {} outputs, behind {} layers with weights; {} of the same shape is behind {}",
                               graph.outputs().size(), own, name, most);
    finding.means = "Without a target the first output is explained, and this may be a side output.";
    finding.remedy = "Choose the output that predicts";
    finding.numbers = {{"layers_of_deepest_over_own", ratio}};
    finding.threshold = kLeastDepthRatio;
    finding.action = {"choose target", {{"target", name}}, "--target " + name};
}

} // namespace

const Check targetOutput{"target.output",
                         "layers with weights behind the deepest output of the same shape over those behind the "
                         "explained one, where nobody chose it",
                         kLeastDepthRatio,
                         "1",
                         Need::Pass,
                         true,
                         findOutput};

} // namespace retro::diagnosis
