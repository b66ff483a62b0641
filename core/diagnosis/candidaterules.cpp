// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/candidaterules.h"

#include <array>

namespace retro::diagnosis
{

std::string CandidateRules::options() const
{
    std::string text;
    for (const std::string& one : overrides) {
        text += (text.empty() ? "--rule '" : " --rule '") + one + "'";
    }
    return text;
}

std::span<const CandidateRules> candidateRules()
{
    static const std::string kSums = "structure:\"sum of operands\"=abs-ratio";
    static const std::string kConvolutions = "op:Conv=z-plus";
    static const std::array<CandidateRules, 3> kAll{
        CandidateRules{{kSums}, "Sums are shared by magnitude, which gives up their signs."},
        CandidateRules{{kConvolutions}, "Convolutions hand on what is positive."},
        CandidateRules{{kSums, kConvolutions},
                       "Sums are shared by magnitude, which gives up their signs; convolutions hand on what "
                       "is positive."}};
    return kAll;
}

} // namespace retro::diagnosis
