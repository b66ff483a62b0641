// SPDX-License-Identifier: Apache-2.0
#include "core/trace/askedotherwise.h"

#include "core/trace/targetplace.h"

#include <fmt/format.h>

namespace retro::trace
{

namespace
{

/// The value and the elements of all samples.
std::string targetText(const Run& run)
{
    const ValueId value = run.facts.targetValue;
    std::string text = value.isValid() && value.index() < run.graph->valueCount() ? run.graph->value(value).name : "?";
    for (const std::int64_t index : run.facts.targetIndex) {
        text += index >= 0 && hasDenseTarget(run) ? fmt::format(" ({})", placeInTarget(run, index))
                                                  : fmt::format(" {}", index);
    }
    return text;
}

} // namespace

bool areOtherFiles(const RunFacts& a, const RunFacts& b)
{
    return !a.modelDigest.empty() && !b.modelDigest.empty() && a.modelDigest != b.modelDigest;
}

std::vector<AskedOtherwise> askedOtherwise(const Run& a, const Run& b)
{
    std::vector<AskedOtherwise> all{{"target", targetText(a), targetText(b)},
                                    {"start", a.facts.start, b.facts.start},
                                    {"conditions", a.facts.conditions, b.facts.conditions}};
    std::erase_if(all, [](const AskedOtherwise& one) { return one.a == one.b; });
    return all;
}

} // namespace retro::trace
