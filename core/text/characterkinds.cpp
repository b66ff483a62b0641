// SPDX-License-Identifier: Apache-2.0
#include "core/text/characterkinds.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace retro::text
{

namespace
{

std::uint32_t maskOf(char32_t code) { return U_GET_GC_MASK(static_cast<UChar32>(code)); }

/// The library that ids are compared with keeps the categories of older versions of Unicode for some of its questions.
bool isOfVersion(char32_t code, int most)
{
    UVersionInfo age;
    u_charAge(static_cast<UChar32>(code), age);
    return age[0] > 0 && age[0] <= most;
}

constexpr int kOfCategories = 8;
constexpr int kOfNormalisation = 9;

} // namespace

bool isSpace(char32_t code) { return u_isUWhiteSpace(static_cast<UChar32>(code)) != 0; }

bool isNumber(char32_t code) { return (maskOf(code) & U_GC_N_MASK) != 0; }

bool isWordPart(char32_t code)
{
    return u_hasBinaryProperty(static_cast<UChar32>(code), UCHAR_ALPHABETIC) != 0 ||
           (maskOf(code) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 || code == 0x200C || code == 0x200D;
}

bool isPunctuation(char32_t code)
{
    const bool isAscii = (code >= '!' && code <= '/') || (code >= ':' && code <= '@') || (code >= '[' && code <= '`') ||
                         (code >= '{' && code <= '~');
    constexpr char32_t kChiSign = 0x166D; // a symbol since version 12
    return isAscii || code == kChiSign || ((maskOf(code) & U_GC_P_MASK) != 0 && isOfVersion(code, kOfCategories));
}

bool isMark(char32_t code)
{
    return code >= 0x300 && (maskOf(code) & U_GC_M_MASK) != 0 && isOfVersion(code, kOfNormalisation);
}

bool isLowMark(char32_t code)
{
    return code >= 0x300 && (maskOf(code) & U_GC_MN_MASK) != 0 && isOfVersion(code, kOfCategories);
}

bool isControl(char32_t code)
{
    return (maskOf(code) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0 && isOfVersion(code, kOfCategories);
}

bool isOfNormalisation(char32_t code) { return isOfVersion(code, kOfNormalisation); }

bool isChinese(char32_t code)
{
    constexpr std::array<std::pair<char32_t, char32_t>, 8> kBlocks{{{0x4E00, 0x9FFF},
                                                                    {0x3400, 0x4DBF},
                                                                    {0x20000, 0x2A6DF},
                                                                    {0x2A700, 0x2B73F},
                                                                    {0x2B740, 0x2B81F},
                                                                    {0x2B920, 0x2CEAF},
                                                                    {0xF900, 0xFAFF},
                                                                    {0x2F800, 0x2FA1F}}};
    return std::any_of(kBlocks.begin(), kBlocks.end(),
                       [code](const auto& block) { return code >= block.first && code <= block.second; });
}

} // namespace retro::text
