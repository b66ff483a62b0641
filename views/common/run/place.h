// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/selection.h"

#include <cstdint>

namespace retro::views
{

/// Where somebody was: the step (events applied), and what was selected.
struct Place
{
    std::uint64_t position = 0;
    SelectedThing thing;
    bool operator==(const Place&) const = default;
};

} // namespace retro::views
