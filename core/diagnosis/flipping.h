// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <optional>
#include <string>

namespace retro::diagnosis
{

/// How the score of the explained class falls while elements of an input are replaced by the mean of their channel:
/// means over ten steps, as shares of the score of the whole input.
struct FlippingCurves
{
    ValueId input;         ///< the floating input with the most relevance
    double mostFirst = 0;  ///< most relevant elements first
    double leastFirst = 0; ///< least relevant first
    double random = 0;     ///< mean of three orders, always the same
};

/// Runs the model forward 50 times. Nothing where that cannot be done; `why` then says why.
[[nodiscard]] std::optional<FlippingCurves> flippingCurves(const Facts& facts, std::string& why);

} // namespace retro::diagnosis
