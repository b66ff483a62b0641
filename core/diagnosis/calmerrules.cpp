// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/calmerrules.h"

#include <array>

namespace retro::diagnosis
{

std::string CalmerRules::options() const
{
    std::string text;
    for (const std::string& one : overrides) {
        text += (text.empty() ? "--rule '" : " --rule '") + one + "'";
    }
    return text;
}

std::span<const CalmerRules> calmerRules()
{
    static const std::string kSums = "structure:\"sum of operands\"=abs-ratio";
    static const std::string kConvolutions = "op:Conv=z-plus";
    static const std::array<CalmerRules, 3> kAll{
        CalmerRules{{kSums}, "Sums are shared by magnitude, which gives up their signs."},
        CalmerRules{{kConvolutions}, "Convolutions hand on what is positive."},
        CalmerRules{{kSums, kConvolutions},
                    "Sums are shared by magnitude, which gives up their signs; convolutions hand on what "
                    "is positive."}};
    return kAll;
}

} // namespace retro::diagnosis
