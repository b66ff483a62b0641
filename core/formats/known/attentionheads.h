// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/known/functionwriter.h"

#include <cstdint>
#include <string>
#include <vector>

/// What the functions of attentions share.
namespace retro::formats
{

using HeadNames = FunctionWriter::Names;

inline constexpr std::int64_t kSplitByCount = 18;  ///< version since which Split makes a number of equal parts
inline constexpr std::int64_t kFirstOpset = 23;    ///< version since which the standard has Attention
inline constexpr std::size_t kScoreOutput = 3;     ///< of all attentions
inline constexpr std::int64_t kScoresWithMask = 2; ///< qk_matmul_output_mode of Attention

/// The last two of four axes as one.
inline std::string headsJoined(FunctionWriter& body, const std::string& x)
{
    return body.add("Reshape", {x, body.integers({0, 0, -1})});
}

/// Tokens × heads as heads × tokens, or back.
inline std::string headsSwapped(FunctionWriter& body, const std::string& x)
{
    return body.add("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
}

} // namespace retro::formats
