// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace retro::diagnosis
{

namespace
{

/// Samples whose class would be right if every label meant another class, less those that are right, of all: > 0.3.
/// With few samples of a class such another meaning is found by chance.
constexpr double kMostOfOthers = 0.3;
constexpr double kLeastPerClass = 2.5;
constexpr double kLabelsOrderBase = 2.7;

/// By label: the class that its samples get, one for each, those that most samples speak for first; empty where a label
/// is left without one.
std::map<std::int64_t, std::int64_t> meanings(const Population& all)
{
    std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> counts;
    for (std::size_t i = 0; i < all.truth.size(); ++i) {
        ++counts[{all.truth[i], all.asGiven.best[i]}];
    }
    std::vector<std::pair<std::size_t, std::pair<std::int64_t, std::int64_t>>> ranked;
    for (const auto& [pair, count] : counts) {
        ranked.emplace_back(count, pair);
    }
    std::ranges::stable_sort(ranked, std::greater<>(), [](const auto& one) { return one.first; });
    std::map<std::int64_t, std::int64_t> meaning;
    std::set<std::int64_t> taken;
    for (const auto& [count, pair] : ranked) {
        if (!meaning.contains(pair.first) && taken.insert(pair.second).second) {
            meaning.emplace(pair);
        }
    }
    const std::set<std::int64_t> labels(all.truth.begin(), all.truth.end());
    return meaning.size() == labels.size() ? meaning : std::map<std::int64_t, std::int64_t>();
}

/// "moved by -1 (1 (disc) read as class 0)" where the meaning is a shift; else what the first label that differs means.
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
    const std::set<std::int64_t> labels(all.truth.begin(), all.truth.end());
    const auto samples = static_cast<double>(all.truth.size());
    if (labels.size() < 2 || samples / static_cast<double>(labels.size()) < kLeastPerClass) {
        return probe.notRun("there are too few samples of each label");
    }
    const std::map<std::int64_t, std::int64_t> meaning = meanings(all);
    std::vector<std::int64_t> meant;
    for (const std::int64_t label : all.truth) {
        const auto at = meaning.find(label);
        meant.push_back(at == meaning.end() ? label : at->second);
    }
    const std::size_t asGiven = all.asGiven.right(all.truth);
    const std::size_t right = all.asGiven.right(meant);
    const double gained = (static_cast<double>(right) - static_cast<double>(asGiven)) / samples;
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
