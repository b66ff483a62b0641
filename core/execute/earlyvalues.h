// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/ops/boundoperator.h"

#include <memory>
#include <span>
#include <vector>

namespace retro::execute
{

using graph::NodeId;
using graph::ValueId;
using tensor::Tensor;

/// Values that operators ask for while a model is bound (the shape of a Reshape that the model computes from its
/// input): worked out on demand from the inputs, by the operators that are bound already, once each. Lives as long as
/// the binding; borrows everything that it is given.
class EarlyValues
{
public:
    /// `operators` per node, `constants` per value (floats in any type); both are read up to the node that is being
    /// bound. `inputs` per graph input in the run's precision, or empty when they are not known yet.
    EarlyValues(const graph::Graph& graph, const std::vector<std::unique_ptr<ops::BoundOperator>>& operators,
                const std::vector<Tensor>& constants, tensor::DType floatType, std::span<const Tensor> inputs);

    /// The data of a value whose producer is bound. Errors (Input, without a place): the inputs are not known, or an
    /// operator refuses its data.
    [[nodiscard]] base::Result<Tensor> value(ValueId wanted);
    /// Positions of the graph inputs that were read so far, ascending.
    [[nodiscard]] std::vector<std::size_t> readInputs() const;

private:
    [[nodiscard]] bool isKnown(ValueId value) const;
    [[nodiscard]] Tensor known(ValueId value) const;
    [[nodiscard]] std::vector<std::size_t> nodesBelow(ValueId wanted);
    [[nodiscard]] base::Result<void> run(std::size_t node);

    const graph::Graph& m_graph;
    const std::vector<std::unique_ptr<ops::BoundOperator>>& m_operators;
    const std::vector<Tensor>& m_constants;
    tensor::DType m_floatType;
    std::span<const Tensor> m_inputs;
    std::vector<Tensor> m_values; // per value
    std::vector<bool> m_wasRead;  // per graph input
};

} // namespace retro::execute
