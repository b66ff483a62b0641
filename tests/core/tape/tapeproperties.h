// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/recursion.h"
#include "core/tape/scalar/modular.h"
#include "tests/core/tape/dual.h"
#include "tests/core/tape/machine.h"
#include "tests/core/tape/randomtape.h"
#include "tests/core/tape/rational.h"

#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Random graphs with values and seeds, and how properties of them are claimed.
namespace retro::tapetest
{

using tape::Array;

using Choices = std::vector<std::uint32_t>;

/// What is claimed of the random graph that `choices` make, with numbers that begin at `start`.
using Property = std::function<void(const Choices& choices, std::uint32_t start)>;

/// A dual number: the tangents of leaves and seeds are drawn, too.
using DualNumber = tape::Dual<tape::Modular>;

/// Prints what does not hold. RapidCheck's machinery is made from templates once here, not for every property and
/// scalar.
inline bool holds(const std::string& name, const Property& property)
{
    return rc::check(name, [&property](const Choices& choices, std::uint32_t start) { property(choices, start); });
}

template <class K>
bool sameBits(const K& a, const K& b)
{
    return a == b;
}
inline bool sameBits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
inline bool sameBits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

template <class K>
bool sameBits(const std::vector<Array<K>>& a, const std::vector<Array<K>>& b)
{
    return std::ranges::equal(a, b, [](const Array<K>& x, const Array<K>& y) {
        return x.shape == y.shape &&
               std::ranges::equal(x.data, y.data, [](const K& p, const K& q) { return sameBits(p, q); });
    });
}

/// The graph that `choices` make, its leaves, one seed per id and the payload.
template <class K>
struct Made
{
    tape::NodeList<Array<K>> nodes;
    std::vector<Array<K>> leaves;
    std::vector<Array<K>> seed;
    tape::Payload<Array<K>> payload;

    Made(const RandomTape& random, std::uint32_t start) : nodes(nodesOf<K>(random))
    {
        SmallNumbers numbers(start);
        leaves = leavesOf<K>(random, numbers);
        seed = seedOf<K>(random, numbers);
        payload = payloadOf<K>(numbers);
    }
    [[nodiscard]] tape::Tape<Array<K>> tape() const { return taken(tape::compile(nodes, leaves, payload)); }
    [[nodiscard]] std::vector<Array<K>> context() const
    {
        return taken(tape::evaluate<Array<K>>(nodes, leaves, payload));
    }
};

} // namespace retro::tapetest
