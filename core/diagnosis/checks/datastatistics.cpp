// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Of a normalisation, over a folder: median over its channels of |mean − stored mean|/stored deviation, and of the
/// deviation beside the stored one, whichever is larger: many inputs are near what the training had.
constexpr double kMostDrift = 1.5;
constexpr double kMostSpread = 3;
/// Share of what a quantiser reads over a folder that lies beyond the ends of its type.
constexpr double kMostBeyond = 0.05;
constexpr double kStatisticsBase = 2.3;
constexpr double kStatisticsEffect = 0.7;

/// 1 and more: beyond the limits.
double sizeOf(const NormalisedDistance& distance)
{
    return std::max(distance.drift / kMostDrift, std::abs(std::log(distance.spread)) / std::log(kMostSpread));
}

NormalisedDistance distanceOf(const ModelFacts& model, const Watched& watched)
{
    const auto& nodes = model.graph().nodes();
    const auto node = std::ranges::find(nodes, watched.node, &graph::Node::name);
    return node == nodes.end()
               ? NormalisedDistance()
               : distanceOf(watched, *node, model.constantOperand(*node, 3), model.constantOperand(*node, 4));
}

/// `before` names a normalisation whose statistics fit; empty where there is none.
void reportNormalisation(const Facts& facts, const Watched& watched, const NormalisedDistance& distance,
                         const std::string& before, Probe& probe)
{
    const Population& all = *facts.sources().population;
    Finding& finding = probe.warning(kStatisticsBase, kStatisticsEffect,
                                     {PlaceKind::Node, watched.node, facts.nodeOfPass(watched.node)});
    finding.what =
        fmt::format("its stored mean and variance are not those of {} inputs: means lie {} stored deviations "
                    "away, deviations are {} times the stored ones (medians of its channels)",
                    all.watchedSamples, numberText(distance.drift), numberText(distance.spread));
    finding.means = before.empty()
                        ? "Either the model was trained on other numbers than these inputs are, or its statistics were "
                          "never loaded."
                        : fmt::format("What {} reads is as in the training, so it is not the inputs: the statistics of "
                                      "this BatchNormalization were lost or replaced, or a layer between the two was.",
                                      before);
    finding.remedy = before.empty() ? "Look at how inputs become numbers, and at the mean and variance of this node"
                                    : "Load mean and variance of this node again from the checkpoint";
    finding.numbers = {{"drift_in_deviations", distance.drift}, {"deviation_of_stored", distance.spread}};
    finding.threshold = kMostDrift;
    finding.action = {"go to node", {{"node", watched.node}}, {}};
    finding.chart = barsOf("Stored deviations between its means and the stored ones, by channel", distance.drifts, {});
    finding.chart.limits = {kMostDrift};
}

void reportQuantiser(const Facts& facts, const Watched& watched, double beyond, Probe& probe)
{
    Finding& finding = probe.warning(2, beyond, {PlaceKind::Node, watched.node, facts.nodeOfPass(watched.node)});
    finding.what =
        fmt::format("{} of what it reads over {} inputs lies beyond what its type holds ({} … {})", percentText(beyond),
                    facts.sources().population->watchedSamples, numberText(watched.least), numberText(watched.most));
    finding.means = "It cuts off what is larger; no relevance goes through there.";
    finding.remedy = "Calibrate its scale again, on inputs like these";
    finding.numbers = {{"share_beyond", beyond}};
    finding.threshold = kMostBeyond;
    finding.action = {"go to node", {{"node", watched.node}}, {}};
}

/// Pictures that the card's mean and std leave far from 0 and 1, as pictures of the training were.
void reportPrepared(const Facts& facts, const Watched& watched, Probe& probe)
{
    std::vector<double> means;
    std::vector<double> deviations;
    for (const ChannelSums& channel : watched.channels) {
        means.push_back(std::abs(channel.mean()));
        deviations.push_back(channel.deviation());
    }
    const NormalisedDistance distance{median(means), median(deviations), means, deviations};
    probe.measured(watched.node, sizeOf(distance) * kMostDrift);
    if (!(sizeOf(distance) > 1)) {
        return;
    }
    const std::size_t samples = facts.sources().population->watchedSamples;
    Finding& finding = probe.warning(kStatisticsBase, kStatisticsEffect, {PlaceKind::Input, watched.node, {}, {}});
    finding.what =
        fmt::format("{} pictures, as the card prepares them, have a mean of {} and a deviation of {} (medians "
                    "of the channels); of the training they had 0 and 1",
                    samples, numberText(distance.drift), numberText(distance.spread));
    finding.means = "Its mean and std are those of other pictures, or in other units than its pixels.";
    finding.remedy = "Look at scale, mean and std of the card";
    finding.numbers = {{"mean", distance.drift}, {"deviation", distance.spread}};
    finding.threshold = kMostDrift;
    finding.action = {"apply the card", {{"node", watched.node}}, {}};
}

double beyondOf(const Watched& watched)
{
    double beyond = 0;
    double count = 0;
    for (const ChannelSums& channel : watched.channels) {
        beyond += static_cast<double>(channel.beyond);
        count += static_cast<double>(channel.count);
    }
    return count > 0 ? beyond / count : 0;
}

void findStatistics(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    if (all.watchedSamples < kLeastOfFolder) {
        return probe.notRun("there are too few inputs");
    }
    std::string before;  // a normalisation whose statistics fit
    bool isSaid = false; // what is behind the first one drifts with it
    for (const Watched& watched : all.watched) {
        if (watched.as == WatchedAs::Normalised) {
            const NormalisedDistance distance = distanceOf(*all.model, watched);
            probe.measured(watched.node, sizeOf(distance) * kMostDrift);
            if (!isSaid && sizeOf(distance) > 1) {
                isSaid = true;
                reportNormalisation(facts, watched, distance, before, probe);
            }
            before = watched.node;
        } else if (watched.as == WatchedAs::Prepared) {
            reportPrepared(facts, watched, probe);
        } else if (const double beyond = watched.as == WatchedAs::Quantised ? beyondOf(watched) : 0;
                   beyond > kMostBeyond) {
            reportQuantiser(facts, watched, beyond, probe);
        }
    }
}

} // namespace

const Check dataStatistics{"data.statistics",
                           "over a folder, stored deviations between the means that a BatchNormalization reads and the "
                           "stored ones (median of its channels), or as large a ratio of deviations",
                           kMostDrift,
                           "up to 0.3 (trained)",
                           Need::Folder,
                           true,
                           findStatistics};

} // namespace retro::diagnosis
