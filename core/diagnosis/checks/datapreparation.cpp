// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::diagnosis
{

namespace
{

/// Samples that are right with other numbers for their pixels or tokens, less those that are right as given, of all: >
/// 0.2, at least 4 of them, and most are right then: a model with another fault gains something by chance.
constexpr double kMostGained = 0.2;
constexpr std::size_t kLeastGained = 4;
constexpr double kLeastRight = 0.6;
constexpr double kPreparationBase = 2.9; // before labels in another order, which exchanged channels look like

void findOtherPreparation(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    if (all.otherwise.empty()) {
        return probe.notRun("the inputs are neither pictures nor tokens");
    }
    const Answers* best = nullptr;
    double most = 0;
    std::size_t gained = 0;
    for (const Answers& answers : all.otherwise) {
        Answers given = all.asGiven;
        given.best.resize(answers.best.size());
        const std::size_t before = given.right(all.truth);
        const std::size_t after = answers.right(all.truth);
        const std::size_t more = after > before ? after - before : 0;
        if (best == nullptr || more > gained) {
            best = &answers;
            gained = more;
            most = static_cast<double>(more) / static_cast<double>(answers.best.size());
        }
    }
    const bool arePixels = !facts.sources().pixels.empty();
    const Place place{PlaceKind::Input, arePixels ? facts.sources().pixels.front().input : "tokens", {}, {}};
    probe.measured(place.name, most);
    const std::size_t samples = best->best.size();
    const std::size_t right = best->right(all.truth);
    const bool areMostRight = static_cast<double>(right) > kLeastRight * static_cast<double>(samples);
    if (!(most > kMostGained) || gained < kLeastGained || !areMostRight) {
        return;
    }
    Finding& finding = probe.warning(kPreparationBase, most, place);
    finding.what = fmt::format("with {}, {} of {} inputs get their class; as given, {}", best->words, right, samples,
                               right - gained);
    finding.means = arePixels ? "The model was trained with pixels that became other numbers."
                              : "The model was trained with other numbers for the same tokens: look at the tokenizer.";
    finding.remedy = "Make the input so";
    finding.numbers = {{"share_gained", most}, {"right_otherwise", static_cast<double>(right)}};
    finding.threshold = kMostGained;
    if (!best->option.empty()) {
        finding.action = {"prepare input", {{"input", place.name}, {"option", best->option}}, best->option};
    }
    finding.chart.kind = ChartKind::Bars;
    finding.chart.title = "Inputs that get their class, by how they become numbers";
    for (const Answers& answers : all.otherwise) {
        finding.chart.marked = &answers == best ? std::vector{finding.chart.names.size()} : finding.chart.marked;
        finding.chart.names.push_back(answers.words);
        finding.chart.amounts.push_back(static_cast<double>(answers.right(all.truth)));
    }
}

} // namespace

const Check dataPreparation{
    "data.preparation",
    "share of labelled inputs that get their class only when their pixels or tokens become other numbers",
    kMostGained,
    "0 … 0.04",
    Need::Labels,
    true,
    findOtherPreparation};

} // namespace retro::diagnosis
