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

} // namespace retro::schedule
