// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace retro::ops
{

/// While it lives, numbers below the smallest normal one count as 0 in what the calling thread computes, and so do
/// results. Processors of Intel take some hundred times as long for a product of such numbers, and the relevance of
/// tokens that a saturated softmax hardly looks at is full of them. Processors that cannot keep them.
class FlushedNumbers
{
public:
#if defined(__SSE__)
    FlushedNumbers() : m_before(_mm_getcsr()) { _mm_setcsr(m_before | kFlushed); }
    ~FlushedNumbers() { _mm_setcsr(m_before); }
#else
    FlushedNumbers() = default;
    ~FlushedNumbers() = default;
#endif
    FlushedNumbers(const FlushedNumbers&) = delete;
    FlushedNumbers& operator=(const FlushedNumbers&) = delete;

private:
#if defined(__SSE__)
    static constexpr unsigned kFlushed = 0x8040; ///< results, and operands
    unsigned m_before;
#endif
};

} // namespace retro::ops
