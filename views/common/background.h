// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::views
{

/// Lets the calling thread, and every thread that it starts from now on, step back behind the window's: with as many
/// working threads as processors, the window would otherwise wait for its turn. Does nothing where the system has no
/// priority per thread. Can be called again.
void stepBehindTheWindow();

} // namespace retro::views
