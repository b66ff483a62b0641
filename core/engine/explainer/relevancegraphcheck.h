// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explainer/relevancegraph.h"

#include <string>
#include <vector>

namespace retro::engine
{

/// How far a relevance of a written graph is from that of the engine: max|a − b| / max|b|.
struct RelevanceGraphDifference
{
    std::string output;
    double largest = 0;
};

/// Runs a written graph in this engine and explains the same inputs, both in the request's precision. `request.inputs`
/// per input of the model. Errors: as loadModel(), explain().
[[nodiscard]] base::Result<std::vector<RelevanceGraphDifference>>
checkRelevanceGraph(const std::filesystem::path& file, const LoadedModelPointer& model, const ExplainRequest& request,
                    const RelevanceGraph& written, const std::stop_token& stop = {});

} // namespace retro::engine
