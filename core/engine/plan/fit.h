// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace retro::engine
{

/// One extent that was tried.
struct FitTry
{
    bool fits = false;
    std::uint64_t peak = 0; ///< bytes of its plan; without one the least that was reached
    std::string why;        ///< why it could not be tried; empty otherwise
};

/// Tries an extent: binds, and plans within the budget.
using TryExtent = std::function<base::Result<FitTry>(std::int64_t extent)>;

/// The largest extent that fits.
struct FitResult
{
    std::int64_t largest = 0; ///< 0: not even 1
    FitTry at;                ///< of the largest; of 1 where none fits
    FitTry oneMore;           ///< of the next extent; peak 0 where it could not be tried
    std::string whyNotMore;   ///< why that could not be tried; empty otherwise
    std::size_t tries = 0;
};

/// Largest extent that is tried.
inline constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;

/// Tries one extent. One that cannot be tried (Input: the model does not take it; Memory: beyond what can be counted)
/// does not fit, if the model takes extent 1. Errors: of extent 1; others than those two.
[[nodiscard]] base::Result<FitTry> tryOne(const TryExtent& tryExtent, std::int64_t extent);

/// By doubling, then by bisection, an extent that cannot be tried being one that does not fit. It is taken that no
/// larger extent fits where a smaller one does not. Errors: as tryOne().
[[nodiscard]] base::Result<FitResult> largestThatFits(const TryExtent& tryExtent);

} // namespace retro::engine
