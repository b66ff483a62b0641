// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

constexpr double kLayerBase = 2.8; // before that most inputs get one class, which follows from it

void findLayer(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    const Answers* best = nullptr;
    RightGain most;
    for (const Answers& answers : all.otherwise) {
        if (answers.layer.empty()) {
            continue;
        }
        const RightGain gain = all.gainOf(answers);
        probe.measured(answers.layer, gain.share);
        if (best == nullptr || gain.share > most.share) {
            best = &answers;
            most = gain;
        }
    }
    if (best == nullptr) {
        return probe.notRun("enough inputs are right, or no layer could be tried");
    }
    if (!most.isClear()) {
        return;
    }
    Finding& finding =
        probe.warning(kLayerBase, most.share, {PlaceKind::Node, best->layer, facts.nodeOfPass(best->layer)});
    finding.what = fmt::format("with its channels at the mean and deviation that those of other layers have, {} of {} "
                               "inputs get their class; as given, {}",
                               most.after, best->best.size(), most.before);
    finding.means = "A normalisation was merged into it whose running mean and variance are not those of the training: "
                    "lost, or never loaded.";
    finding.remedy = "Load the statistics of its BatchNormalization again and export the model anew";
    finding.numbers = {{"share_gained", most.share}, {"right_otherwise", static_cast<double>(most.after)}};
    finding.threshold = kMostOfGain;
    finding.action = {"go to node", {{"node", best->layer}}, {}};
    finding.chart.kind = ChartKind::Bars;
    finding.chart.title = "Inputs that get their class, by the layer that is given usual statistics";
    for (const Answers& answers : all.otherwise) {
        if (!answers.layer.empty()) {
            finding.chart.marked = &answers == best ? std::vector{finding.chart.names.size()} : finding.chart.marked;
            finding.chart.names.push_back(answers.layer);
            finding.chart.amounts.push_back(static_cast<double>(answers.right(all.truth)));
        }
    }
}

} // namespace

const Check dataLayer{"data.layer",
                      "share of labelled inputs that get their class only when one layer has the mean and deviation of "
                      "the others, where few are right",
                      kMostOfGain,
                      "not tried: most inputs are right",
                      Need::Labels,
                      true,
                      findLayer};

} // namespace retro::diagnosis
