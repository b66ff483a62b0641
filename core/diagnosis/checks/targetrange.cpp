// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// e of target.range (section 4.3).
constexpr double kTargetRangeEffect = 0.9;

void findTargetRange(const Facts& facts, Probe& probe)
{
    const auto asked = facts.sources().classAsked;
    const ValueId target = facts.pass()->target;
    if (!asked || !target.isValid()) {
        return;
    }
    const TargetScores scores = scoresOf(facts, facts.value(target));
    const auto classes = static_cast<std::int64_t>(scores.scores.size());
    const bool isBeyond = classes > 0 && (*asked >= classes || *asked < -classes);
    probe.measured(facts.graph().value(target).name, isBeyond ? 1 : 0);
    if (!isBeyond) {
        return;
    }
    Finding& finding = probe.error(kTargetRangeEffect, facts.place(target));
    finding.what = fmt::format("has {} classes, 0 … {}; class {} was asked for", classes, classes - 1, *asked);
    finding.means = "Classes count from 0.";
    finding.remedy = "Explain the best one";
    finding.numbers = {{"classes", static_cast<double>(classes)}, {"asked", static_cast<double>(*asked)}};
    finding.chart = barsOf("Scores of the classes that there are", scores.scores, {});
    const std::string best = std::to_string(scores.best());
    finding.action = {"choose target", {{"target", best}}, "--target " + best};
}

} // namespace

const Check targetRange{
    "target.range", "a class beyond the row of scores was asked for (1: it was)", 0, "0", Need::Forward, true,
    findTargetRange};

} // namespace retro::diagnosis
