// SPDX-License-Identifier: Apache-2.0
// Ordinary memory (lists, text, what libraries ask for) has the bound of tensors: a block that is so large that only a
// shape can be the reason is asked for only where base::MemoryLimit and the machine have room for it. Without this a
// list as long as an axis of a small file would take all the memory that there is before the first allocation fails.
#include "core/base/largeblock.h"

#include "core/base/memorylimit.h"
#include "core/base/memoryreserve.h"
#include "core/base/sanitized.h"

#include <cstdlib>

namespace retro::base
{

bool isLargeBlockAllowed(std::size_t bytes)
{
    return !whyNoMemory(bytes) && (bytes < MemoryLimit::kLargeBlock || bytes <= machineMemory().available);
}

} // namespace retro::base

#if !RETRO_SANITIZED // a sanitizer has its own
namespace
{

/// Held from the start of the program on.
[[maybe_unused]] const bool hasReserve = (retro::base::MemoryReserve::open(), true);

/// What the standard asks of operator new: the handler is called until there is memory or it throws. A small block gets
/// the reserve first.
void* blockOf(std::size_t bytes)
{
    using retro::base::MemoryReserve;
    while (true) {
        if (void* block = std::malloc(bytes == 0 ? 1 : bytes); block != nullptr) {
            return block;
        }
        if (bytes <= MemoryReserve::kLargestServed && MemoryReserve::release()) {
            continue;
        }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
            throw std::bad_alloc();
        }
        handler();
    }
}

} // namespace

/// Weak: a program may have its own. What it gives is freed by the standard operator delete.
[[gnu::weak]] void* operator new(std::size_t bytes)
{
    if (bytes >= retro::base::kLeastLargeBlock && !retro::base::isLargeBlockAllowed(bytes)) {
        throw retro::base::LargeBlockRefused(bytes);
    }
    return blockOf(bytes);
}
#endif
