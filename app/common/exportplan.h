// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/plan/plansubject.h"
#include "views/plan/shownplan.h"

#include <QSize>

#include <filesystem>

namespace retro::app
{

/// Writes a plan as the window shows it: the schedule as .svg, .png or .pdf, its steps as .csv. Makes an offscreen
/// application when the process has none. Errors: Usage (ending), Output.
[[nodiscard]] base::Result<void> exportPlan(const views::ShownPlanPointer& plan, const std::filesystem::path& path,
                                            bool isDark = false, const QSize& size = {1200, 700});

} // namespace retro::app
