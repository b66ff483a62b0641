// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/options.h"

namespace retro::app
{

class MainWindow;

/// Shows the window, waits until the job and every view are done, saves a picture, and gives the exit code: 0, 3 (the
/// model could not be explained), 5 (the picture could not be written), 2 (no node, pane or action of that name).
[[nodiscard]] int takeScreenshot(MainWindow& window, const WindowOptions& options);

} // namespace retro::app
