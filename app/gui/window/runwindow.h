// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::app
{

class MainWindow;
struct WindowOptions;

/// Shows the window until it is closed. A job that does not stop then is left behind: the process ends at once, without
/// the destructors that would wait for it. Returns the code of the process.
[[nodiscard]] int runWindow(MainWindow& window, const WindowOptions& options);

} // namespace retro::app
