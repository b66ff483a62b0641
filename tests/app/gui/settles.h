// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "app/gui/window/mainwindow.h"
#include "views/common/paint/style.h"

#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

namespace retro::tests
{

/// How long a test of the window waits for what must come, in ms. It only ends what hangs: a busy machine is slow.
/// A signal of the engine thread is waited for with QTRY_VERIFY_WITH_TIMEOUT: it may be there before
/// QSignalSpy::wait() begins, which waits for the next one.
inline constexpr int kPatience = 120'000;

/// The look of the program, with settings in a folder of the test's own.
inline void keepSettingsIn(const QTemporaryDir& folder)
{
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder.path());
    views::Style::install(*qApp);
}

/// Waits until the window computes nothing more; false after kPatience.
inline bool settles(const app::MainWindow& window)
{
    return QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience);
}

} // namespace retro::tests

/// Ends a test function unless the window comes to rest without an error.
#define RETRO_SETTLES(window)                                                                                          \
    do {                                                                                                               \
        QVERIFY(retro::tests::settles(window));                                                                        \
        QVERIFY2((window).lastError().isEmpty(), qPrintable((window).lastError()));                                    \
    } while (false)
