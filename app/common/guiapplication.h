// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>

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

/// Keeps remarks of Qt's platforms about a missing XDG_RUNTIME_DIR and size hints off standard error; call before the
/// application object is made.
void quietPlatform();

} // namespace retro::app
