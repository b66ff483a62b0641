// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/kernels/lut/samplelayer.h"

namespace retro::luttest
{

/// What a layer gives, worked out element by element from its definition, in double.
struct DirectResult
{
    std::vector<double> output;
    std::vector<std::int32_t> rows;
    std::vector<double> inputGradients;
    std::vector<double> weightGradients;
    std::vector<double> codeGradients;
};

[[nodiscard]] DirectResult directFormula(const SampleLayer<double>& layer);

} // namespace retro::luttest
