// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/box.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/imagelayout.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::diagnosis
{

namespace
{

/// Share of what a z-box reads that lies outside of it, and the least part of its width that is used (section 4.7,
/// rule.box: > 1 %, < 0.1); base of the score.
constexpr double kMostOutside = 0.01;
constexpr double kLeastFill = 0.1;
constexpr double kBoxBase = 2.6;
/// Rounding of bounds that were taken from the data themselves.
constexpr double kBoundTolerance = 1e-5;

struct BoxUse
{
    double outside = 0; ///< share of the elements
    double fill = 1;    ///< range of the elements / width of the box
    double least = 0;
    double largest = 0;
};

BoxUse useOf(const Box& box, const Tensor& x)
{
    BoxUse use;
    use.least = std::numeric_limits<double>::infinity();
    use.largest = -use.least;
    const std::vector<double> numbers = numbersIn(x);
    const std::int64_t channels = x.rank() > 1 ? x.shape()[1] : 1;
    const std::int64_t inner = x.rank() > 1 ? x.size() / std::max<std::int64_t>(1, x.shape()[0] * channels) : x.size();
    std::size_t outside = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto channel =
            static_cast<std::size_t>(static_cast<std::int64_t>(i) / std::max<std::int64_t>(1, inner) % channels);
        const double low = box.lowOf(channel);
        const double high = box.highOf(channel);
        const double slack = kBoundTolerance * std::max({std::abs(low), std::abs(high), high - low});
        outside += numbers[i] < low - slack || numbers[i] > high + slack ? 1 : 0;
        use.least = std::min(use.least, numbers[i]);
        use.largest = std::max(use.largest, numbers[i]);
    }
    const double width = box.largest() - box.least();
    use.outside = numbers.empty() ? 0 : static_cast<double>(outside) / static_cast<double>(numbers.size());
    use.fill = width > 0 && !numbers.empty() ? (use.largest - use.least) / width : 1;
    return use;
}

std::string boxOption(const Facts& facts, const std::string& node, const BoxUse& use)
{
    const auto range = facts.card() != nullptr ? cardRangeOf(*facts.card()) : std::nullopt;
    const double low = range && range->least <= use.least ? range->least : use.least;
    const double high = range && range->largest >= use.largest ? range->largest : use.largest;
    return ruleOption(node, "z-box", {{"low", low}, {"high", high}});
}

void findBoxes(const Facts& facts, Probe& probe)
{
    const Pass& pass = *facts.pass();
    for (std::size_t i = 0; i < pass.rules.size(); ++i) {
        const auto box = boxOf(pass.rules[i].rule);
        const graph::Node& node = facts.graph().node(NodeId(i));
        const Tensor x = box && !node.inputs.empty() ? facts.value(node.inputs.front()) : Tensor();
        if (!x.isValid()) {
            continue;
        }
        const BoxUse use = useOf(*box, x);
        const double effect = std::max(use.outside, 1 - use.fill);
        probe.measured(node.name, use.outside);
        if (!(use.outside > kMostOutside || use.fill < kLeastFill)) {
            continue;
        }
        Finding& finding = probe.warning(kBoxBase, 0.4 + 0.5 * effect, facts.place(NodeId(i)));
        const std::string bounds = fmt::format("{} … {}", numberText(box->least()), numberText(box->largest()));
        const std::string range = fmt::format("{} … {}", numberText(use.least), numberText(use.largest));
        finding.what = use.outside > kMostOutside
                           ? fmt::format("z-box: {} of what it reads ({}) lies outside of its bounds {}",
                                         percentText(use.outside), range, bounds)
                           : fmt::format("z-box: what it reads ({}) fills {} of its bounds {}", range,
                                         percentText(use.fill), bounds);
        finding.means = "The heatmap shows the distance to the bounds rather than the input.";
        finding.remedy = "Take the bounds from the data or the card";
        finding.numbers = {{"share_outside", use.outside}, {"fill", use.fill}};
        finding.threshold = kMostOutside;
        finding.chart = histogramOf("What it reads, and the bounds of the box", numbersIn(x),
                                    {box->least(), box->largest()}, {box->least(), box->largest()});
        finding.action = {"change rule", {{"node", node.name}, {"rule", "z-box"}}, boxOption(facts, node.name, use)};
    }
}

} // namespace

const Check ruleBox{"rule.box",
                    "share of the elements that a z-box reads outside of its bounds",
                    kMostOutside,
                    "0, and its bounds filled by more than a tenth",
                    Need::Relevance | Need::Forward,
                    true,
                    findBoxes};

} // namespace retro::diagnosis
