// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QThreadPool>

namespace retro::views
{

/// Lets the calling thread, and every thread that it starts from now on, step back behind the window's: with as many
/// working threads as processors, the window would otherwise wait for its turn. Does nothing where the system has no
/// priority per thread. Can be called again.
void stepBehindTheWindow();

/// Threads for work beside the window's. Qt paints large areas on its global pool and waits for it: whatever runs there
/// for long holds a frame up, so nothing of ours may. What still runs when the application ends is waited for.
[[nodiscard]] QThreadPool& backgroundPool();

} // namespace retro::views
