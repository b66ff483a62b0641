// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/question/question.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::engine
{

/// One thing that is asked for.
struct Asked
{
    std::string what;   ///< a field ("run"), a choice of one ("engine=oracle"), a group of options ("planned")
    std::string option; ///< as people wrote it
};

/// What `graph-out` of a relevance pass is, beside its own name: no question says whether it asks for relevance.
inline constexpr std::string_view kRelevanceGraph = "relevance-graph";

/// How a list says one such thing: "`--run`", "`--engine oracle`", "a plan".
[[nodiscard]] std::string wordsOf(std::string_view what);

/// What a question asks for. `isBatch`: of many inputs.
[[nodiscard]] std::vector<Asked> asksOf(const Question& question, bool isBatch = false);
/// The engine oracle or compiled and a plan are a way of their own, which excludes less than the two.
void joinPlanOfEngine(std::vector<Asked>& asks);
/// True when a question asks for that.
[[nodiscard]] bool asksFor(const Question& question, std::string_view what);

/// Two things that cannot be asked for together.
struct Exclusion
{
    std::string_view one;
    std::string_view other;
    std::string_view reason; ///< one sentence
};
/// All there are; whoever takes questions asks here.
[[nodiscard]] std::span<const Exclusion> exclusions();

/// Error (Usage) for the first two of these that exclude each other: which, and why.
[[nodiscard]] base::Result<void> checkTogether(std::span<const Asked> asks);

} // namespace retro::engine
