// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/gui/window/mainwindow.h"

#include <QTest>

namespace retro::tests
{

/// How long a test of the window waits for what must come, in ms. It only ends what hangs: a busy machine is slow.
/// A signal of the engine thread is waited for with QTRY_VERIFY_WITH_TIMEOUT: it may be there before
/// QSignalSpy::wait() begins, which waits for the next one.
inline constexpr int kPatience = 120'000;

/// Waits until the window computes nothing more; false after kPatience.
inline bool settles(const app::MainWindow& window)
{
    return QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience);
}

} // namespace retro::tests
