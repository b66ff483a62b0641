// SPDX-License-Identifier: Apache-2.0
#include "core/base/memoryreserve.h"

#include "core/base/sanitized.h"

#include <atomic>
#include <cstdlib>

namespace retro::base
{

namespace
{

std::atomic<void*> held{nullptr};
std::atomic<bool> isGivenBack{false};

/// Keeps a block; frees it where another thread was faster.
bool keep(void* block) noexcept
{
    if (block == nullptr) {
        return false;
    }
    void* none = nullptr;
    if (!held.compare_exchange_strong(none, block)) {
        std::free(block); // NOLINT(cppcoreguidelines-no-malloc): as it was taken
    }
    return true;
}

} // namespace

void MemoryReserve::open() noexcept
{
    if (held.load() == nullptr && !isGivenBack.load()) {
        // malloc, because operator new itself calls release(). Its pages are never touched: they cost addresses.
        keep(std::malloc(kBytes)); // NOLINT(cppcoreguidelines-no-malloc)
    }
}

bool MemoryReserve::release() noexcept
{
    void* block = held.exchange(nullptr);
    if (block == nullptr) {
        return false;
    }
    isGivenBack.store(true);
    std::free(block); // NOLINT(cppcoreguidelines-no-malloc)
    return true;
}

bool MemoryReserve::hasEnded() noexcept { return isGivenBack.load(std::memory_order_relaxed); }

bool MemoryReserve::renew() noexcept
{
    if (!isGivenBack.load()) {
        return true;
    }
    if (!keep(std::malloc(kBytes))) { // NOLINT(cppcoreguidelines-no-malloc)
        return false;
    }
    isGivenBack.store(false);
    return true;
}

bool MemoryReserve::hasRoom([[maybe_unused]] std::size_t bytes) noexcept
{
#if RETRO_SANITIZED // its allocator fills and marks what it gives: asking would take longer than what is asked for
    return true;
#else
    void* block = std::malloc(bytes); // NOLINT(cppcoreguidelines-no-malloc)
    // Else the compiler may leave out both calls.
    asm volatile("" : "+r"(block)); // NOLINT(hicpp-no-assembler)
    std::free(block);               // NOLINT(cppcoreguidelines-no-malloc)
    return block != nullptr;
#endif
}

} // namespace retro::base
