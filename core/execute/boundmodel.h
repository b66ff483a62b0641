// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/tokenplaces.h"
#include "core/graph/graph.h"
#include "core/ops/boundoperator.h"
#include "core/tensor/storagepool.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

namespace retro::execute
{

using graph::NodeId;
using graph::ValueId;
using tensor::Tensor;

class EarlyValues;

/// Type that every floating value of a run is stored in, and whose numbers it holds. Integer values keep their own.
enum class Precision : std::uint8_t {
    Float,   ///< float32, oneDNN where it helps; what the model has in float16 or bfloat16 is rounded to it
    Double,  ///< float64, reference templates only; nothing is rounded to a narrower type of the model
    Declared ///< float64, for models that have it; what the model has in a narrower type is rounded to it
};

/// float32 or float64: what is stored.
[[nodiscard]] tensor::DType dtypeOf(Precision precision);
/// The precision for the steps inside one operator, which keep all digits: Double for Declared.
[[nodiscard]] Precision insideOf(Precision precision);

/// Inputs (per graph input, in order) as a run has them: floating ones in the precision's type, rounded to the type
/// that the graph declares.
[[nodiscard]] std::vector<Tensor> inRun(const graph::Graph& graph, std::span<const Tensor> inputs, Precision precision);

/// Memory that a forward pass leaves to the next one.
struct IdleMemory
{
    std::mutex mutex; ///< held by the pass that uses it
    tensor::StoragePool pool;
};

/// A graph whose shapes are known: one BoundOperator per node, a type per value, constants in the run's precision
/// (float16 and bfloat16 weights stay as they are stored and are widened for each reader). Built once per (graph, input
/// shapes, precision); prepared weights stay with the operators. Immutable; share by pointer.
class BoundModel
{
public:
    /// Binds every node in order. `inputTypes` per graph input, in order (floating types are replaced by the
    /// precision's). Errors (Input): wrong rank or extent of an input (names both shapes), unsupported operator,
    /// impossible shape, a shape that depends on the data of an input when none is given. Errors (Memory), by node: a
    /// result that is larger than base::MemoryLimit; what is made for the binding is beyond its beforeRun().
    ///
    /// `inputs` (per graph input in order, in the precision's type; or none) are read only where the shape of a value
    /// depends on data: such a model is bound to those inputs as well, see `boundInputs`. Stops between nodes
    /// (Cancelled).
    [[nodiscard]] static base::Result<std::shared_ptr<const BoundModel>>
    bind(std::shared_ptr<const graph::Graph> graph, std::span<const ops::TensorType> inputTypes, Precision precision,
         std::span<const Tensor> inputs = {}, const std::stop_token& stop = {});

    [[nodiscard]] const graph::Graph& graph() const { return *m_graph; }
    [[nodiscard]] const std::shared_ptr<const graph::Graph>& sharedGraph() const { return m_graph; }
    [[nodiscard]] Precision precision() const { return m_precision; }
    /// Operator of a node (not an input).
    [[nodiscard]] const ops::BoundOperator& op(NodeId node) const { return *m_operators[node.index()]; }
    [[nodiscard]] const ops::TensorType& typeOf(ValueId value) const { return m_types[value.index()]; }
    /// The element type that the value has in the model; typeOf() is what the run stores it in.
    [[nodiscard]] tensor::DType numbersOf(ValueId value) const { return m_numbers[value.index()]; }
    /// The same of a node's operands, for ops::BindContext; empty where results keep all digits of the run.
    [[nodiscard]] std::vector<tensor::DType> operandNumbers(NodeId node) const;
    /// A value in the type that it has in the model; as it is where the run holds more digits (Double) or fewer (a
    /// float64 value under Float).
    [[nodiscard]] Tensor inModelType(ValueId value, const Tensor& tensor) const;
    /// True for constants, and for integers that are known before the run.
    [[nodiscard]] bool isConstant(ValueId value) const { return m_constants[value.index()].isValid(); }
    /// Data of a constant in the run's precision; invalid for other values. Wide copies of float16 and bfloat16 weights
    /// are made for the caller and not kept.
    [[nodiscard]] Tensor constant(ValueId value) const;
    /// As constant(), but narrow weights as they are stored.
    [[nodiscard]] const Tensor& storedConstant(ValueId value) const { return m_constants[value.index()]; }
    /// True when the value carries relevance: a floating graph input or the tokens of an embedding, or a floating
    /// result of an operator that passes relevance and has an operand that carries it.
    [[nodiscard]] bool isTracked(ValueId value) const { return m_tracked[value.index()]; }
    /// The tokens of which these indices of an embedding are made; null for other values, and where they are made of
    /// none (TokenFinder).
    [[nodiscard]] const TokenPlaces* tokensOf(ValueId indices) const;
    /// The same of an operand of a node, where it is the indices of an embedding.
    [[nodiscard]] const TokenPlaces* tokensAt(NodeId node, std::size_t slot) const;
    /// True for an input whose numbers are tokens.
    [[nodiscard]] bool isOfTokens(ValueId input) const;
    /// For forward passes alone, which keep nothing: memory costs more to get than most operators take.
    [[nodiscard]] IdleMemory& idleMemory() const { return *m_idleMemory; }
    /// Data of the graph inputs that shapes depend on, per input; invalid for the others. A run must have the same.
    [[nodiscard]] std::span<const Tensor> boundInputs() const { return m_boundInputs; }

private:
    [[nodiscard]] base::Result<void> takeInputs(std::span<const ops::TensorType> inputTypes);
    void takeConstants();
    [[nodiscard]] std::vector<tensor::DType> operandTypes(const graph::Node& node) const;
    [[nodiscard]] base::Result<void> bindNode(NodeId id, EarlyValues& early);
    [[nodiscard]] base::Result<void> keepKnownResults(const graph::Node& node, const ops::BoundOperator& op,
                                                      std::span<const Tensor> constants);

    std::shared_ptr<const graph::Graph> m_graph;
    Precision m_precision = Precision::Float;
    std::vector<std::unique_ptr<ops::BoundOperator>> m_operators;
    std::vector<ops::TensorType> m_types;
    std::vector<tensor::DType> m_numbers;
    std::vector<Tensor> m_constants;
    std::vector<bool> m_tracked;
    std::vector<Tensor> m_boundInputs;
    std::unique_ptr<IdleMemory> m_idleMemory = std::make_unique<IdleMemory>();
    std::map<ValueId, TokenPlaces> m_tokens; ///< by indices of embeddings
};

} // namespace retro::execute
