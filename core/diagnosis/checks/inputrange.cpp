// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/imagelayout.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::diagnosis
{

namespace
{

/// How far outside of the card's range values may lie, in widths of it (section 4.2, input.range (a): > 1), and e.
constexpr double kMostBeyondRange = 1;
constexpr double kRangeEffect = 0.95;
/// Of values in 0 … 1 read as normalised: contrast below, and darkest pixel above, of the range (section 4.2,
/// input.range (b)).
constexpr double kLeastContrast = 0.3;
constexpr double kMostDark = 0.4;
/// Contrast of any values below this part of the range: they were scaled once too often.
constexpr double kFlatContrast = 0.1;

std::string cardOption(const formats::ModelCard& card)
{
    const auto list = [](const std::vector<double>& numbers) {
        std::string text;
        for (const double number : numbers) {
            text += fmt::format("{}{:g}", text.empty() ? "" : ",", number);
        }
        return text;
    };
    return card.mean.empty() ? std::string() : fmt::format("--mean {} --std {}", list(card.mean), list(card.deviation));
}

void sayRange(Finding& finding, const Facts& facts, const CardRange& range, const Tensor& input)
{
    finding.chart = histogramOf("Its elements, and the ends of what the card maps pixels to", numbersIn(input),
                                {range.least, range.largest}, {range.least, range.largest});
    finding.means = "Scale, mean and deviation of the card have not been applied.";
    finding.remedy = "Give the picture itself (.png), or apply the card to the array";
    finding.action = {"apply the card", {{"input", finding.place.name}}, {}};
    finding.action.arguments["option"] = cardOption(*facts.card());
}

void findRange(const Facts& facts, Probe& probe)
{
    const auto range = cardRangeOf(*facts.card());
    const graph::Graph& graph = facts.model() != nullptr ? facts.model()->graph() : facts.graph();
    const std::size_t at = inputOfCard(graph, *facts.card());
    if (!range || at >= facts.inputs().size() || !(range->width() > 0)) {
        return probe.notRun("the card is of no picture");
    }
    const std::string& name = graph.value(graph.inputs()[at]).name;
    const Statistics of = statisticsOf(facts.inputs()[at]);
    const double beyond = std::max({0.0, range->least - of.least, of.largest - range->largest}) / range->width();
    probe.measured(name, beyond);
    const Place place{PlaceKind::Input, name, {}, {}};
    if (beyond > kMostBeyondRange) {
        Finding& finding = probe.error(kRangeEffect, place);
        finding.what = fmt::format("lies in {} … {}, the card maps pixels to {} … {}", numberText(of.least),
                                   numberText(of.largest), numberText(range->least), numberText(range->largest));
        finding.numbers = {{"beyond_range_in_range_widths", beyond}};
        finding.threshold = kMostBeyondRange;
        sayRange(finding, facts, *range, facts.inputs()[at]);
        return;
    }
    const double pixels = range->white - range->black;
    const double contrast = (of.largest - of.least) * range->deviation / pixels;
    const double darkest = (of.least * range->deviation + range->mean - range->black) / pixels;
    const bool isUnscaled = of.count > 0 && of.least >= 0 && of.largest <= 1 && range->least < 0;
    const bool isBright = isUnscaled && contrast < kLeastContrast && darkest > kMostDark;
    if (isBright || (of.count > 1 && contrast < kFlatContrast)) {
        Finding& finding = probe.warning(2, 1 - contrast, place);
        finding.what = fmt::format("lies in {} … {}, the card maps pixels to {} … {}: read so, its contrast is {} of "
                                   "the range{}",
                                   numberText(of.least), numberText(of.largest), numberText(range->least),
                                   numberText(range->largest), percentText(contrast),
                                   isBright ? " and nothing in it is dark" : "");
        finding.numbers = {{"contrast", contrast}, {"darkest", darkest}};
        finding.threshold = kLeastContrast;
        sayRange(finding, facts, *range, facts.inputs()[at]);
        if (!isBright) {
            finding.means = "A picture is hardly ever so flat: scale, mean and deviation were applied twice, or others "
                            "than those of the card.";
        }
    }
}

} // namespace

const Check inputRange{"input.range",
                       "how far values lie outside of what the card maps pixels to, in widths of that range",
                       kMostBeyondRange,
                       "0; read as normalised, contrast 0.81 and more, darkest pixel at up to 0.08",
                       Need::Card | Need::Inputs,
                       true,
                       findRange};

} // namespace retro::diagnosis
