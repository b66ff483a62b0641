// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/loops.h"
#include "tests/core/tape/arrayoperators.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace retro::tapetest
{

/// A random graph without a scalar: the same graph is made over each of them.
struct RandomTape
{
    struct Step
    {
        std::string op;
        std::vector<tape::Id> parents;
        std::int64_t factor = 1;
        tensor::Shape shape; ///< of its value
        std::vector<std::int64_t> index;
        std::string key = {}; ///< of its payload
    };
    std::vector<tensor::Shape> leaves;
    std::vector<Step> steps;

    [[nodiscard]] std::size_t size() const { return leaves.size() + steps.size(); }
    [[nodiscard]] const tensor::Shape& shapeOf(tape::Id id) const
    {
        return id < leaves.size() ? leaves[id] : steps[id - leaves.size()].shape;
    }
};

/// Keys that steps of a random graph read of the payload.
inline const std::vector<std::string> kPayloadKeys{"p0", "p1", "p2"};

/// Reads a graph out of any list of numbers: a shorter list or smaller numbers make a smaller graph, so that a failing
/// one shrinks. Operators of polynomials only, of degree at most 8; some read the payload. Extents of 0 occur.
RandomTape randomTape(const std::vector<std::uint32_t>& choices);

/// A stream of small numbers that follows from a seed, for leaves and seeds of a pass.
class SmallNumbers
{
public:
    explicit SmallNumbers(std::uint32_t seed) : m_state(seed * 2654435761U + 1) {}
    /// In [−3, 3].
    std::int64_t next()
    {
        m_state = m_state * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<std::int64_t>((m_state >> 33) % 7) - 3;
    }

private:
    std::uint64_t m_state;
};

/// A small number over any scalar; of a dual number the tangent is drawn, too.
template <class K>
K smallNumber(SmallNumbers& numbers)
{
    K number = static_cast<K>(numbers.next());
    if constexpr (requires { number.tangent; }) {
        number.tangent = static_cast<decltype(number.tangent)>(numbers.next());
    }
    return number;
}

template <class K>
tape::Array<K> smallArray(const tensor::Shape& shape, SmallNumbers& numbers)
{
    tape::Array<K> array{shape, {}};
    for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
        array.data.push_back(smallNumber<K>(numbers));
    }
    return array;
}

template <class K>
std::vector<tape::Array<K>> leavesOf(const RandomTape& random, SmallNumbers& numbers)
{
    std::vector<tape::Array<K>> leaves;
    for (const tensor::Shape& shape : random.leaves) {
        leaves.push_back(smallArray<K>(shape, numbers));
    }
    return leaves;
}

/// One scalar per key.
template <class K>
tape::Payload<tape::Array<K>> payloadOf(SmallNumbers& numbers)
{
    tape::Payload<tape::Array<K>> payload;
    for (const std::string& key : kPayloadKeys) {
        payload.emplace(key, tape::scalarArray(smallNumber<K>(numbers)));
    }
    return payload;
}

template <class K>
tape::NodeList<tape::Array<K>> nodesOf(const RandomTape& random)
{
    tape::NodeList<tape::Array<K>> nodes;
    for (const RandomTape::Step& step : random.steps) {
        auto op = tape::makeArrayOperator<K>({step.op, K(step.factor), step.shape, step.index, step.key},
                                             step.parents.size());
        if (!op.ok()) {
            throw std::runtime_error(op.error().text());
        }
        nodes.push_back({*op, step.parents, step.op});
    }
    return nodes;
}

template <class K>
std::vector<tape::Array<K>> seedOf(const RandomTape& random, SmallNumbers& numbers)
{
    std::vector<tape::Array<K>> seed;
    for (tape::Id id = 0; id < random.size(); ++id) {
        seed.push_back(smallArray<K>(random.shapeOf(id), numbers));
    }
    return seed;
}

template <class T>
T taken(tape::Outcome<T> outcome)
{
    if (!outcome.ok()) {
        throw std::runtime_error(outcome.error().message);
    }
    return std::move(outcome).value();
}

} // namespace retro::tapetest
