// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace retro::base
{

/// What parseBytes() reads, for messages and help.
inline constexpr std::string_view kBytesForms = "bytes such as 4096, 1e9, 8GB or 1.5GiB";

/// A size as people write it: a number with or without a fraction or an exponent, and a unit. kB, MB, GB, TB and PB are
/// powers of 1000; KiB, MiB, GiB, TiB and PiB powers of 1024; without a unit, or with B, bytes. Upper and lower case
/// mean the same, and a space may stand before the unit. Fractions of a byte are cut off. Errors (Usage, without a
/// place): a letter alone ("8G" may be 8GB or 8GiB: the message names both), something else, a negative size, more than
/// 2^63 − 1 bytes.
[[nodiscard]] Result<std::uint64_t> parseBytes(std::string_view text);

/// As parseBytes(), or a share of `whole` such as "70%". Errors (Usage): also a share of 0 or beyond 1,000,000 %.
[[nodiscard]] Result<std::uint64_t> parseBytesOrShare(std::string_view text, std::uint64_t whole);
/// True for what parseBytesOrShare() takes as a share.
[[nodiscard]] inline bool isShareText(std::string_view text) { return text.ends_with('%'); }

/// 1536 → "1.5 kB": powers of 1000, one decimal, wherever the program says a size.
[[nodiscard]] std::string bytesText(std::uint64_t bytes);
/// In both forms, for budgets: 8000000000 → "8.00 GB (7.45 GiB)"; below 1000 "999 B".
[[nodiscard]] std::string bothBytesText(std::uint64_t bytes);

} // namespace retro::base
