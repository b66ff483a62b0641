// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <filesystem>
#include <string>
#include <vector>

namespace retro::app
{

/// What another runtime made of a graph, or why there is none here.
struct PeerRun
{
    std::vector<tensor::Tensor> outputs; ///< in the order that was asked for; empty where it did not run
    std::string absent;                  ///< why it did not run
    std::string version;
};

/// Runs an ONNX file in onnxruntime, on one thread of the CPU, by the Python that RETROGRADE_PYTHON names, else
/// `python3`. A Python without onnxruntime is no error, nor is an onnxruntime that does not even run `model`, which the
/// graph is of. Errors: Engine (it refuses the graph, in its words), Output.
[[nodiscard]] base::Result<PeerRun> runInOnnxruntime(const std::filesystem::path& file,
                                                     const std::filesystem::path& model,
                                                     const std::vector<std::string>& inputNames,
                                                     const std::vector<tensor::Tensor>& inputs,
                                                     const std::vector<std::string>& outputs);

} // namespace retro::app
