// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <cstdint>

namespace retro::views
{

/// Figures for people: minus is −, thousands take a comma, no locale.

/// "1,234".
[[nodiscard]] QString countText(std::int64_t n);
/// With `decimals` digits after the point: "−0.0121".
[[nodiscard]] QString fixedText(double v, int decimals);
/// As fixedText with a + before positive numbers; zero is "0".
[[nodiscard]] QString signedText(double v, int decimals);
/// With about `digits` significant digits, exponent form where it is shorter: "1.2147e−4". NaN and infinities by name.
[[nodiscard]] QString valueText(double v, int digits = 4);
/// 0.971 → "97.1 %"; tiny but not zero shows "< 0.1 %".
[[nodiscard]] QString percentText(double share, int decimals = 1);
/// 130765 → "127.7 kB" (1 kB = 1,024 bytes).
[[nodiscard]] QString bytesText(std::int64_t bytes);

} // namespace retro::views
