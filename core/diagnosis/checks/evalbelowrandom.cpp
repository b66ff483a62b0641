// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/flipping.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Section 4.9, eval.below-random: the area between least and most relevant first ≤ 0, and most relevant first falls
/// slower than random. A warning together with any warning of `flow` (ranking.cpp).
constexpr double kLeastArea = 0;
constexpr double kBelowRandomEffect = 0.5;

void findBelowRandom(const Facts& facts, Probe& probe)
{
    std::string why;
    const std::optional<FlippingCurves> curves = flippingCurves(facts, why);
    if (!curves) {
        return probe.notRun(why);
    }
    const std::string& input = facts.graph().value(curves->input).name;
    const double area = curves->leastFirst - curves->mostFirst;
    probe.measured(input, -area);
    if (!(area <= kLeastArea && curves->mostFirst > curves->random)) {
        return;
    }
    Finding& finding = probe.note(kBelowRandomEffect, facts.place(curves->input));
    finding.what =
        fmt::format("the score falls slower when the most relevant elements go first than at random: mean {} "
                    "against {} (least relevant first {})",
                    numberText(curves->mostFirst), numberText(curves->random), numberText(curves->leastFirst));
    finding.means = "What the heatmap points at matters less to the model than chance would have it.";
    finding.remedy = "Look at the other findings first";
    finding.numbers = {{"area", area}, {"most_first", curves->mostFirst}, {"random", curves->random}};
    finding.threshold = kLeastArea;
    finding.chart =
        barsOf("Mean score while elements are replaced", {curves->mostFirst, curves->random, curves->leastFirst}, {0});
    finding.chart.names = {"most relevant first", "by chance", "least relevant first"};
    finding.action = {"go to node", {{"input", input}}, {}};
}

} // namespace

const Check evalBelowRandom{"eval.below-random",
                            "−(area between least and most relevant elements replaced first), of scores as shares",
                            kLeastArea,
                            "1 of 12 trained models is above",
                            Need::Evaluation | Need::Relevance | Need::Forward | Need::Inputs,
                            false,
                            findBelowRandom};

} // namespace retro::diagnosis
