// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

#include <span>
#include <vector>

namespace retro::execute
{

using graph::NodeId;
using graph::ValueId;
using tensor::Tensor;

class BoundModel;

/// Values that are asked for before a run (the shape of a Reshape that the model computes from its input, a mask):
/// worked out on demand from the inputs, by operators that are bound already, once each. Lives as long as what it is
/// given, which it borrows.
class EarlyValues
{
public:
    /// While a model is bound: its operators and constants are read up to the node that is being bound. `inputs` per
    /// graph input in the run's precision, or empty when they are not known yet.
    EarlyValues(const BoundModel& model, std::span<const Tensor> inputs);

    /// The data of a value whose producer is bound. Errors (Input, without a place): the inputs are not known, or an
    /// operator refuses its data.
    [[nodiscard]] base::Result<Tensor> value(ValueId wanted);
    /// Positions of the graph inputs that were read so far, ascending.
    [[nodiscard]] std::vector<std::size_t> readInputs() const;

private:
    [[nodiscard]] bool isKnown(ValueId value) const;
    [[nodiscard]] Tensor known(ValueId value) const;
    void takeInput(ValueId value);
    [[nodiscard]] base::Result<void> run(graph::NodeId node);

    const BoundModel& m_model;
    const graph::Graph& m_graph;
    std::span<const Tensor> m_inputs;
    std::vector<Tensor> m_values; // per value
    std::vector<bool> m_wasRead;  // per graph input
};

} // namespace retro::execute
