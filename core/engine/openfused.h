// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain.h"
#include "core/lrp/openfused.h"

#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// A fused or composed node of a relevance pass, opened.
struct OpenedFused
{
    std::string node;
    lrp::OpenedNode opened;
};

/// Opens fused nodes, and operators that do many steps in one (Attention), by name; "all" means every one that
/// relevance reached. Runs the model forward once more, with every value kept. Errors: Usage (a node that is neither,
/// or that no relevance reached), Input (an operator that cannot be taken apart), as explain().
[[nodiscard]] base::Result<std::vector<OpenedFused>> openFused(const LoadedModel& model, const ExplainRequest& request,
                                                               const ExplainResult& result,
                                                               const std::vector<std::string>& nodes,
                                                               const std::stop_token& stop = {});

} // namespace retro::engine
