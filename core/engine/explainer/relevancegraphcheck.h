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
    double bound = 0; ///< 1e-9 in double; else 1e-5, or four times what float is from double in the engine itself

    [[nodiscard]] bool holds() const { return largest <= bound; }
};

/// What the engine says of some inputs, and how far its run of the written graph is from that.
struct RelevanceGraphCheck
{
    std::vector<tensor::Tensor> inputs;   ///< of the graph that was written, in order
    std::vector<std::string> inputNames;  ///< in the same order
    std::vector<std::string> outputs;     ///< that hold relevance
    std::vector<tensor::Tensor> expected; ///< per output
    std::vector<tensor::Tensor> precise;  ///< the same in double; empty where nothing needed it
    std::vector<RelevanceGraphDifference> differences;

    /// How far what another runtime found for an output is from that of the engine. Beyond 1e-5 it is compared with
    /// that of the engine in double where there is one.
    [[nodiscard]] RelevanceGraphDifference differenceOf(std::size_t output, const tensor::Tensor& found) const;
};

/// Runs a written graph in this engine and explains the same inputs, both in the request's precision. `request.inputs`
/// per input of the model. `alsoInDouble`: explains in double as well, whatever the differences. Errors: as
/// loadModel(), explain(); Engine where the graph cannot run or gives another shape.
[[nodiscard]] base::Result<RelevanceGraphCheck>
checkRelevanceGraph(const std::filesystem::path& file, const LoadedModelPointer& model, const ExplainRequest& request,
                    const RelevanceGraph& written, bool alsoInDouble = false, const std::stop_token& stop = {});

} // namespace retro::engine
