// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

/// Draws of an operator whose axes are made to have no element, one, or many, all of an extent together or one axis of
/// one operand alone: refused, or results of the declared types, the same numbers whatever the order in memory, and
/// parts of the operands' shapes from the reverse rule. What is wrong; empty when nothing is. A sanitizer or valgrind
/// sees what is read and written beside a tensor.
[[nodiscard]] std::string extentFault(const Generator& generator);

} // namespace retro::tests
