// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/program/program.h"
#include "tests/core/lrp/tensorrun.h"

#include <string>

namespace retro::lrptest
{

/// The program of a first pass over the case.
[[nodiscard]] base::Result<program::Program> programOf(const TensorCase& tensorCase, const TensorRun& firstPass);

/// Relevance by a program for the inputs of the case.
[[nodiscard]] base::Result<lrp::RelevanceTable> runProgram(const TensorCase& tensorCase,
                                                           const program::Program& program, execute::SavePolicy policy);

/// What is wrong in the order of a program: a buffer that is read before it is made, made twice, or whose last use is
/// not the last; arguments among the relevance. Empty when all is well.
[[nodiscard]] std::string disorder(const program::Program& program);

/// Makes the program of a first pass under both saving policies and runs it for the same input and for another one;
/// returns the error or the first difference in any bit from a first pass for that input. Empty when all is well.
[[nodiscard]] std::string faultOfProgram(const SpecGraph& spec);

} // namespace retro::lrptest
