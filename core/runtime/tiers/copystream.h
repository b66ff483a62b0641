// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace retro::runtime
{

/// One background thread that does what it is given, in order. Its owner's thread submits and waits; the destructor
/// lets what is under way end and forgets the rest.
class CopyStream
{
public:
    using Ticket = std::uint64_t;

    CopyStream();
    ~CopyStream();
    CopyStream(const CopyStream&) = delete;
    CopyStream& operator=(const CopyStream&) = delete;

    /// Puts work on the stream. What it captures must stay until wait() has answered, or the stream is gone.
    [[nodiscard]] Ticket submit(std::function<base::Result<void>()> work);
    /// Waits until that work and all before it has ended. Errors: the first that any work ended with; later work is
    /// then not done.
    [[nodiscard]] base::Result<void> wait(Ticket ticket);
    /// Waits for all of it.
    [[nodiscard]] base::Result<void> drain();

private:
    void loop(const std::stop_token& stop);

    std::mutex m_mutex;
    std::condition_variable_any m_changed;
    std::deque<std::function<base::Result<void>()>> m_work;
    std::optional<base::Error> m_error;
    Ticket m_submitted = 0;
    Ticket m_done = 0;
    std::jthread m_thread; ///< last: it ends before what it uses
};

} // namespace retro::runtime
