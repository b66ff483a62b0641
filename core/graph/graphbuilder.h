// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash128.h"
#include "core/base/result.h"
#include "core/graph/graph.h"

#include <stop_token>

namespace retro::graph
{

/// Largest graph that is built.
inline constexpr std::size_t kMaxNodes = 4'000'000;

/// Collects values and nodes in any order, then checks and sorts them once.
class GraphBuilder
{
public:
    explicit GraphBuilder(std::string name = {}) { m_graph.m_name = std::move(name); }
    /// With the version of ai.onnx that the model imports.
    GraphBuilder(std::string name, std::int64_t opset) : GraphBuilder(std::move(name)) { setOpset("", opset); }

    /// Version of an operator set that the model imports; `domain` empty = ai.onnx.
    void setOpset(const std::string& domain, std::int64_t version) { m_graph.m_opsets[domain] = version; }

    /// Those that a graph imports.
    void setOpsets(const Graph& like)
    {
        for (const auto& [domain, version] : like.opsets()) {
            setOpset(domain, version);
        }
    }

    /// A graph input. Missing shape = unknown.
    ValueId addInput(std::string name, tensor::DType dtype, std::optional<std::vector<Dimension>> shape);
    /// A graph input of fixed shape.
    ValueId addInput(std::string name, tensor::DType dtype, const tensor::Shape& shape);
    /// An initializer.
    ValueId addConstant(std::string name, tensor::Tensor data);
    /// A value that some node will produce; its producer is set by addNode.
    ValueId addResult(std::string name);
    /// A node; its outputs must come from addResult. Returns its position of adding, not its final NodeId.
    std::size_t addNode(Node node);
    /// A node of ai.onnx in the version of setOpset(), with one result of that name, which is returned.
    ValueId addOp(std::string op, std::string name, std::vector<ValueId> inputs, std::string result,
                  Attributes attributes = {});
    /// Marks a value as output of the graph.
    void addOutput(ValueId value) { m_graph.m_outputs.push_back(value); }
    /// Type and shape that the file declares for a value.
    void declare(ValueId value, tensor::DType dtype, std::optional<std::vector<Dimension>> shape);
    /// The whole numbers that the model takes for an input of floats.
    void give(ValueId input, std::optional<GivenNumbers> given) { m_graph.m_values[input.index()].given = given; }
    /// What a capture measured of a value.
    void note(ValueId value, std::shared_ptr<const ValueFacts> facts)
    {
        m_graph.m_values[value.index()].facts = std::move(facts);
    }
    /// The value of that name, if it was added.
    [[nodiscard]] std::optional<ValueId> find(std::string_view name) const;

    /// Checks and sorts. Errors (Input), each naming the node or value: two values or producers of one name, an operand
    /// that nobody produces, a cycle, no output, more than kMaxNodes nodes. Empty and repeated node names are made
    /// unique. Stops between its steps (Cancelled).
    [[nodiscard]] base::Result<Graph> build(const std::stop_token& stop = {}) &&;

private:
    [[nodiscard]] base::Result<void> connectProducers();
    [[nodiscard]] base::Result<void> sortNodes();
    void nameNodes();
    /// Outputs of Split that have no name get one; another operator must name its first.
    base::Result<void> completeOutputs();
    void nameOutputs(std::size_t at);
    void indexNames();
    void indexUses();
    ValueId addValue(Value value);

    Graph m_graph;
    std::unordered_map<std::string, std::uint32_t> m_byName;
    std::string m_duplicate; // first value name that was added twice
};

/// Hash of operators, attributes, adjacency and constant shapes; names and constant data do not count.
[[nodiscard]] std::uint64_t structuralHash(const Graph& graph);

/// The same in 128 bits, for what decides whether a stored result still answers.
[[nodiscard]] base::Hash128 structuralHash128(const Graph& graph);

} // namespace retro::graph
