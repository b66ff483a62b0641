// SPDX-License-Identifier: Apache-2.0
#include "core/tape/fault.h"

#include <fmt/format.h>

namespace retro::tape
{

bool Fault::isShape() const
{
    return kind == FaultKind::SeedShape || kind == FaultKind::ContributionShape || kind == FaultKind::UpstreamShape;
}

base::Error Fault::asError() const { return base::inputError(message); }

std::string cellText(Id id, const std::string& name)
{
    return name.empty() ? fmt::format("id {}", id) : fmt::format("'{}' (id {})", name, id);
}

} // namespace retro::tape
