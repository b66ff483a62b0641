// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/filenotes.h"
#include "core/graph/graph.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace retro::formats
{

/// A kind of file that holds a model. From the table of these come what is read and written, filters of dialogs, what
/// may be dropped on the window, help and error messages.
struct ModelFormat
{
    using Graph = std::shared_ptr<const graph::Graph>;

    std::string_view title;                ///< "ONNX model"
    std::vector<std::string_view> endings; ///< without the dot, in small letters; the usual one first
    /// Whether a file is one, by its name and its beginning; null: by its ending.
    bool (*isOne)(const std::filesystem::path& path, std::span<const std::byte> beginning) = nullptr;
    base::Result<Graph> (*read)(const std::filesystem::path& path, const std::stop_token& stop, FileNotes* notes,
                                const ReadOptions& options) = nullptr;
    /// The graph as the bytes of a file with the usual ending; null: it is only read.
    base::Result<std::vector<std::byte>> (*write)(const graph::Graph& graph) = nullptr;
};

/// All that are known. What none of them says to be one of its own is read by the last one.
[[nodiscard]] std::span<const ModelFormat> modelFormats();
/// Adds a format, which is asked before those that are there. Before any model is read; not thread-safe.
void addModelFormat(ModelFormat format);
/// "ONNX model (.onnx, .onnxtxt), graph JSON (.json)".
[[nodiscard]] std::string modelFormatsText();
/// Whether a file is called like a model.
[[nodiscard]] bool hasModelEnding(const std::filesystem::path& path);

/// Reads a model of any of these formats. Errors: those of its reader; `notes` and `options` as readOnnx().
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>> readModelFile(const std::filesystem::path& path,
                                                                              const std::stop_token& stop = {},
                                                                              FileNotes* notes = nullptr,
                                                                              const ReadOptions& options = {});

/// Writes a graph in the format of the ending, as a whole or not at all. Errors: Usage (an ending that is not
/// written), Input (the graph does not fit the format), Output.
[[nodiscard]] base::Result<void> writeModelFile(const std::filesystem::path& path, const graph::Graph& graph);

} // namespace retro::formats
