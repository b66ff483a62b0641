// SPDX-License-Identifier: Apache-2.0
#include "core/base/temporaries.h"

#include <array>
#include <atomic>
#include <unistd.h>
#include <utility>

namespace retro::base
{

namespace
{

constexpr std::size_t kMostAtOnce = 64;

std::array<std::atomic<const char*>, kMostAtOnce> pending; // NOLINT: a signal handler can reach nothing but globals

} // namespace

PendingTemporary::PendingTemporary(std::string path) : m_path(std::move(path))
{
    for (m_slot = 0; m_slot < kMostAtOnce; ++m_slot) {
        const char* free = nullptr;
        if (pending[m_slot].compare_exchange_strong(free, m_path.c_str())) {
            return;
        }
    }
}

PendingTemporary::~PendingTemporary()
{
    if (m_slot < kMostAtOnce) {
        pending[m_slot] = nullptr;
    }
}

void removeTemporaries()
{
    for (const auto& each : pending) {
        if (const char* const path = each.load()) {
            ::unlink(path);
        }
    }
}

} // namespace retro::base
