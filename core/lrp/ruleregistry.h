// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules.h"

#include <utility>

/// How each rule reads its parameters; a new rule adds its reader here and one line to the table in ruleregistry.cpp.
/// Readers take what they need and leave errors in the reader.
namespace retro::lrp
{

/// The rule of that name from its parameters; what is wrong with them stays in the reader.
[[nodiscard]] RulePointer readLrpZero(ParameterReader& reader);
[[nodiscard]] RulePointer readEpsilon(ParameterReader& reader);
[[nodiscard]] RulePointer readZPlus(ParameterReader& reader);
[[nodiscard]] RulePointer readAlphaBeta(ParameterReader& reader);
[[nodiscard]] RulePointer readGamma(ParameterReader& reader);
[[nodiscard]] RulePointer readZBox(ParameterReader& reader);
[[nodiscard]] RulePointer readFlat(ParameterReader& reader);
[[nodiscard]] RulePointer readWSquare(ParameterReader& reader);
[[nodiscard]] RulePointer readGradient(ParameterReader& reader);
[[nodiscard]] RulePointer readSecant(ParameterReader& reader);
[[nodiscard]] RulePointer readDetachedGradient(ParameterReader& reader);
[[nodiscard]] RulePointer readPass(ParameterReader& reader);
[[nodiscard]] RulePointer readStop(ParameterReader& reader);
[[nodiscard]] RulePointer readNorm(ParameterReader& reader);
[[nodiscard]] RulePointer readUniform(ParameterReader& reader);
[[nodiscard]] RulePointer readWinner(ParameterReader& reader);
[[nodiscard]] RulePointer readProportional(ParameterReader& reader);
[[nodiscard]] RulePointer readSoftmaxWeighted(ParameterReader& reader);
[[nodiscard]] RulePointer readDeconvNet(ParameterReader& reader);
[[nodiscard]] RulePointer readGuidedBackprop(ParameterReader& reader);
[[nodiscard]] RulePointer readBetaSmooth(ParameterReader& reader);
[[nodiscard]] RulePointer readAbsRatio(ParameterReader& reader);
[[nodiscard]] RulePointer readSoftmaxTaylor(ParameterReader& reader);
[[nodiscard]] RulePointer readDetachedDeviation(ParameterReader& reader);
[[nodiscard]] RulePointer readSignalTakesAll(ParameterReader& reader);
[[nodiscard]] RulePointer readDecomposed(ParameterReader& reader);
[[nodiscard]] RulePointer readLut(ParameterReader& reader);
/// Bounds of a z-box: "low" and "high", numbers or lists, −3 and 3 when they are not given.
[[nodiscard]] std::pair<std::vector<double>, std::vector<double>> readBox(ParameterReader& reader);
/// The parameter "filter" that every rule has: the fraction of filteredRule(), 1 when it is not given.
[[nodiscard]] double readFraction(ParameterReader& reader, std::string_view name = "filter");

} // namespace retro::lrp
