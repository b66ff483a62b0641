// SPDX-License-Identifier: Apache-2.0
#include "app/gui/jobs/runhandles.h"

#include "app/gui/facts/runfigures.h"
#include "app/gui/facts/runproblems.h"
#include "app/gui/stepping/stepper.h"
#include "core/base/cancel.h"
#include "core/base/leftovers.h"
#include "core/trace/motion.h"
#include "core/trace/nodesteps.h"
#include "views/breakpoints/breakpointwords.h"
#include "views/common/paint/background.h"
#include "views/common/run/gradientnote.h"
#include "views/common/run/runindex.h"
#include "views/common/run/segments.h"
#include "views/heatmap/arrivedrow.h"
#include "views/ledger/ledgercurve.h"
#include "views/lut/lutrun.h"
#include "views/notebook/notebookentry.h"
#include "views/promises/promiseforest.h"
#include "views/timeline/frontiermodes.h"
#include "views/timeline/timelinemarks.h"
#include "views/verify/stepchecks.h"

#include <QCoreApplication>
#include <QThread>

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
        views::backgroundPool().start([last = std::move(thing)] { views::stepBehindTheWindow(); });
    }
}

template <class T>
std::shared_ptr<T> disposedAside(std::shared_ptr<T> thing)
{
    T* pointer = thing.get();
    return std::shared_ptr<T>(pointer, [held = std::move(thing)](T*) mutable { dispose(std::move(held)); });
}

/// One kind after the other; false when that was stopped.
template <class... Kinds>
bool derive(views::RunDerived& derived, const std::stop_token& stop)
{
    const auto make = [&](auto&& get) {
        get();
        return !stop.stop_requested();
    };
    return (make([&] { static_cast<void>(derived.get<Kinds>()); }) && ...);
}

} // namespace

base::Result<views::RunHandle> makeHandle(std::shared_ptr<const trace::Run> run, const std::stop_token& stop)
{
    RETRO_CHECK(base::checkStop(stop));
    RETRO_TRY(trace::Timeline opened, trace::Timeline::open(run, stop));
    auto timeline = std::make_shared<trace::Timeline>(std::move(opened));
    auto derived = std::make_shared<views::RunDerived>(run);
    const bool isWhole =
        derive<views::RunIndex, views::PromiseForest, views::FrontierModes, views::LedgerCurve, trace::NodeSteps,
               trace::Motion, views::LossMarks, views::GradientNote, views::BreakpointWords, views::PromiseStarts,
               views::StepChecks, views::LutRun, views::Segments, views::StartedRelevance, Stepper, RunFigures,
               RunProblems>(*derived, stop);
    if (!isWhole) {
        base::Leftovers::add(timeline);
        base::Leftovers::add(derived);
        return base::checkStop(stop).error();
    }
    return views::RunHandle{disposedAside(std::move(run)), disposedAside(std::move(timeline)),
                            disposedAside(std::move(derived))};
}

} // namespace retro::app
