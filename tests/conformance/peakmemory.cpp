// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/peakmemory.h"

#include "core/base/sanitized.h"

#if RETRO_SANITIZED
#include <atomic>
#include <cstddef>
#else
#include <fstream>
#include <malloc.h>
#include <string>
#endif

#if RETRO_SANITIZED
// As in <sanitizer/allocator_interface.h>, which GCC does not bring.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*onAllocation)(const volatile void*, std::size_t),
                                                         void (*onRelease)(const volatile void*));
#endif

namespace retro::conformance
{

#if RETRO_SANITIZED

namespace
{

std::atomic<std::size_t> mostHeld{0};

/// Looks at what is held.
void look()
{
    const std::size_t held = __sanitizer_get_current_allocated_bytes();
    std::size_t most = mostHeld.load();
    while (held > most && !mostHeld.compare_exchange_weak(most, held)) {
    }
}

/// Looks once for each MiB that a thread asks for: looking takes time.
void onAllocation(const volatile void* /*memory*/, std::size_t size)
{
    constexpr std::size_t kStep = std::size_t{1} << 20U;
    static thread_local std::size_t asked = 0;
    asked += size;
    if (asked >= kStep) {
        asked = 0;
        look();
    }
}

void onRelease(const volatile void* /*memory*/) {}

} // namespace

long takePeakKiB()
{
    [[maybe_unused]] static const int isWatching = __sanitizer_install_malloc_and_free_hooks(onAllocation, onRelease);
    look();
    return static_cast<long>(mostHeld.exchange(__sanitizer_get_current_allocated_bytes()) >> 10U);
}

#else

long takePeakKiB()
{
    long peak = 0;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) {
            peak = std::stol(line.substr(6));
        }
    }
    ::malloc_trim(0); // what was freed but not given back is not held
    std::ofstream("/proc/self/clear_refs") << "5\n";
    return peak;
}

#endif

} // namespace retro::conformance
