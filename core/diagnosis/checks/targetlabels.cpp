// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Names of a card that no class has, or classes without a name: > 0.
constexpr double kMostUnmatched = 0;
constexpr double kLabelsBase = 2.6;
constexpr double kLabelsEffect = 0.8;

void findLabels(const Facts& facts, Probe& probe)
{
    const ValueId target = facts.pass()->target;
    const tensor::Shape shape = target.isValid() ? facts.shape(target) : tensor::Shape();
    const auto names = static_cast<std::int64_t>(facts.card()->labels.size());
    if (names == 0 || shape.empty() || shape.size() > 2) {
        return probe.notRun("the card has no labels of a row of scores");
    }
    const std::int64_t classes = shape.back();
    // One score of two classes: the probability of the second.
    const std::int64_t unmatched = classes == 1 && names == 2 ? 0 : std::abs(names - classes);
    const std::string& name = facts.graph().value(target).name;
    probe.measured(name, static_cast<double>(unmatched));
    if (unmatched == 0) {
        return;
    }
    Finding& finding = probe.warning(kLabelsBase, kLabelsEffect, facts.place(target));
    finding.what = fmt::format("has {} classes, the labels of the card are {}", classes, names);
    const std::string first = facts.card()->labels.front();
    finding.means = names > classes
                        ? fmt::format("Labels may be moved: class 0 is shown as \"{}\", perhaps one that the model "
                                      "does not have.",
                                      first)
                        : "Some classes have no name, and the others may have that of another class.";
    finding.remedy = "Compare the labels of the card with the order of classes in training";
    finding.numbers = {{"classes", static_cast<double>(classes)}, {"labels", static_cast<double>(names)}};
    finding.threshold = kMostUnmatched;
    finding.chart = barsOf("Scores of the classes that there are", scoresOf(facts, facts.value(target)).scores, {});
}

} // namespace

const Check targetLabels{"target.labels",
                         "how many more or fewer labels the card has than there are classes",
                         kMostUnmatched,
                         "0",
                         Need::Card | Need::Forward,
                         true,
                         findLabels};

} // namespace retro::diagnosis
