// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/statistics.h"
#include "core/graph/graph.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace retro::diagnosis
{

using base::NodeId;
using base::ValueId;

/// What is known of a graph as its file has it, without a run: how nodes hang together, and numbers of its weights.
/// Worked out when it is asked for, and kept. Used by one thread at a time.
class ModelFacts
{
public:
    /// `graph` must not be null.
    explicit ModelFacts(std::shared_ptr<const graph::Graph> graph) : m_graph(std::move(graph)) {}

    [[nodiscard]] const graph::Graph& graph() const { return *m_graph; }
    [[nodiscard]] const std::shared_ptr<const graph::Graph>& sharedGraph() const { return m_graph; }

    /// Bytes of all constants.
    [[nodiscard]] std::uint64_t weightBytes() const;
    /// Numbers of a constant; all zero where it has no data.
    [[nodiscard]] const Statistics& statistics(ValueId constant) const;
    /// ‖·‖ of a constant per index along `axis`, read once however often it is asked for.
    [[nodiscard]] const std::vector<double>& norms(const Tensor& constant, std::size_t axis) const;
    /// The constant that operand `slot` of a node is: an initializer, or the result of a Constant node or of moving one
    /// (Identity, Transpose, DequantizeLinear keep their own name). Invalid: the operand is computed or missing.
    [[nodiscard]] Tensor constantOperand(const graph::Node& node, std::size_t slot) const;
    /// The same; of an operand that a DequantizeLinear makes of constants, with one scale or one per index along an
    /// axis, what it makes: worked out once. Through a Transpose as well.
    [[nodiscard]] Tensor weightOperand(const graph::Node& node, std::size_t slot) const;
    /// Of those the name of the value that holds the data or the levels; empty when it is none.
    [[nodiscard]] std::string weightName(const graph::Node& node, std::size_t slot) const;
    /// Of constantOperand() the name of the value that holds the data; empty when it is none.
    [[nodiscard]] std::string constantName(const graph::Node& node, std::size_t slot) const;

private:
    std::shared_ptr<const graph::Graph> m_graph;
    mutable std::map<ValueId, Statistics> m_statistics;
    mutable std::map<ValueId, Tensor> m_dequantised; // by the result of the DequantizeLinear
    mutable std::map<std::tuple<const void*, std::size_t, tensor::Shape, tensor::Shape>, std::vector<double>>
        m_norms; // by data, axis, shape and strides
};

/// What an operand is to its operator, in words of its field: "weight", "bias", "scale", "mean", "variance", else the
/// name that the operator's definition gives it; "operand 2" where that has none.
[[nodiscard]] std::string roleOf(const graph::Node& node, std::size_t slot);

/// By NodeId (inputs too): what `value` is computed from. Ways that carry only a shape are none.
[[nodiscard]] std::vector<bool> ancestorsOf(const graph::Graph& graph, ValueId value);
/// By NodeId: what is computed from the results of `node` (itself included). Ways as above.
[[nodiscard]] std::vector<bool> descendantsOf(const graph::Graph& graph, NodeId node);

} // namespace retro::diagnosis
