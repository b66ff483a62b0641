// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::ops
{

/// Widths of registers that code is compiled for.
enum class Registers : std::uint8_t {
    Narrow, ///< what every processor has
    Middle, ///< 256 bits: AVX2 and FMA
    Wide    ///< 512 bits: AVX-512 F, VL, BW, DQ, CD
};

/// The widest that the processor has and oneDNN may use (ONEDNN_MAX_CPU_ISA): one answer for the whole program.
[[nodiscard]] Registers registersAtHand();

/// True where the processor multiplies pairs of bfloat16 (AVX-512 BF16), and oneDNN may.
[[nodiscard]] bool hasPairsOfBfloats();

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/// f() compiled for one width. The closure is copied, so that what it holds can stay in registers.
template <class F>
[[gnu::target("arch=x86-64-v4,prefer-vector-width=512"), gnu::flatten, gnu::noinline]] void callOnWide(const F& f)
{
    const F own = f;
    own();
}
template <class F>
[[gnu::target("arch=x86-64-v3"), gnu::flatten, gnu::noinline]] void callOnMiddle(const F& f)
{
    const F own = f;
    own();
}

/// f(), compiled for every width of registers; the widest at hand is chosen. f is a loop whose body the compiler can
/// see. Products and sums are rounded one by one in each width (-ffp-contract=off), or both at once by std::fma(), so
/// results do not depend on it.
template <class F>
void onWidestRegisters(const F& f)
{
    switch (registersAtHand()) {
    case Registers::Wide:
        return callOnWide(f);
    case Registers::Middle:
        return callOnMiddle(f);
    case Registers::Narrow:
        break;
    }
    f();
}

#else

template <class F>
void onWidestRegisters(const F& f)
{
    f();
}

#endif

} // namespace retro::ops
