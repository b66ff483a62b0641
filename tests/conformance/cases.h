// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"

#include <filesystem>
#include <string>
#include <vector>

namespace retro::conformance
{

/// One model with one set of inputs and the outputs that are expected of it.
struct Case
{
    std::string name; ///< path below the folder that was searched
    std::filesystem::path model;
    std::filesystem::path data; ///< folder of the inputs and outputs
};

/// The cases below a folder, by name. Two layouts are known: ONNX's (model.onnx, test_data_set_<i>/input_<j>.pb) and
/// arrays (model.onnx, case_<name>/names.json, input_<j>.npy; case_<variant>_… belongs to model_<variant>.onnx).
[[nodiscard]] std::vector<Case> findCases(const std::filesystem::path& folder);

/// The inputs of a case as `retrograde-cli` takes them. Errors: what does not fit the graph.
[[nodiscard]] base::Result<std::vector<tensor::Tensor>> inputsOf(const Case& one, const graph::Graph& graph);

/// Runs a case as `retrograde-cli run` does and compares every output. Errors are the engine's own (code Input: refused
/// by name), or code Bug for a result that is not the expected one.
[[nodiscard]] base::Result<void> runCase(const Case& one);

} // namespace retro::conformance
