// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/control/emitter.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace retro::execute
{

/// Where nodes of a nested graph go: what stands before their names, and the scope around theirs.
struct Place
{
    std::string prefix;
    std::string scope;
};

/// Walks a graph with its data at hand and writes every node that runs; graphs inside nodes are walked as often as they
/// run.
class Walker
{
public:
    using Values = std::vector<LiveValue>;

    /// `steps` takes one line per control-flow node that was decided.
    Walker(Emitter& emitter, std::vector<std::string>& steps) : m_emitter(emitter), m_steps(steps) {}

    /// Runs all nodes; returns the graph's outputs.
    [[nodiscard]] base::Result<Values> walk(const graph::Graph& graph, std::span<const LiveValue> inputs,
                                            const Place& place);

private:
    struct Frame
    {
        const graph::Graph& graph;
        const Place& place;
        Values values;                    // by ValueId of graph
        std::vector<std::size_t> readers; // by ValueId: reads that are still to come
    };
    /// A control-flow node with its operands.
    struct Call
    {
        const graph::Node& node;
        Values operands;
        Place place;
    };
    /// What a Loop says about its operands.
    struct LoopPlan
    {
        graph::Subgraph body;
        std::size_t states = 0;
        std::int64_t most = 0; // steps
    };
    /// What a Scan says about its operands and results.
    struct ScanPlan
    {
        graph::Subgraph body;
        std::size_t states = 0;
        std::size_t scans = 0;
        std::vector<std::int64_t> inputAxes;
        std::vector<std::int64_t> inputDirections;
        std::vector<std::int64_t> outputAxes;
        std::vector<std::int64_t> outputDirections;
    };

    [[nodiscard]] LiveValue valueOf(Frame& frame, ValueId id);
    /// A constant of the outermost graph, or one that a nested graph has from there: one value for both.
    [[nodiscard]] LiveValue outerConstant(const graph::Value& named);
    [[nodiscard]] base::Result<void> runNode(Frame& frame, base::NodeId id);
    [[nodiscard]] base::Result<Values> runPlain(Frame& frame, base::NodeId id, const Values& operands);
    [[nodiscard]] base::Result<Values> runControl(Frame& frame, const graph::Node& node, Values operands);
    [[nodiscard]] base::Result<Values> dispatch(const Call& call);
    /// Writes down how a control-flow node went.
    void decide(const Call& call, const std::string& taken);
    void release(Frame& frame, const graph::Node& node);

    [[nodiscard]] base::Result<Values> runIf(const Call& call);
    [[nodiscard]] base::Result<Values> runLoop(const Call& call);
    [[nodiscard]] base::Result<LoopPlan> planLoop(const Call& call) const;
    [[nodiscard]] base::Result<Values> loopStep(const Call& call, const LoopPlan& plan, std::int64_t step,
                                                const Values& inputs);
    [[nodiscard]] base::Result<Values> runScan(const Call& call);
    [[nodiscard]] base::Result<Values> scanBatch(const Call& call, const ScanPlan& plan);
    [[nodiscard]] base::Result<Values> scanOnce(const Call& call, const ScanPlan& plan, std::span<const LiveValue> own,
                                                const std::string& prefix);
    [[nodiscard]] base::Result<Values> scanInputs(const ScanPlan& plan, std::span<const LiveValue> own,
                                                  std::int64_t step, std::int64_t length, const std::string& prefix);
    [[nodiscard]] base::Result<LiveValue> pick(const LiveValue& value, std::int64_t axis, std::int64_t index,
                                               const std::string& name);
    [[nodiscard]] base::Result<LiveValue> stack(const Values& parts, std::int64_t axis, const graph::Value& declared,
                                                const std::string& name);

    Emitter& m_emitter;
    std::vector<std::string>& m_steps;
    std::map<std::string, std::string> m_taken; // by Place::prefix of the node
    std::map<std::pair<const graph::Graph*, std::uint32_t>, LiveValue> m_constants;
    std::map<std::pair<std::string, const std::byte*>, LiveValue> m_outerConstants; // by name and data
};

/// An error at a control-flow node.
[[nodiscard]] base::Error controlError(const graph::Node& node, std::string message);

} // namespace retro::execute
