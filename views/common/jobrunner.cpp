// SPDX-License-Identifier: Apache-2.0
#include "views/common/jobrunner.h"

#include "core/base/failure.h"
#include "views/common/paint/background.h"

#include <QMetaObject>

#include <mutex>
#include <utility>

namespace retro::views
{

/// The way back to the runner: posting and the runner's end exclude each other.
struct JobRunner::Channel
{
    std::mutex mutex;
    JobRunner* runner = nullptr; // null once the runner is gone

    void post(std::uint64_t generation, Delivery delivery)
    {
        const std::lock_guard lock(mutex);
        if (runner != nullptr) {
            QMetaObject::invokeMethod(
                runner,
                [target = runner, generation, result = std::move(delivery)] { target->finish(generation, result); },
                Qt::QueuedConnection);
        }
    }
};

JobRunner::JobRunner(QObject* parent) : QObject(parent), m_channel(std::make_shared<Channel>())
{
    m_channel->runner = this;
}

JobRunner::~JobRunner()
{
    m_stop.request_stop();
    const std::lock_guard lock(m_channel->mutex);
    m_channel->runner = nullptr;
}

void JobRunner::start(Work work)
{
    cancel();
    m_stop = std::stop_source();
    m_isRunning = true;
    backgroundPool().start(
        [channel = m_channel, generation = m_generation, token = m_stop.get_token(), job = std::move(work)] {
            stepBehindTheWindow();
            auto done = base::caught([&]() -> base::Result<Delivery> { return job(token); });
            if (!done) {
                BackgroundFailures::instance().report(done.error());
            }
            channel->post(generation, done ? std::move(done).value() : Delivery());
        });
}

void JobRunner::cancel()
{
    m_stop.request_stop();
    ++m_generation;
    m_isRunning = false;
}

void JobRunner::finish(std::uint64_t generation, const Delivery& delivery)
{
    if (generation != m_generation) {
        return;
    }
    m_isRunning = false;
    if (delivery) {
        delivery();
    }
    emit delivered();
}

} // namespace retro::views

#include "moc_jobrunner.cpp"
