// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/budget.h"

#include "core/analysis/report.h"

#include <charconv>
#include <cmath>

namespace retro::schedule
{

base::Result<std::uint64_t> parseBudget(const std::string& text, const analysis::OpGraph& joint)
{
    const bool isShare = text.ends_with('%');
    const char* const end = text.data() + text.size() - (isShare ? 1 : 0);
    if (isShare) {
        double percent = 0;
        const auto parsed = std::from_chars(text.data(), end, percent);
        const bool isGood = parsed.ec == std::errc() && parsed.ptr == end && percent > 0 && percent <= 1e6;
        return isGood ? base::Result<std::uint64_t>(static_cast<std::uint64_t>(
                            std::floor(static_cast<double>(analysis::storeAllPeak(joint)) * percent / 100)))
                      : base::usageError("a share of the store-all peak is written like 50%", "--budget " + text);
    }
    std::uint64_t bytes = 0;
    const auto parsed = std::from_chars(text.data(), end, bytes);
    const bool isGood = parsed.ec == std::errc() && parsed.ptr == end && bytes <= analysis::kMaxTotalBytes;
    return isGood ? base::Result<std::uint64_t>(bytes)
                  : base::usageError("write a number of bytes, or a share of the store-all peak like 50%",
                                     "--budget " + text);
}

base::Result<Tier> parseTier(const std::string& text)
{
    const std::size_t at = text.find('=');
    Tier tier;
    tier.name = text.substr(0, at);
    const char* const end = text.data() + text.size();
    const char* const start = at == std::string::npos ? end : text.data() + at + 1;
    const auto parsed = std::from_chars(start, end, tier.bytesPerSecond);
    const bool isNumber = parsed.ec == std::errc() && parsed.ptr == end && std::isfinite(tier.bytesPerSecond);
    if (tier.name.empty() || !isNumber || tier.bytesPerSecond <= 0) {
        return base::usageError("write it as NAME=BYTES, bytes per second of copies both ways, such as disk=5e8",
                                "--tier " + text);
    }
    return tier;
}

} // namespace retro::schedule
