// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::text
{

// Kinds of characters, as ICU's Unicode data has them.

[[nodiscard]] bool isSpace(char32_t code);       ///< White_Space
[[nodiscard]] bool isNumber(char32_t code);      ///< N
[[nodiscard]] bool isWordPart(char32_t code);    ///< Alphabetic, M, Nd, Pc, Join_Control
[[nodiscard]] bool isPunctuation(char32_t code); ///< P up to Unicode 8, and the marks of ASCII
[[nodiscard]] bool isMark(char32_t code);        ///< M, up to Unicode 9
[[nodiscard]] bool isLowMark(char32_t code);     ///< Mn, up to Unicode 8
[[nodiscard]] bool isControl(char32_t code);     ///< Cc, Cf, Co, up to Unicode 8
[[nodiscard]] bool isChinese(char32_t code);     ///< the blocks of Han characters that BERT sets apart
/// Whether the normal forms that ids are compared with know the character: up to Unicode 9.
[[nodiscard]] bool isOfNormalisation(char32_t code);

} // namespace retro::text
