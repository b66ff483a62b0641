// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/filenotes.h"
#include "core/formats/modelcard.h"
#include "core/rewrite/rewrite.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::base
{
class HeldFiles;
}

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

    std::shared_ptr<const graph::Graph> read;     ///< the graph as the file has it; rewritten.before with what is given
    formats::FileNotes notes;                     ///< what the graph does not say of the file
    std::vector<std::string> shapes;              ///< given to inputs, as --shape says them
    std::map<std::string, tensor::Tensor> given;  ///< data of optional inputs, by name
    std::shared_ptr<const base::HeldFiles> files; ///< that it was read from; nothing is written over them

    [[nodiscard]] const std::shared_ptr<const graph::Graph>& graph() const { return rewritten.graph; }
};

using LoadedModelPointer = std::shared_ptr<const LoadedModel>;

/// How a model is loaded.
struct LoadOptions
{
    rewrite::RewriteOptions rewrites;
    formats::ReadOptions read;
    std::vector<std::string> shapes; ///< of inputs: `NAME=2x3x48x192` (givenshapes.h)
};

/// Reads a model (ONNX or graph JSON), its card when there is one, and applies the chosen rewrites, less those that the
/// card switches off. Errors (Input) name the file and what is wrong with it. A graph with unsupported operators, or
/// whose weights are not there, still loads (it can be drawn); what depends on them cannot run. A requested stop ends
/// it with Cancelled.
[[nodiscard]] base::Result<LoadedModelPointer> loadModel(const std::filesystem::path& path, const LoadOptions& options,
                                                         const std::stop_token& stop = {});
/// As above, with these rewrites.
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

/// The same model with these shapes of its inputs in place of those given before; nothing is read again. The model
/// itself when it has them. Errors: Usage (givenshapes.h), Cancelled.
[[nodiscard]] base::Result<LoadedModelPointer> withInputShapes(const LoadedModelPointer& model,
                                                               const std::vector<std::string>& shapes,
                                                               const std::stop_token& stop = {});

/// The same model with other data in the place of optional inputs, which are constants that the file also lists as
/// inputs. Errors: Usage (no such optional input), Input (another element type or number of axes), Cancelled.
[[nodiscard]] base::Result<LoadedModelPointer> withGiven(const LoadedModelPointer& model,
                                                         std::map<std::string, tensor::Tensor> given,
                                                         const std::stop_token& stop = {});

/// Digest of what the file holds, wherever it lies (graph::contentDigest); empty of more than 4 GiB of weights, which
/// would have to be read for it.
[[nodiscard]] std::string fileDigest(const LoadedModel& model);

/// Why a constant has no data, and what to do; of one that no note tells of, that the file has none.
[[nodiscard]] std::string absenceOf(const LoadedModel& model, const std::string& constant);

} // namespace retro::engine
