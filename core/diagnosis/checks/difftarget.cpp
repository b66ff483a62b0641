// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/compared.h"
#include "core/diagnosis/targetscores.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Base and e of diff.target (section 4.8).
constexpr double kTargetBase = 2.7;
constexpr double kTargetEffect = 0.8;

void findTargets(const Facts& facts, Probe& probe)
{
    const ComparedPasses* compared = facts.comparedPasses();
    const Pass* other = facts.reference()->pass();
    if (compared == nullptr || !other->hasRelevance || !facts.pass()->target.isValid()) {
        return probe.notRun("the reference has no relevance");
    }
    const Compared* models = facts.compared();
    const bool isComparable = models != nullptr && models->isSameModel() && haveSameInputs(facts, *facts.reference());
    if (!isComparable) {
        return probe.notRun("models or inputs differ, and the target may follow from that");
    }
    const Pass& own = *facts.pass();
    const bool isOtherValue = compared->match.valueToOther[own.target.index()] != other->target;
    const bool isOtherElement = own.targetIndex != other->targetIndex;
    probe.measured(facts.graph().value(own.target).name, isOtherValue || isOtherElement ? 1 : 0);
    if (!isOtherValue && !isOtherElement) {
        return;
    }
    Finding& finding = probe.difference(kTargetBase, kTargetEffect, facts.place(own.target));
    const auto elementText = [&facts](const Pass& pass) {
        return pass.targetIndex.empty() || pass.targetIndex.front() < 0 ? std::string("the whole value")
                                                                        : classText(facts, pass.targetIndex.front());
    };
    finding.what = isOtherValue ? fmt::format("relevance starts here; in the reference at {}",
                                              facts.reference()->graph().value(other->target).name)
                                : fmt::format("relevance starts at {}; in the reference at {}", elementText(own),
                                              elementText(*other));
    finding.means = "The two explain different things.";
    finding.remedy = "Explain the same target";
    finding.numbers = {{"targets", 1}};
    finding.chart = rowsOf("Where relevance starts",
                           {{"here", facts.graph().value(own.target).name, elementText(own)},
                            {"reference", facts.reference()->graph().value(other->target).name, elementText(*other)}});
    finding.action = {"choose target", {{"target", facts.reference()->graph().value(other->target).name}}, {}};
}

} // namespace

const Check diffTarget{"diff.target",
                       "relevance starts elsewhere than in the reference (1: it does)",
                       0,
                       "0",
                       Need::Reference | Need::Relevance,
                       true,
                       findTargets};

} // namespace retro::diagnosis
