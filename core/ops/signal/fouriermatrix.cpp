// SPDX-License-Identifier: Apache-2.0
#include "core/ops/signal/fouriermatrix.h"

#include "core/ops/kernel/filled.h"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace retro::ops
{

namespace
{

/// Cosine and sine of a part of a turn, exact for quarters.
std::pair<double, double> onCircle(std::int64_t part, std::int64_t whole)
{
    static constexpr std::array<std::pair<double, double>, 4> kQuarters{{{1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
    if (4 * part % whole == 0) {
        return kQuarters[static_cast<std::size_t>(4 * part / whole)];
    }
    const double angle = 2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(whole);
    return {std::cos(angle), std::sin(angle)};
}

/// What a real element, and the imaginary one `next` elements behind (0: none), give to a bin: c + i·s, and
/// i·(c + i·s) = −s + i·c.
template <class T>
void writePair(double cosine, double sine, std::int64_t next, T* at)
{
    at[0] = static_cast<T>(cosine);
    at[1] = static_cast<T>(sine);
    if (next != 0) {
        at[next] = static_cast<T>(-sine);
        at[next + 1] = static_cast<T>(cosine);
    }
}

template <class T>
void fillMatrix(const FourierForm& form, T* out)
{
    const double factor = form.isInverse ? 1 / static_cast<double>(form.length) : 1;
    const std::int64_t next = form.components == 2 ? form.bins * 2 : 0;
    for (std::int64_t n = 0; n < std::min(form.signal, form.length); ++n) {
        for (std::int64_t k = 0; k < form.bins; ++k) {
            const auto [cosine, sine] = onCircle(k * n % form.length, form.length);
            const double signedSine = form.isInverse ? sine : -sine;
            writePair(factor * cosine, factor * signedSine, next, out + n * form.components * form.bins * 2 + 2 * k);
        }
    }
}

/// A bin stands for its mirror in the other half as well, unless it is its own; imaginary parts of those that are do
/// not count.
template <class T>
void fillHalfInverse(const FourierForm& form, T* out)
{
    for (std::int64_t k = 0; k < std::min(form.signal, form.length / 2 + 1); ++k) {
        const bool isOwnMirror = k == 0 || 2 * k == form.length;
        const double factor = (isOwnMirror ? 1 : 2) / static_cast<double>(form.length);
        T* const ofReal = out + 2 * k * form.bins;
        for (std::int64_t n = 0; n < form.bins; ++n) {
            const auto [cosine, sine] = onCircle(k * n % form.length, form.length);
            ofReal[n] = static_cast<T>(factor * cosine);
            ofReal[form.bins + n] = static_cast<T>(isOwnMirror ? 0 : -factor * sine);
        }
    }
}

} // namespace

tensor::Tensor fourierMatrix(tensor::DType type, const FourierForm& form)
{
    return accumulated(type, {form.signal * form.components, form.bins * resultComponents(form)},
                       [&](auto* out) { form.isHalf ? fillHalfInverse(form, out) : fillMatrix(form, out); });
}

} // namespace retro::ops
