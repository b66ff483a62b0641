// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// An input whose data do not have the shape that the model wants.
struct Misfit
{
    std::size_t input = 0; ///< position among the graph's inputs
    std::string name;
    tensor::Shape given;
    std::vector<graph::Dimension>
        wanted;                      ///< with the channels that the first convolution reads, where the file is silent
    std::vector<std::int64_t> order; ///< axes of the data in which they fit; empty: in none
};

/// Every input whose data do not fit. Reads declared shapes and those of weights alone.
[[nodiscard]] std::vector<Misfit> misfitsOf(const Facts& facts);
/// How many inputs were looked at.
[[nodiscard]] std::size_t comparedInputs(const Facts& facts);

/// "1×3×16×16", free axes by their symbol or "?".
[[nodiscard]] std::string wantedText(const std::vector<graph::Dimension>& wanted);

} // namespace retro::diagnosis
