// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/alternativerules.h"

#include <array>

namespace retro::diagnosis
{

std::string AlternativeRules::options() const
{
    std::string text;
    for (const std::string& one : overrides) {
        text += (text.empty() ? "--rule '" : " --rule '") + one + "'";
    }
    return text;
}

std::span<const AlternativeRules> alternativeRules()
{
    static const std::string kSums = "structure:\"sum of operands\"=abs-ratio";
    static const std::string kConvolutions = "op:Conv=z-plus";
    static const std::array<AlternativeRules, 3> kAll{
        AlternativeRules{{kSums}, "Sums are shared by magnitude, which gives up their signs."},
        AlternativeRules{{kConvolutions}, "Convolutions hand on what is positive."},
        AlternativeRules{{kSums, kConvolutions},
                         "Sums are shared by magnitude, which gives up their signs; convolutions hand on what "
                         "is positive."}};
    return kAll;
}

} // namespace retro::diagnosis
