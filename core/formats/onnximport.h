// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/filenotes.h"
#include "core/graph/graph.h"

#include <filesystem>
#include <stop_token>

namespace retro::onnxschema
{
class ModelProto;
} // namespace retro::onnxschema

namespace retro::formats
{

class OnnxRawData;

/// The graph of a decoded model. Tensor data is taken out of `model` piece by piece, so that a large model is not held
/// twice. Values are numbered: inputs, initializers, Constant nodes, results in node order. Errors (Input) name the
/// node, value or field; Cancelled after a requested stop. `notes` and `options` as readOnnx(). `rawData`: where the
/// elements are that `model` was decoded without; null: it has all.
[[nodiscard]] base::Result<graph::Graph> importModel(onnxschema::ModelProto& model, const std::filesystem::path& folder,
                                                     const std::stop_token& stop, FileNotes* notes = nullptr,
                                                     const ReadOptions& options = {},
                                                     const OnnxRawData* rawData = nullptr);

} // namespace retro::formats
