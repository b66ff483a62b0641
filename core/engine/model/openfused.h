// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/lrp/rules/openfused.h"

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// An operator that does many steps in one (Attention, SwiGLU, LSTM), and the steps that it can be opened into.
struct ComposedNode
{
    base::NodeId node;
    std::shared_ptr<const graph::Graph> members;
};

/// Those operators of a model that can be opened, in the order of execution, less those that a rewrite made: these are
/// in LoadedModel::rewritten. Only nodes that have a name. One function body each is written out.
[[nodiscard]] std::vector<ComposedNode> composedNodes(const LoadedModel& model, const execute::BoundModel& bound);

/// The same of a relevance pass, and the nodes that a rewrite made of several inside an If, Loop or Scan: one for each
/// round that was written out. Errors as explain().
[[nodiscard]] base::Result<std::vector<ComposedNode>> composedNodes(const LoadedModel& model,
                                                                    const ExplainRequest& request,
                                                                    const ExplainResult& result,
                                                                    const std::stop_token& stop = {});

/// A fused or composed node of a relevance pass, opened.
struct OpenedFused
{
    std::string node;
    lrp::OpenedNode opened;
};

/// Opens fused nodes (those inside an If, Loop or Scan under the names of the run), and operators that do many steps in
/// one (Attention), by name; "all" means every one that relevance reached. Runs the model forward once more, with every
/// value kept. Errors: Usage (a node that is neither, or that no relevance reached), Input (an operator that cannot be
/// taken apart), as explain().
[[nodiscard]] base::Result<std::vector<OpenedFused>> openFused(const LoadedModel& model, const ExplainRequest& request,
                                                               const ExplainResult& result,
                                                               const std::vector<std::string>& nodes,
                                                               const std::stop_token& stop = {});

} // namespace retro::engine
