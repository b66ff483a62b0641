// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/wiringcase.h"
#include "core/tape/array/array.h"
#include "core/tape/tape.h"

#include <memory>
#include <utility>
#include <vector>

namespace retro::engine
{

/// Σ cᵢ·xᵢ and its transpose.
template <class K>
class LinearMap final : public tape::Operator<tape::Array<K>>
{
public:
    explicit LinearMap(std::vector<K> coefficients) : m_coefficients(std::move(coefficients)) {}

    /// One number, from one number of each operand.
    [[nodiscard]] base::Result<tape::Array<K>> forward(tape::Operands<tape::Array<K>> operands,
                                                       const tape::Payload<tape::Array<K>>&) const override
    {
        K sum(0);
        for (std::size_t i = 0; i < operands.size(); ++i) {
            sum += m_coefficients[i] * operands[i]->data.front();
        }
        return tape::scalarArray(sum);
    }
    /// cᵢ times the one number that arrived, for each operand.
    [[nodiscard]] base::Result<tape::Parts<tape::Array<K>>> reverse(const tape::Site<tape::Array<K>>&,
                                                                    const tape::Array<K>& upstream) const override
    {
        tape::Parts<tape::Array<K>> parts;
        for (const K& coefficient : m_coefficients) {
            parts.push_back(tape::scalarArray(coefficient * upstream.data.front()));
        }
        return parts;
    }

private:
    std::vector<K> m_coefficients;
};

/// One linear map per node; `coefficients(count)` is asked for each in turn.
template <class K, class Coefficients>
[[nodiscard]] tape::NodeList<tape::Array<K>> linearNodes(const WiringCase& wiring, const Coefficients& coefficients)
{
    tape::NodeList<tape::Array<K>> nodes;
    for (const std::vector<tape::Id>& parents : wiring.parents) {
        nodes.push_back({std::make_shared<LinearMap<K>>(coefficients(parents.size())), parents});
    }
    return nodes;
}

/// The tape of such maps with one number per leaf; parents must be earlier.
template <class K>
[[nodiscard]] tape::Tape<tape::Array<K>> compiledOver(const tape::NodeList<tape::Array<K>>& nodes,
                                                      const std::vector<K>& leaves)
{
    std::vector<tape::Array<K>> values;
    for (const K& leaf : leaves) {
        values.push_back(tape::scalarArray(leaf));
    }
    return tape::compile(nodes, std::move(values)).value();
}

} // namespace retro::engine
