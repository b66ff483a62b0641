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

/// Everything that must agree in every bit: promise engine, policy All, oracle (faultBetween), and the programs of the
/// passes under both policies, for the same input and for another one. Returns the error or the first fault; empty when
/// all is well.
[[nodiscard]] std::string faultOfEngines(const SpecGraph& spec);

} // namespace retro::lrptest
