// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/tokenrelevance.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Share of Σ|R| that the first token has: > 0.5; a warning above 0.8, where the others have next to nothing.
constexpr double kMostOfFirst = 0.5;
constexpr double kMostOfFirstToNote = 0.8;
/// In shorter texts, and right behind it, the first token is a word like others.
constexpr std::int64_t kLeastPosition = 4;

void findSink(const Facts& facts, Probe& probe)
{
    const auto tokens = tokenRelevance(facts);
    if (!tokens || tokens->position < kLeastPosition || !(tokens->all > 0)) {
        return;
    }
    const double share = tokens->magnitudes.front() / tokens->all;
    probe.measured(facts.graph().value(tokens->input).name, share);
    if (!(share > kMostOfFirst)) {
        return;
    }
    const double effect = 0.9 * share;
    Finding& finding = share > kMostOfFirstToNote ? probe.warning(2, effect, facts.place(tokens->input))
                                                  : probe.note(effect, facts.place(tokens->input));
    finding.what = fmt::format("the first token has {} of Σ|R|, for a word asked for at position {}",
                               percentText(share), tokens->position);
    finding.means = "Attention rests there when it looks at nothing: it says little about the words.";
    finding.remedy = "Set the target against another word (--contrast), in which this part cancels";
    finding.numbers = {{"share_of_first_token", share}};
    finding.threshold = kMostOfFirst;
    finding.chart = barsOf("Σ|R| of each token", tokens->magnitudes, {0});
    finding.action = {"go to node", {{"node", facts.graph().value(tokens->input).name}}, {}};
}

} // namespace

const Check tokenSink{"token.sink",    "share of Σ|R| of the first token of a text, of a word asked for behind it",
                      kMostOfFirst,    "up to 0.23 (random weights)",
                      Need::Relevance, true,
                      findSink};

} // namespace retro::diagnosis
