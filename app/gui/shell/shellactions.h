// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/actions.h"

#include <span>

namespace retro::app
{

/// The actions of the window around the views: palette, themes, workspaces, panes, help.
[[nodiscard]] std::span<const views::ActionSpec> shellActions();

} // namespace retro::app
