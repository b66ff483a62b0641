// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// How much better than chance a model is over a folder, of what can be: accuracy, or without labels the mean
/// probability of the best class, less 1/classes, over 1 − 1/classes: < 0.15. Few inputs say little.
constexpr double kLeastSkill = 0.15;
constexpr double kAccuracyBase = 2.1;
constexpr double kAccuracyEffect = 0.3;

void findAccuracy(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    const std::size_t samples = all.asGiven.best.size();
    if (!all.why.empty() || samples < kLeastOfFolder || all.classes < 2) {
        return probe.notRun(all.why.empty() ? "there are too few inputs" : all.why);
    }
    const bool isLabelled = all.hasTruth();
    const std::size_t right = isLabelled ? all.asGiven.right(all.truth) : 0;
    const double quality =
        isLabelled ? static_cast<double>(right) / static_cast<double>(samples) : all.asGiven.meanConfidence();
    const double chance = 1.0 / static_cast<double>(all.classes);
    const double skill = (quality - chance) / (1 - chance);
    const Place place = facts.place(facts.pass()->target);
    probe.measured(place.name, 1 - skill);
    if (!(skill < kLeastSkill)) {
        return;
    }
    Finding& finding =
        isLabelled ? probe.warning(kAccuracyBase, kAccuracyEffect, place) : probe.note(kAccuracyEffect, place);
    finding.what =
        isLabelled
            ? fmt::format("{} of {} inputs are right, as many as by chance ({} classes)", right, samples, all.classes)
            : fmt::format("the best class of {} inputs has {} on average, with {} classes hardly more than chance",
                          samples, percentText(quality), all.classes);
    if (const auto pair = all.mostMistaken(); isLabelled && pair) {
        finding.what += fmt::format("; {} of class {} get {}", all.count(pair->first, pair->second),
                                    classText(facts, pair->first), classText(facts, pair->second));
    }
    finding.means = "What explains such an answer explains a guess.";
    finding.remedy = "Look at how inputs become numbers, at the labels, and at the other findings";
    finding.numbers = {{"better_than_chance", skill}, {"inputs", static_cast<double>(samples)}};
    finding.threshold = kLeastSkill;
}

} // namespace

const Check dataAccuracy{"data.accuracy",
                         "1 − how much better than chance the model is over a folder: its accuracy, or without labels "
                         "the probability of its best class",
                         1 - kLeastSkill,
                         "up to 0.31 (an int8 twin)",
                         Need::Folder | Need::Forward,
                         true,
                         findAccuracy};

} // namespace retro::diagnosis
