// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <stop_token>
#include <string>

namespace retro::python
{

/// What goes between a pass and Python while the lock of the interpreter is let go: progress to a function, Ctrl+C and
/// what that function raises back. Looks at most every 40 ms, between operators: one long operator delays both.
class Listener
{
public:
    /// `told`: f(stage, done, total), or None.
    explicit Listener(nanobind::object told) : m_told(std::move(told)) {}

    [[nodiscard]] std::stop_token token() const { return m_stop.get_token(); }
    /// To be called without the lock, on the thread that explains.
    [[nodiscard]] engine::StageProgress progress()
    {
        return
            [this](const std::string& stage, std::size_t done, std::size_t total) { onProgress(stage, done, total); };
    }
    /// With the lock, when the pass has ended: throws what stopped it.
    void finish() const
    {
        if (m_raised) {
            std::rethrow_exception(m_raised);
        }
    }

private:
    using Clock = std::chrono::steady_clock;

    void onProgress(const std::string& stage, std::size_t done, std::size_t total)
    {
        constexpr std::chrono::milliseconds kPause{40};
        const Clock::time_point now = Clock::now();
        const bool isNew = !m_told.is_none() && stage != m_stage;
        if (m_raised || (!isNew && now - m_last < kPause)) {
            return;
        }
        m_last = now;
        m_stage = stage;
        const nanobind::gil_scoped_acquire lock;
        try {
            if (PyErr_CheckSignals() != 0) {
                throw nanobind::python_error();
            }
            if (!m_told.is_none()) {
                m_told(stage, done, total);
            }
        } catch (...) {
            m_raised = std::current_exception();
            m_stop.request_stop();
        }
    }

    nanobind::object m_told;
    std::stop_source m_stop;
    std::exception_ptr m_raised;
    std::string m_stage;
    Clock::time_point m_last = Clock::now();
};

} // namespace retro::python
