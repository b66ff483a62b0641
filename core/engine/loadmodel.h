// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/modelcard.h"
#include "core/rewrite/rewrite.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

namespace retro::engine
{

/// A model file that was read and rewritten. Immutable; the handle that every other use case starts from.
struct LoadedModel
{
    std::filesystem::path path;
    std::string name;             ///< file name without folder
    rewrite::Rewritten rewritten; ///< the graph as read, and as run in float32
    std::optional<formats::ModelCard> card;
    double seconds = 0; ///< time that reading and rewriting took

    [[nodiscard]] const std::shared_ptr<const graph::Graph>& graph() const { return rewritten.graph; }
};

using LoadedModelPointer = std::shared_ptr<const LoadedModel>;

/// Reads a model (ONNX or graph JSON), its card when there is one, and applies the chosen rewrites, less those that the
/// card switches off. Errors (Input) name the file and what is wrong with it. A graph with unsupported operators still
/// loads (it can be drawn); explaining it is refused. A requested stop ends it with Cancelled.
[[nodiscard]] base::Result<LoadedModelPointer> loadModel(const std::filesystem::path& path,
                                                         const rewrite::RewriteOptions& rewrites = {},
                                                         const std::stop_token& stop = {});

/// As loadModel, from memory: the model's bytes, the path that messages and neighbours (pictures, control) are relative
/// to, and the text of its card (empty = none).
[[nodiscard]] base::Result<LoadedModelPointer> parseModel(std::span<const std::byte> data,
                                                          const std::filesystem::path& path, const std::string& card,
                                                          const rewrite::RewriteOptions& rewrites = {},
                                                          const std::stop_token& stop = {});

/// The same model with exactly these rewrites; nothing is read again. The model itself when it has them already.
/// A requested stop ends it with Cancelled.
[[nodiscard]] base::Result<LoadedModelPointer> withRewrites(const LoadedModelPointer& model,
                                                            const rewrite::RewriteOptions& rewrites,
                                                            const std::stop_token& stop = {});

} // namespace retro::engine
