// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/input/pictureinput.h"
#include "core/engine/model/loadmodel.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

#include <filesystem>
#include <string>
#include <vector>

namespace retro::engine
{

/// Where the data of graph inputs come from.
struct InputSource
{
    std::string name;   ///< graph input; empty = the only one
    std::string source; ///< file (.npy, .npz, .pb, .txt, a picture), "zeros", or "random:SEED"
};

/// Splits NAME=FILE. A text without '=' (or whose part before '=' is no input of the graph but which is a file as a
/// whole) is the source of the only input.
[[nodiscard]] InputSource parseInput(const std::string& text, const graph::Graph& graph);

/// Reads the tensor of every graph input, in order. Errors: Usage (an input without a source, a name that is no input,
/// two sources), Input (the file).  `zeros` and `random:SEED` need a declared shape; a free first axis counts as 1.
/// random gives uniform numbers in [0, 1), and integers within what reads them (drawnintegers.h), the same on every
/// machine. A .txt needs the card, which has the vocabulary. Of an .npz the array of the input's name counts, or the
/// only one.
[[nodiscard]] base::Result<std::vector<tensor::Tensor>> resolveInputs(const std::vector<std::string>& texts,
                                                                      const graph::Graph& graph,
                                                                      const PictureOptions& options,
                                                                      const formats::ModelCard* card = nullptr);

/// The same of a loaded model, without the texts that are of its optional inputs (takeOptionalInputs()).
[[nodiscard]] base::Result<std::vector<tensor::Tensor>>
resolveInputs(const std::vector<std::string>& texts, const LoadedModel& model, const PictureOptions& options);

/// The model with the data of its optional inputs (FileNotes::optionalInputs) that `texts` (NAME=FILE, …) name; the
/// model itself when they name none. Errors: Usage (two sources), Input (the file, its type), as withGiven().
[[nodiscard]] base::Result<LoadedModelPointer> takeOptionalInputs(const LoadedModelPointer& model,
                                                                  const std::vector<std::string>& texts,
                                                                  const std::stop_token& stop = {});

/// Whether a source names a picture: an ending of formats::kPictureEndings, in any case.
[[nodiscard]] bool isPictureFile(const std::string& source);

} // namespace retro::engine
