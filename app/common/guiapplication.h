// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::app
{

/// Text in pictures needs Qt's fonts, and these need an application object. Makes one without a display (platform
/// "offscreen") when the process has none; does nothing in the window.
void ensureGuiApplication();

/// Keeps Qt's remark about a missing XDG_RUNTIME_DIR off standard error; call before the application object is made.
void quietRuntimeFolder();

} // namespace retro::app
