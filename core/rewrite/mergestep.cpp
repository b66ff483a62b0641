// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/mergestep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace retro::rewrite
{

namespace
{

std::string mergeName(bool isNorm, bool isRight)
{
    return fmt::format("merge {}{}", isNorm ? "BatchNorm" : "scale and shift", isRight ? " right" : "");
}

} // namespace

RewriteStep mergedStep(const graph::Node& layer, bool isNorm, std::vector<std::string> names, bool isRight)
{
    RewriteStep step;
    step.rewrite = mergeName(isNorm, isRight);
    step.text = fmt::format("{} → {} {}", fmt::join(names, " + "), layer.op, layer.name);
    step.removed = std::move(names);
    step.added = {layer.name};
    return step;
}

RewriteStep outOfRangeNote(const graph::Node& layer, bool isNorm, const std::vector<std::string>& names)
{
    RewriteStep step;
    step.rewrite = mergeName(isNorm, false);
    step.text = fmt::format("{} stay as they are: merged weights of {} would leave the range of float32",
                            fmt::join(names, " + "), layer.name);
    step.isNote = true;
    return step;
}

} // namespace retro::rewrite
