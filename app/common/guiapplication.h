// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::app
{

/// Text in pictures needs Qt's fonts, and these need an application object. Makes one without a display (platform
/// "offscreen") when the process has none; does nothing in the window.
void ensureGuiApplication();

/// Keeps remarks of Qt's platforms about a missing XDG_RUNTIME_DIR and size hints off standard error; call before the
/// application object is made.
void quietPlatform();

} // namespace retro::app
