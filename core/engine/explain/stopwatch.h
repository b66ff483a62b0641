// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace retro::engine
{

/// Wall time since it was made.
class Stopwatch
{
public:
    /// Seconds on the steady clock.
    [[nodiscard]] double seconds() const
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
    }

private:
    std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

} // namespace retro::engine
