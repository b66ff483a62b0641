// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace retro::diagnosis
{

namespace
{

/// A class that most inputs get, though few of them have it: its share of answers less its share of labels (or of
/// equal shares, where nobody says): > 0.35.
constexpr double kMostOfOneClass = 0.35;
constexpr double kClassesBase = 2.2;

void findClasses(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    const std::size_t count = all.asGiven.best.size();
    if (!all.why.empty() || count < kLeastOfFolder || all.classes < 2) {
        return probe.notRun(all.why.empty() ? "there are too few inputs" : all.why);
    }
    std::map<std::int64_t, std::size_t> answers;
    for (const std::int64_t best : all.asGiven.best) {
        ++answers[best];
    }
    const auto [most, times] = *std::ranges::max_element(answers, {}, [](const auto& one) { return one.second; });
    const auto samples = static_cast<double>(count);
    const double own = all.hasTruth() ? static_cast<double>(std::ranges::count(all.truth, most)) / samples
                                      : 1.0 / static_cast<double>(all.classes);
    const double beyond = static_cast<double>(times) / samples - own;
    const std::string& name = facts.graph().value(facts.pass()->target).name;
    // Without labels nobody knows what a folder holds: one class, perhaps.
    probe.measured(name, all.hasTruth() ? beyond : 0);
    if (!(beyond > kMostOfOneClass)) {
        return;
    }
    const Place place = facts.place(facts.pass()->target);
    Finding& finding = all.hasTruth() ? probe.warning(kClassesBase, beyond, place) : probe.note(beyond, place);
    const std::string label = classText(facts, most);
    finding.what = all.hasTruth()
                       ? fmt::format("{} of {} inputs get the class {}, {} have it; {} are right", times, count, label,
                                     std::ranges::count(all.truth, most), all.asGiven.right(all.truth))
                       : fmt::format("{} of {} inputs get the class {}", times, count, label);
    finding.means = all.hasTruth() ? "The model hardly looks at its input: weights, statistics of a normalisation or "
                                     "the numbers that pixels become are not those of the training."
                                   : "Either they are all of that class, or the model hardly looks at its input.";
    finding.remedy = all.hasTruth() ? "Compare the model with its source (--against), and look at the other findings"
                                    : "Say which class each has (--labels)";
    finding.numbers = {{"share_beyond_its_own", beyond}, {"inputs", samples}};
    finding.threshold = kMostOfOneClass;
    std::vector<double> bars(static_cast<std::size_t>(all.classes), 0);
    for (const auto& [index, number] : answers) {
        bars[static_cast<std::size_t>(index)] = static_cast<double>(number);
    }
    finding.chart = barsOf("Inputs that get each class", std::move(bars), {static_cast<std::size_t>(most)});
}

} // namespace

const Check dataClasses{"data.classes",
                        "share of inputs that get one class, less the share of those that have it",
                        kMostOfOneClass,
                        "up to 0.04",
                        Need::Folder | Need::Forward,
                        true,
                        findClasses};

} // namespace retro::diagnosis
