// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/registry.h"

#include "core/diagnosis/checks/checks.h"

#include <algorithm>
#include <array>

namespace retro::diagnosis
{

namespace
{

#define RETRO_CHECK_ADDRESS(name) &name,
constexpr std::array kChecks{RETRO_DIAGNOSIS_CHECKS(RETRO_CHECK_ADDRESS)};
#undef RETRO_CHECK_ADDRESS

} // namespace

std::span<const Check* const> checks() { return kChecks; }

const Check* findCheck(std::string_view id)
{
    const auto at = std::ranges::find_if(kChecks, [id](const Check* check) { return check->id == id; });
    return at == kChecks.end() ? nullptr : *at;
}

std::vector<std::string_view> families()
{
    std::vector<std::string_view> names;
    for (const Check* check : kChecks) {
        if (const std::string_view family = familyOf(check->id); std::ranges::find(names, family) == names.end()) {
            names.push_back(family);
        }
    }
    return names;
}

} // namespace retro::diagnosis
