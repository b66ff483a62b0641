// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace retro::diagnosis
{

namespace
{

/// Samples whose class would be right if every label meant another class, less those that are right, of all: > 0.3.
/// With few samples of a class such another meaning is found by chance.
constexpr double kMostOfOthers = 0.3;
constexpr double kLeastPerClass = 2.5;
constexpr double kLabelsOrderBase = 2.7;

/// By label: the class that most of its samples get.
std::map<std::int64_t, std::int64_t> meanings(const Population& all)
{
    std::map<std::int64_t, std::map<std::int64_t, std::size_t>> counts;
    for (std::size_t i = 0; i < all.truth.size(); ++i) {
        ++counts[all.truth[i]][all.asGiven.best[i]];
    }
    std::map<std::int64_t, std::int64_t> most;
    for (const auto& [label, classes] : counts) {
        most[label] = std::ranges::max_element(classes, {}, [](const auto& one) { return one.second; })->first;
    }
    return most;
}

bool isOneToOne(const std::map<std::int64_t, std::int64_t>& meaning)
{
    std::set<std::int64_t> classes;
    for (const auto& [label, meant] : meaning) {
        classes.insert(meant);
    }
    return classes.size() == meaning.size();
}

/// "class by class one less" where the meaning is a shift; else what the first label that differs means.
std::string meaningText(const Facts& facts, const std::map<std::int64_t, std::int64_t>& meaning)
{
    const auto [first, meant] = *meaning.begin();
    const std::int64_t by = meant - first;
    const bool isShift = std::ranges::all_of(meaning, [by](const auto& one) { return one.second - one.first == by; });
    if (isShift) {
        return fmt::format("moved by {} ({} read as class {})", by, classText(facts, first), meant);
    }
    const auto differs = std::ranges::find_if(meaning, [](const auto& one) { return one.first != one.second; });
    return fmt::format("in another order ({} read as class {})", classText(facts, differs->first), differs->second);
}

void findLabelOrder(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    const std::map<std::int64_t, std::int64_t> meaning = meanings(all);
    const auto samples = static_cast<double>(all.truth.size());
    if (meaning.size() < 2 || samples / static_cast<double>(meaning.size()) < kLeastPerClass) {
        return probe.notRun("there are too few samples of each label");
    }
    std::vector<std::int64_t> meant;
    for (const std::int64_t label : all.truth) {
        meant.push_back(meaning.at(label));
    }
    const std::size_t asGiven = all.asGiven.right(all.truth);
    const std::size_t right = all.asGiven.right(meant);
    const double gained = isOneToOne(meaning) ? static_cast<double>(right - asGiven) / samples : 0;
    const std::string& name = facts.graph().value(facts.pass()->target).name;
    probe.measured(name, gained);
    if (!(gained > kMostOfOthers)) {
        return;
    }
    Finding& finding = probe.warning(kLabelsOrderBase, gained, facts.place(facts.pass()->target));
    finding.what = fmt::format("with labels {}, {} of {} inputs get their class; as given, {}",
                               meaningText(facts, meaning), right, all.truth.size(), asGiven);
    finding.means = "The model knows its classes, but they have other numbers than the labels say.";
    finding.remedy = "Give the labels in the order of the classes in training";
    finding.numbers = {{"share_gained", gained}, {"right_otherwise", static_cast<double>(right)}};
    finding.threshold = kMostOfOthers;
}

} // namespace

const Check dataLabels{"data.labels",
                       "share of labelled inputs that get their class only when labels mean other classes",
                       kMostOfOthers,
                       "0",
                       Need::Labels | Need::Forward,
                       true,
                       findLabelOrder};

} // namespace retro::diagnosis
