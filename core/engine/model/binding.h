// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explain/target.h"
#include "core/engine/model/loadmodel.h"
#include "core/execute/boundmodel.h"

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// What is wanted of a model that cannot run as a whole.
struct BindOptions
{
    std::vector<std::string> values = {}; ///< by name
    bool isDefaultWanted = true;          ///< the value that relevance starts at where none is named
    bool isEveryOutput = false;           ///< of the outputs as many as can be had
};
/// What these targets and values need.
[[nodiscard]] BindOptions bindOptionsFor(std::span<const TargetRequest> targets,
                                         std::span<const std::string> values = {});
[[nodiscard]] BindOptions bindOptionsFor(const TargetRequest& target);

/// Binds the rewritten graph for these inputs, If, Loop and Scan written out as they run (execute::unroll): the bound
/// model's graph may then differ from the loaded one, but for its inputs and outputs. In double, computed constants
/// have all their digits, which the loaded graph has rounded. `written` takes one line per node that was written out.
/// Operators that are not implemented, and weights that are not there, block what depends on them alone: where the
/// whole model cannot be bound, the part of it that `wish` needs is, without the outputs that are blocked; `leftOut`
/// takes a line for each thing that is not there. Errors carry the model's path; what is wanted and blocked is refused
/// by what blocks it. Can be stopped (Cancelled).
[[nodiscard]] base::Result<std::shared_ptr<const execute::BoundModel>>
bindModel(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs, execute::Precision precision,
          std::vector<std::string>* written = nullptr, const std::stop_token& stop = {}, const BindOptions& wish = {},
          std::vector<std::string>* leftOut = nullptr);

/// A node of a run that stands for several and was fused inside an If, Loop or Scan.
struct FusedInRun
{
    base::NodeId node; ///< in the bound model's graph
    std::shared_ptr<const graph::Graph> members;
    std::vector<base::ValueId> operands; ///< per input of `members`, in the bound model's graph
};

/// Those of the graph that bindModel() writes out for these inputs. Costs another forward pass where there are any.
/// Errors as bindModel().
[[nodiscard]] base::Result<std::vector<FusedInRun>> fusedInRun(const LoadedModel& model,
                                                               const std::vector<tensor::Tensor>& inputs,
                                                               execute::Precision precision,
                                                               const std::stop_token& stop = {});

/// The inputs of a graph as a run has them: floating ones in the precision's type, rounded to the declared one.
[[nodiscard]] std::vector<tensor::Tensor>
inPrecision(const graph::Graph& graph, const std::vector<tensor::Tensor>& inputs, execute::Precision precision);

} // namespace retro::engine
