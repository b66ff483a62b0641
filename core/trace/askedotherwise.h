// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <string>
#include <vector>

namespace retro::trace
{

/// What was asked of two runs, where it is not the same: {"target", "scores 0", "scores 1"}, start, conditions. Their
/// relevance is then of two things, and its difference no change of one.
struct AskedOtherwise
{
    std::string what;
    std::string a;
    std::string b;
};
/// Two files of models are known to hold other things: another graph or other weights.
[[nodiscard]] bool areOtherFiles(const RunFacts& a, const RunFacts& b);
/// What differs; nothing where both were asked the same.
[[nodiscard]] std::vector<AskedOtherwise> askedOtherwise(const Run& a, const Run& b);

} // namespace retro::trace
