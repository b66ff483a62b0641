// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/tiers/copystream.h"

#include "core/base/failure.h"

namespace retro::runtime
{

namespace
{

/// Nothing may leave the thread but by a Result.
base::Result<void> done(const std::function<base::Result<void>()>& work)
{
    return base::caughtAt([] { return "a copy between tiers"; }, work);
}

} // namespace

CopyStream::CopyStream() : m_thread([this](const std::stop_token& stop) { loop(stop); }) {}

CopyStream::~CopyStream() = default;

CopyStream::Ticket CopyStream::submit(std::function<base::Result<void>()> work)
{
    const std::scoped_lock lock(m_mutex);
    m_work.push_back(std::move(work));
    m_changed.notify_all();
    return ++m_submitted;
}

base::Result<void> CopyStream::wait(Ticket ticket)
{
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return m_done >= ticket; });
    return m_error ? base::Result<void>(*m_error) : base::Result<void>();
}

base::Result<void> CopyStream::drain() { return wait(m_submitted); }

void CopyStream::loop(const std::stop_token& stop)
{
    std::unique_lock lock(m_mutex);
    while (m_changed.wait(lock, stop, [this] { return !m_work.empty(); }) && !stop.stop_requested()) {
        std::function<base::Result<void>()> work = std::move(m_work.front());
        m_work.pop_front();
        const bool isBroken = m_error.has_value();
        lock.unlock();
        base::Result<void> result = isBroken ? base::Result<void>() : done(work);
        work = nullptr; // tensors that it held are gone before anybody hears of the end
        lock.lock();
        if (!result.ok() && !m_error) {
            m_error = result.error();
        }
        ++m_done;
        m_changed.notify_all();
    }
}

} // namespace retro::runtime
