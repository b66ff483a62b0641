// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>

namespace retro::lut::cpu
{

/// What the parts of a parallel region throw. No exception may leave such a region: each part runs in run(), and
/// behind the region rethrow() throws the first that any part threw on the thread that waited for them.
class FirstException
{
public:
    /// f(), on any thread of the region.
    template <class F>
    void run(const F& f) noexcept
    {
        try {
            f();
        } catch (...) {
            if (!m_isTaken.test_and_set()) {
                m_first = std::current_exception();
            }
        }
    }

    /// Throws what came first; does nothing when nothing came. After the region, on one thread.
    void rethrow() const
    {
        if (m_first) {
            std::rethrow_exception(m_first);
        }
    }

private:
    std::atomic_flag m_isTaken;
    std::exception_ptr m_first;
};

} // namespace retro::lut::cpu
