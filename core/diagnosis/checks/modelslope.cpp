// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/graph/attributes.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Slope of a LeakyRelu (section 4.1, model.slope: ≥ 0.5 or < 0), and e.
constexpr double kLargestSlope = 0.5;
constexpr double kSlopeEffect = 0.3;
constexpr double kUsualSlope = 0.01; // of ONNX

void findSlopes(const Facts& facts, Probe& probe)
{
    for (const graph::Node& node : facts.model()->graph().nodes()) {
        if (node.op != "LeakyRelu" || !node.domain.empty()) {
            continue;
        }
        const double slope = graph::floatAttribute(node, "alpha", kUsualSlope);
        probe.measured(node.name, slope);
        if (!(slope >= kLargestSlope || slope < 0)) {
            continue;
        }
        Finding& finding = probe.note(kSlopeEffect, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        finding.what = fmt::format("slope {} below 0", numberText(slope));
        finding.means = slope < 0 ? "Below 0 its result rises where its input falls."
                                  : "That is nearly a straight line, which hardly tells anything apart.";
        finding.remedy = "Look whether the slope was exported as it was trained";
        finding.numbers = {{"slope", slope}};
        finding.threshold = kLargestSlope;
        finding.action = {"go to node", {{"node", node.name}}, {}};
    }
}

} // namespace

const Check modelSlope{"model.slope", "slope of a LeakyRelu (0.5 and more, or below 0)",
                       kLargestSlope, "0.01 … 0.4 (trained), 0.1 (random weights)",
                       Need::Model,   true,
                       findSlopes};

} // namespace retro::diagnosis
