// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <utility>

namespace retro::engine
{

/// Seeded numbers that are the same with every standard library: only the engine is taken from it.
class Draws
{
public:
    explicit Draws(std::uint64_t seed) : m_engine(seed) {}

    /// Uniform in (0, 1).
    double uniform() { return (static_cast<double>(m_engine() >> 11U) + 0.5) * 0x1p-53; }
    /// Normal with mean 0 and deviation 1 (Box and Muller).
    double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
    /// All orders alike (Fisher and Yates).
    template <class T>
    void shuffle(std::span<T> items)
    {
        for (std::size_t i = items.size(); i > 1; --i) {
            std::swap(items[i - 1], items[static_cast<std::size_t>(uniform() * static_cast<double>(i))]);
        }
    }

private:
    std::mt19937_64 m_engine;
};

} // namespace retro::engine
