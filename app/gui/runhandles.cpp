// SPDX-License-Identifier: Apache-2.0
#include "app/gui/runhandles.h"

#include "app/gui/runfigures.h"
#include "app/gui/runproblems.h"
#include "app/gui/stepper.h"
#include "views/breakpoints/breakpointwords.h"
#include "views/common/runindex.h"
#include "views/ledger/ledgercurve.h"
#include "views/promises/promiseforest.h"
#include "views/timeline/frontiermodes.h"

#include <QCoreApplication>
#include <QThread>
#include <QThreadPool>

#include <utility>

namespace retro::app
{

namespace
{

/// A long run takes tens of milliseconds to take apart.
void dispose(std::shared_ptr<const void> thing)
{
    const QCoreApplication* application = QCoreApplication::instance();
    if (application != nullptr && application->thread() == QThread::currentThread()) {
        QThreadPool::globalInstance()->start([last = std::move(thing)] {});
    }
}

template <class T>
std::shared_ptr<T> disposedAside(std::shared_ptr<T> thing)
{
    T* pointer = thing.get();
    return std::shared_ptr<T>(pointer, [held = std::move(thing)](T*) mutable { dispose(std::move(held)); });
}

template <class... Kinds>
void derive(views::RunDerived& derived)
{
    (static_cast<void>(derived.get<Kinds>()), ...);
}

} // namespace

base::Result<views::RunHandle> makeHandle(std::shared_ptr<const trace::Run> run)
{
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(run));
    auto derived = std::make_shared<views::RunDerived>(run);
    derive<views::RunIndex, views::PromiseForest, views::FrontierModes, views::LedgerCurve, views::BreakpointWords,
           Stepper, RunFigures, RunProblems>(*derived);
    return views::RunHandle{disposedAside(std::move(run)),
                            disposedAside(std::make_shared<trace::Timeline>(std::move(timeline))),
                            disposedAside(std::move(derived))};
}

} // namespace retro::app
