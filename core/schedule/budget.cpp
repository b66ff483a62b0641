// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/budget.h"

#include "core/analysis/report.h"
#include "core/base/bytesize.h"

#include <fmt/format.h>

namespace retro::schedule
{

base::Result<std::uint64_t> parseBudget(const std::string& text, const analysis::OpGraph& joint)
{
    const std::uint64_t whole = base::isShareText(text) ? analysis::storeAllPeak(joint) : 0;
    auto bytes = base::parseBytesOrShare(text, whole);
    if (bytes.ok() && *bytes > analysis::kMaxTotalBytes) {
        bytes = base::usageError(fmt::format("a budget has at most {}", base::bytesText(analysis::kMaxTotalBytes)));
    }
    return bytes.ok() ? std::move(bytes) : base::within(std::move(bytes).error(), "--budget " + text);
}

base::Result<Tier> parseTier(const std::string& text)
{
    const std::size_t at = text.find('=');
    Tier tier;
    tier.name = text.substr(0, at);
    const auto bytes = base::parseBytes(at == std::string::npos ? std::string() : text.substr(at + 1));
    if (tier.name.empty() || !bytes.ok() || *bytes == 0) {
        return base::usageError("write it as NAME=BYTES, bytes per second of copies both ways, such as disk=500MB",
                                "--tier " + text);
    }
    tier.bytesPerSecond = static_cast<double>(*bytes);
    return tier;
}

} // namespace retro::schedule
