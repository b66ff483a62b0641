// SPDX-License-Identifier: Apache-2.0
// Draws of operators without a gradient, and of forms of others that gradientcheck does not draw.
#pragma once

#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

/// One line per operator that is declared without a gradient.
std::vector<Generator> nonGradientGenerators();
/// Operators of quantised values and of ONNX-ML.
std::vector<Generator> quantisedGenerators();
/// Forms of older operator sets, and operands that are usually constants.
std::vector<Generator> olderGenerators();

} // namespace retro::tests
