// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

/// The machine's own numbers as scalars of a tape: what the operators of array/ ask of a scalar beside + − ×.
namespace retro::tape
{

[[nodiscard]] inline double inverse(double a) { return 1 / a; }
[[nodiscard]] inline float inverse(float a) { return 1 / a; }
[[nodiscard]] inline bool isPositive(double a) { return a > 0; }
[[nodiscard]] inline bool isPositive(float a) { return a > 0; }
[[nodiscard]] inline double exponential(double a) { return std::exp(a); }
[[nodiscard]] inline float exponential(float a) { return std::exp(a); }
[[nodiscard]] inline double logarithm(double a) { return std::log(a); }
[[nodiscard]] inline float logarithm(float a) { return std::log(a); }
[[nodiscard]] inline std::string toText(double a) { return fmt::format("{}", a); }
[[nodiscard]] inline std::string toText(float a) { return fmt::format("{}", a); }

} // namespace retro::tape
