// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace retro::app
{

/// Gives every large block back as soon as it is let go, for runs of which the least memory is wanted. A matrix product
/// packs its operands into blocks of up to some MiB each time: those are kept, since new pages cost more than they
/// hold.
inline void giveBackFreedMemory()
{
#ifdef __GLIBC__
    constexpr int kOwnMapping = 4 << 20;
    mallopt(M_TRIM_THRESHOLD, kOwnMapping);
    mallopt(M_MMAP_THRESHOLD, kOwnMapping);
#endif
}

/// Keeps up to 256 MiB of what a pass let go for the next one, instead of giving it back page by page and asking for it
/// again: a run that is recorded touches as much new memory as it keeps, and the first touch of a page costs more than
/// writing it. What is kept may lie in pieces, so the peak can rise by some per cent. To be called before the first
/// allocation of size.
inline void keepFreedMemory()
{
#ifdef __GLIBC__
    constexpr int kKept = 256 << 20;
    constexpr int kOwnMapping = 32 << 20; // the most that the library would come to by itself
    mallopt(M_TRIM_THRESHOLD, kKept);
    mallopt(M_MMAP_THRESHOLD, kOwnMapping);
#endif
}

} // namespace retro::app
