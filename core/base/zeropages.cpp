// SPDX-License-Identifier: Apache-2.0
#include "core/base/zeropages.h"

#include <algorithm>
#include <sys/mman.h>

namespace retro::base
{

std::shared_ptr<std::byte> zeroPages(std::size_t bytes)
{
    const std::size_t length = std::max<std::size_t>(bytes, 1);
    void* const pages =
        ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        return nullptr;
    }
    return {static_cast<std::byte*>(pages), [length](std::byte* first) { ::munmap(first, length); }};
}

} // namespace retro::base
