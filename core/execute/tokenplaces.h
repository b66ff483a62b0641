// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/ops/boundoperator.h"
#include "core/ops/kernel/elementmap.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace retro::execute
{

/// Where the indices of an embedding come from: each is made of one number of a graph input, its token, or of none.
struct TokenPlaces
{
    graph::ValueId input;
    tensor::Shape inputShape;
    tensor::Shape shape; ///< of the indices
    ops::ElementMap
        places; ///< per index: place of its token in the input, −1 for a constant; empty = one each, in order

    /// What the indices got, as the tokens get it: in the shape of the input, summed over the indices of a token.
    [[nodiscard]] tensor::Tensor toInput(const tensor::Tensor& perIndex) const;
    /// What the tokens have, per index.
    [[nodiscard]] tensor::Tensor fromInput(const tensor::Tensor& perToken) const;
};

/// Finds the tokens of embeddings. Between them and the input may stand what moves or repeats whole numbers (Reshape,
/// Transpose, Cast, Slice, Concat with constants, Expand …), a look-up in a constant table of whole numbers, and
/// element-wise functions of them (shifted, clamped, wrapped, repaired by Where): all that leaves each index with one
/// token. Indices that are made of several tokens (counted, hashed over neighbours), or in another way, have none.
class TokenFinder
{
public:
    /// Operators per node up to now, types and known data per value; all of them must outlive it.
    TokenFinder(const graph::Graph& graph, std::span<const std::unique_ptr<ops::BoundOperator>> operators,
                std::span<const ops::TensorType> types, std::span<const tensor::Tensor> constants)
        : m_graph(graph), m_operators(operators), m_types(types), m_constants(constants)
    {}

    /// Of a value of whole numbers; none where it has no tokens.
    [[nodiscard]] std::optional<TokenPlaces> find(graph::ValueId indices);

private:
    /// Places of the elements of a value in an input; no input: its elements are constant.
    struct Traced
    {
        graph::ValueId input;
        std::shared_ptr<const ops::ElementMap> places; ///< null: no input, or all in order
    };

    [[nodiscard]] bool isConstant(graph::ValueId value) const { return m_constants[value.index()].isValid(); }
    [[nodiscard]] bool isWhole(graph::ValueId value) const;
    [[nodiscard]] std::int64_t countOf(graph::ValueId value) const;
    [[nodiscard]] std::optional<Traced> trace(graph::ValueId value);
    [[nodiscard]] std::optional<Traced> traceResult(graph::ValueId value);
    [[nodiscard]] std::optional<Traced> moved(graph::ValueId value, const graph::Node& node);
    [[nodiscard]] std::optional<Traced> computed(graph::ValueId value, const graph::Node& node);
    [[nodiscard]] std::optional<Traced> lookedUp(graph::ValueId value, const graph::Node& node);
    [[nodiscard]] std::optional<std::vector<Traced>> traceOperands(const graph::Node& node, std::size_t first,
                                                                   std::size_t count);
    [[nodiscard]] ops::ElementMap placesOf(const Traced& traced, graph::ValueId value) const;
    [[nodiscard]] ops::ElementMap spread(const ops::ElementMap& places, const tensor::Shape& from,
                                         const tensor::Shape& to) const;
    [[nodiscard]] tensor::Tensor movedDigits(const graph::Node& node, std::size_t output,
                                             const std::vector<std::vector<std::int64_t>>& digits) const;

    const graph::Graph& m_graph;
    std::span<const std::unique_ptr<ops::BoundOperator>> m_operators;
    std::span<const ops::TensorType> m_types;
    std::span<const tensor::Tensor> m_constants;
    std::map<graph::ValueId, std::optional<Traced>> m_known;
};

} // namespace retro::execute
