// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>

#include <string>

namespace retro::app
{

/// The window's application: what a handler throws (no memory) ends that handler, not the program, and is told to
/// views::BackgroundFailures.
class GuardedApplication final : public QApplication
{
public:
    using QApplication::QApplication;

    bool notify(QObject* receiver, QEvent* event) override;
};

/// Text in pictures needs Qt's fonts, and these need an application object. Makes one without a display (platform
/// "offscreen") when the process has none; does nothing in the window.
void ensureGuiApplication();

/// Exit code without a display; that of an output that cannot be written.
inline constexpr int kNoDisplay = 5;

/// Why no window can be shown: no display is named, and no platform of Qt that needs none. Empty where one can be.
[[nodiscard]] std::string missingDisplay();

/// Keeps remarks of Qt's platforms about a missing XDG_RUNTIME_DIR and size hints off standard error; call before the
/// application object is made. A display that cannot be reached ends the process with exit code 5 and one sentence.
void quietPlatform();

} // namespace retro::app
