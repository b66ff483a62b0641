// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/engine/model/loadmodel.h"

#include <string>
#include <vector>

namespace CLI
{
class App;
}

namespace retro::app
{

/// What `explain --graph-out` takes beside the question.
struct RelevanceGraphOptions
{
    std::vector<std::string> values; ///< whose relevance comes out as well
    std::string maxPool;             ///< scatter or taps; empty = scatter
    bool check = false;              ///< also run the graph and compare
};

void addRelevanceGraphOptions(CLI::App& verb, RelevanceGraphOptions& options);
/// Errors (Usage): one of the options without --graph-out.
[[nodiscard]] base::Result<void> checkWithoutGraph(const RelevanceGraphOptions& options);
/// Writes forward and relevance pass as one ONNX graph to --graph-out. With `check` both run over the inputs of the
/// question (random ones, where none are named), and the largest difference is said.
[[nodiscard]] base::Result<void> writeExplainer(Context& context, const ModelOptions& model,
                                                const RelevanceGraphOptions& options,
                                                const engine::LoadedModelPointer& loaded);

} // namespace retro::app
