// SPDX-License-Identifier: Apache-2.0
#include "core/base/temporaries.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace retro::base
{

namespace
{

constexpr std::size_t kMostAtOnce = 64;

std::array<std::atomic<const char*>, kMostAtOnce> pending; // NOLINT: a signal handler can reach nothing but globals

/// For who reads a name while others end theirs; not for the signal handler.
std::mutex& namesInUse()
{
    static std::mutex mutex;
    return mutex;
}

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
    const std::lock_guard lock(namesInUse());
    if (m_slot < kMostAtOnce) {
        pending[m_slot] = nullptr;
    }
}

bool isBeingWritten(std::string_view fileName)
{
    const std::lock_guard lock(namesInUse());
    return std::ranges::any_of(pending, [fileName](const auto& each) {
        const char* const path = each.load();
        return path != nullptr && std::filesystem::path(path).filename() == fileName;
    });
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
