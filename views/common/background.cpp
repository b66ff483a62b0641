// SPDX-License-Identifier: Apache-2.0
#include "views/common/background.h"

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

} // namespace retro::views
