// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace retro::schedule
{

/// Fewest forward steps beyond the adjoint sweep to reverse a chain of equal steps with a number of stored states, the
/// start among them (Griewank and Walther 2000): t(1, c) = 0, t(l, 1) = l(l − 1)/2, t(l, c) = min over m of
/// m + t(l − m, c − 1) + t(m, c).
class RevolveTable
{
public:
    /// For chains up to `length` ≥ 1 and up to `states` ≥ 1. O(length² · states).
    RevolveTable(std::uint32_t length, std::uint32_t states);

    /// Fewest forward steps for a chain of this length with so many states, both within those of the constructor.
    [[nodiscard]] std::uint64_t steps(std::uint32_t length, std::uint32_t states) const
    {
        return m_steps[states][length];
    }
    /// How far to go before the next state is stored; 0 where none is.
    [[nodiscard]] std::uint32_t advance(std::uint32_t length, std::uint32_t states) const
    {
        return m_advance[states][length];
    }

private:
    void choose(std::uint32_t c, std::uint32_t l);

    std::vector<std::vector<std::uint64_t>> m_steps; ///< [states][length]
    std::vector<std::vector<std::uint32_t>> m_advance;
};

/// The closed form r·l − C(c + r, c + 1), with r least such that C(c + r, c) ≥ l.
[[nodiscard]] std::uint64_t revolveClosedForm(std::uint32_t length, std::uint32_t states);

} // namespace retro::schedule
