// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/gradient/gradient.h"
#include "core/tape/gradientgraph/gradientgraph.h"

#include <filesystem>

namespace retro::engine
{

/// The gradient graph of the target (the whole value: which element counts is said by its seed) for inputs of these
/// shapes, of the model as its file says it, without rewrites. Errors as tape::gradientGraph().
[[nodiscard]] base::Result<tape::GradientGraph> gradientGraph(const LoadedModelPointer& model,
                                                              const GradientRequest& request, bool isJoined,
                                                              const std::stop_token& stop = {});

/// Writes it as ONNX, graph JSON or DOT, as the ending says. Errors: also Usage (another ending), Output.
[[nodiscard]] base::Result<tape::GradientGraph> writeGradientGraph(const std::filesystem::path& file,
                                                                   const LoadedModelPointer& model,
                                                                   const GradientRequest& request, bool isJoined);

} // namespace retro::engine
