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
    // Enough to be served first, little enough not to starve beside other programs. QThread's priorities change nothing
    // under the usual scheduler; Linux counts niceness per thread.
    constexpr int kNice = 5;
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
