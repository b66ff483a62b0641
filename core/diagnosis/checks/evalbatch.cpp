// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/samplechecks.h"
#include "core/diagnosis/ways.h"

#include <fmt/format.h>

#include <array>

namespace retro::diagnosis
{

namespace
{

/// Section 4.9, eval.batch: what holds for every input; e. What it raises is in ranking.cpp.
constexpr double kInEverySample = 1;
constexpr double kBatchEffect = 0.3;

/// A statistic of section 4.4 that is asked of each sample, and what it is called.
struct SampleStatistic
{
    SampleCheck (*check)(const Facts&, NodeId);
    std::string_view word;
};
constexpr std::array kStatistics{SampleStatistic{deadCheck, "dead"}, SampleStatistic{saturatedCheck, "saturated"},
                                 SampleStatistic{clippedCheck, "cut off at its bound"}};

void findBatch(const Facts& facts, Probe& probe)
{
    const std::size_t samples = facts.pass()->targetIndex.size();
    if (samples < 2) {
        return probe.notRun("there is one sample: give a batch");
    }
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount() && !facts.stop().stop_requested(); ++i) {
        const NodeId node(i);
        for (const SampleStatistic& statistic : kStatistics) {
            const SampleCheck check = statistic.check(facts, node);
            const auto count =
                check ? samplesThatHold(facts, facts.value(graph.node(node).outputs.front()), check) : std::nullopt;
            if (!count) {
                continue;
            }
            const double share = static_cast<double>(*count) / static_cast<double>(samples);
            probe.measured(graph.labelOf(node), share);
            if (share < kInEverySample) {
                continue;
            }
            Finding& finding = probe.note(kBatchEffect, facts.place(node));
            finding.what = fmt::format("is {} for each of {} samples", statistic.word, samples);
            finding.means = "So it is not the input that makes it, but the model.";
            finding.numbers = {{"share_of_samples", share}, {"samples", static_cast<double>(samples)}};
            finding.threshold = kInEverySample;
            finding.action = {"go to node", {{"node", graph.labelOf(node)}}, {}};
        }
    }
}

} // namespace

const Check evalBatch{"eval.batch",   "share of the samples of a batch for which a node is dead, saturated or clipped",
                      kInEverySample, "below 1",
                      Need::Forward,  false,
                      findBatch};

} // namespace retro::diagnosis
