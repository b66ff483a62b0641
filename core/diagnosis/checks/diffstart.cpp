// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/compared.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Base and e of diff.start (section 4.8), and how much the start may differ.
constexpr double kStartBase = 2.7;
constexpr double kStartEffect = 0.8;
constexpr double kStartTolerance = 1e-5;

void findStarts(const Facts& facts, Probe& probe)
{
    const ComparedPasses* compared = facts.comparedPasses();
    const Pass* other = facts.reference()->pass();
    const bool isThere = compared != nullptr && other->hasRelevance && facts.pass()->target.isValid();
    const Compared* models = isThere ? facts.compared() : nullptr;
    const bool isComparable = models != nullptr && models->isSameModel() && haveSameInputs(facts, *facts.reference()) &&
                              facts.pass()->targetIndex == other->targetIndex;
    if (!isComparable) {
        return probe.notRun("models, inputs or targets differ, and the start may follow from that");
    }
    const double own = facts.start();
    const double theirs = facts.reference()->start();
    const double largest = std::max(own, theirs);
    const double difference = largest > 0 ? std::abs(own - theirs) / largest : 0;
    probe.measured(facts.graph().value(facts.pass()->target).name, difference);
    if (!(difference > kStartTolerance)) {
        return;
    }
    Finding& finding = probe.difference(kStartBase, kStartEffect, facts.place(facts.pass()->target));
    finding.what =
        fmt::format("relevance starts with {}; in the reference with {}", numberText(own), numberText(theirs));
    finding.means = "The same target is explained from another amount, so all relevance differs by that.";
    finding.remedy = "Start with the same (--start)";
    finding.numbers = {{"start", own}, {"start_of_reference", theirs}};
    finding.threshold = kStartTolerance;
    finding.chart = barsOf("Σ|R| at the start", {own, theirs}, {0});
    finding.chart.names = {"here", "reference"};
    finding.action = {"choose target", {}, {}};
}

} // namespace

const Check diffStart{"diff.start",
                      "relative difference of what relevance starts with, at one target",
                      kStartTolerance,
                      "0",
                      Need::Reference | Need::Relevance,
                      true,
                      findStarts};

} // namespace retro::diagnosis
