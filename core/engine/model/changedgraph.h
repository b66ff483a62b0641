// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graphbuilder.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// A value that is an input of a copy.
struct NewInput
{
    base::ValueId value;
    tensor::DType dtype = tensor::DType::Float32;
    std::optional<std::vector<graph::Dimension>> shape = {};
};

/// What is to be different in a copy of a graph. Tensors are shared with it.
struct GraphChanges
{
    std::map<base::ValueId, std::vector<graph::Dimension>> shapes; ///< of inputs
    std::map<base::ValueId, tensor::Tensor> constants;             ///< data of constants
    std::vector<NewInput> inputs;                                  ///< behind the graph's own
    std::optional<std::vector<base::ValueId>> ownInputs = {};      ///< those of its own that stay; none = all
    std::optional<std::vector<bool>> keptNodes = {};               ///< by NodeId; none = all
    std::optional<std::vector<base::ValueId>> outputs = {};        ///< in place of the graph's own
    std::string name = {};                                         ///< of the copy; empty: the graph's own
    /// Changes a value that the copy gets, its kind included.
    std::function<void(base::ValueId id, graph::Value& value)> value = {};
    /// Changes a node that the copy gets, whose operands and results have their ids there: `ids` by id in the graph.
    /// May add values and nodes in front of it.
    std::function<void(graph::GraphBuilder& builder, const std::vector<base::ValueId>& ids, base::NodeId id,
                       graph::Node& node)>
        node = {};
};

/// The copy. Inputs keep their order; where all nodes are kept and no input is added, values and nodes keep their ids.
/// Values that nobody makes or reads any more are left out with their nodes. Errors: as graph::GraphBuilder::build() (a
/// kept node that reads what no kept node makes; no output; Cancelled).
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>>
changedGraph(const graph::Graph& graph, const GraphChanges& changes, const std::stop_token& stop = {});

} // namespace retro::engine
