// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/execute/control/unroll.h"
#include "core/graph/graphbuilder.h"

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace retro::execute
{

/// A value of the graph that is being written: its id there, and its data for the inputs at hand.
struct LiveValue
{
    ValueId id;
    Tensor data;
    bool isConstant = false;
};

/// Runs nodes one by one and writes them into a new graph. Names are made unique by a number behind them.
class Emitter
{
public:
    Emitter(const graph::Graph& model, Precision precision, std::stop_token stop, std::size_t mostNodes);

    /// A graph input.
    LiveValue addInput(const graph::Value& declared, const Tensor& data);
    /// A constant as a graph has it (the same tensor, its declared type).
    LiveValue addConstant(const graph::Value& declared);
    /// A constant that the unrolling itself needs.
    LiveValue addConstant(const std::string& name, Tensor data);
    /// Runs `node` on `operands` (invalid id = absent) and adds it; `resultNames` per output, empty = none. `source` is
    /// the graph that the node's own ids belong to, for messages. Errors as ops::bind.
    [[nodiscard]] base::Result<std::vector<LiveValue>> run(const graph::Graph& source, base::NodeId id,
                                                           graph::Node node, std::span<const LiveValue> operands,
                                                           std::span<const std::string> resultNames);
    /// Runs a node of operator set 13 that has no counterpart in the model. `operands` are all present.
    [[nodiscard]] base::Result<LiveValue> runHelper(graph::Node node, std::span<const LiveValue> operands,
                                                    const std::string& resultName);
    /// Says that the node that was added last comes from here.
    void setOrigin(const Origin& origin) { m_origins.back() = origin; }
    /// Of each node that was added, in order.
    [[nodiscard]] std::vector<Origin> takeOrigins() { return std::move(m_origins); }
    /// Marks an output of the graph.
    void addOutput(const LiveValue& value);

    [[nodiscard]] Precision precision() const { return m_precision; }
    [[nodiscard]] const std::stop_token& stop() const { return m_stop; }
    /// Most nodes that may be written.
    [[nodiscard]] std::size_t mostNodes() const { return m_mostNodes; }
    /// The graph; the emitter must not be used afterwards.
    [[nodiscard]] base::Result<graph::Graph> finish() &&;

private:
    [[nodiscard]] std::string unique(const std::string& wanted);
    [[nodiscard]] std::vector<LiveValue> addNode(graph::Node node, std::span<const LiveValue> operands,
                                                 std::span<const std::string> names, std::vector<Tensor> results);

    const graph::Graph& m_model;
    Precision m_precision;
    std::stop_token m_stop;
    graph::GraphBuilder m_builder;
    std::unordered_set<std::string> m_taken;
    std::unordered_map<std::string, std::size_t> m_counts; // of names that were taken when they were wanted
    std::vector<Origin> m_origins;
    std::size_t m_mostNodes;
    std::size_t m_nodes = 0;
};

} // namespace retro::execute
