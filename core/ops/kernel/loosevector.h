// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::ops
{

/// A vector of floats wherever it lies: what `Vector` is declared to be. As an argument of a template clang takes a
/// vector type without what its declaration says of alignment; so code that is written for several widths goes through
/// this.
template <class Vector>
struct Loose
{
#if defined(__clang__)
    using Type __attribute__((aligned(alignof(float)), may_alias)) = Vector;
#else
    using Type = Vector; // said twice, it makes other code of g++
#endif
};

/// The numbers from `place` on. A pointer, because clang takes for granted that a reference which a function returns is
/// aligned as the vector itself would be.
template <class Vector>
[[gnu::always_inline]] inline const typename Loose<Vector>::Type* looseAt(const float* place)
{
    return reinterpret_cast<const typename Loose<Vector>::Type*>(place);
}
/// As above, to be written.
template <class Vector>
[[gnu::always_inline]] inline typename Loose<Vector>::Type* looseAt(float* place)
{
    return reinterpret_cast<typename Loose<Vector>::Type*>(place);
}

} // namespace retro::ops
