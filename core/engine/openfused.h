// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain.h"
#include "core/lrp/openfused.h"

#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// A fused node of a relevance pass, opened.
struct OpenedFused
{
    std::string node;
    lrp::OpenedNode opened;
};

/// Opens fused nodes by name; "all" means every fused node that relevance reached. Runs the model forward once more,
/// with every value kept. Errors: Usage (a node that is not fused or that no relevance reached), as explain().
[[nodiscard]] base::Result<std::vector<OpenedFused>> openFused(const LoadedModel& model, const ExplainRequest& request,
                                                               const ExplainResult& result,
                                                               const std::vector<std::string>& nodes,
                                                               const std::stop_token& stop = {});

} // namespace retro::engine
