// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <QObject>
#include <QString>
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

/// Where work that nobody waits for says that it broke off: what was thrown in a job or in a handler of the window must
/// not end the program. The window lists it under Problems. Any thread.
class BackgroundFailures final : public QObject
{
    Q_OBJECT

public:
    [[nodiscard]] static BackgroundFailures& instance();

    /// Tells whoever listens, on the listener's own thread.
    void report(const base::Error& error);

signals:
    void failed(const QString& what, const QString& remedy);
};

/// What a person can do about an error, by its kind; the message itself already says what is wrong.
[[nodiscard]] QString remedyFor(const base::Error& error);

} // namespace retro::views
