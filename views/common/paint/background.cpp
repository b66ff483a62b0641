// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/background.h"

#include <QCoreApplication>

#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace retro::views
{

void stepBehindTheWindow()
{
#ifdef __linux__
    // A core that both want is the window's for nine tenths of the time; with a niceness of 5 its longest waits were
    // longer. Beside other busy programs the work gets as small a share. QThread's priorities change nothing under the
    // usual scheduler; Linux counts niceness per thread.
    constexpr int kNice = 10;
    static_cast<void>(
        setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kNice)); // else it stays as it is
#endif
}

QThreadPool& backgroundPool()
{
    static QThreadPool pool;
    static const bool isAwaited = [] {
        qAddPostRoutine([] { backgroundPool().waitForDone(); });
        return true;
    }();
    static_cast<void>(isAwaited);
    return pool;
}

BackgroundFailures& BackgroundFailures::instance()
{
    static BackgroundFailures failures;
    return failures;
}

void BackgroundFailures::report(const base::Error& error)
{
    emit failed(QString::fromStdString(error.text()), remedyFor(error));
}

QString remedyFor(const base::Error& error)
{
    switch (error.code) {
    case base::ErrorCode::Input:
        return BackgroundFailures::tr("Choose another file, or mend this one and open it again.");
    case base::ErrorCode::Usage:
        return BackgroundFailures::tr("Change the question in the run panel and run again.");
    case base::ErrorCode::Memory:
        return BackgroundFailures::tr(
            "Nothing was changed. Allow more memory in the preferences, give a smaller input, "
            "or close other programs.");
    default:
        return BackgroundFailures::tr("Nothing was changed; the view before stays.");
    }
}

} // namespace retro::views

#include "moc_background.cpp"
