// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/usualpreparation.h"
#include "core/engine/input/pictureinput.h"
#include "core/engine/model/loadmodel.h"
#include "core/formats/picturefile.h"
#include "core/trace/run.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace retro::engine
{

/// A picture among the sources of a question.
struct PictureUse
{
    std::string file;
    std::size_t input = 0; ///< which input of the graph reads it
    formats::PictureFile facts;
};

/// The pictures among sources (NAME=FILE, …) that can be read.
[[nodiscard]] std::vector<PictureUse> picturesOf(const std::vector<std::string>& sources, const graph::Graph& graph);

/// "as the model's card says": who said which numbers pixels become.
[[nodiscard]] std::string originText(const PictureOptions& options);
/// The same in one word: "card", "option" or "default".
[[nodiscard]] std::string_view originName(const PictureOptions& options);
/// What EXIF and transparency did to them, in words; empty = nothing.
[[nodiscard]] std::vector<std::string> pictureNotes(const std::vector<PictureUse>& pictures,
                                                    const PictureOptions& options);
/// How their pixels became numbers, in words: sizes, layout, scale, mean, std, who said so, what EXIF and transparency
/// did. `inputs` are the tensors that came of it; none = the sizes that the graph declares.
[[nodiscard]] std::vector<std::string> pictureLines(const std::vector<PictureUse>& pictures, const graph::Graph& graph,
                                                    const PictureOptions& options,
                                                    const std::vector<tensor::Tensor>& inputs = {});
/// The same for summary.json, an object for each picture.
[[nodiscard]] nlohmann::ordered_json pictureJson(const std::vector<PictureUse>& pictures, const graph::Graph& graph,
                                                 const PictureOptions& options,
                                                 const std::vector<tensor::Tensor>& inputs);
/// What a diagnosis has to know of a picture.
[[nodiscard]] diagnosis::PixelPreparation pixelsOf(const PictureUse& picture, const graph::Graph& graph,
                                                   const PictureOptions& options);
/// The same of a recorded run, as far as it says how pixels became numbers.
[[nodiscard]] std::vector<diagnosis::PixelPreparation> pixelsOf(const trace::Run& run);
/// That the model shows to expect other numbers, where nobody said how pixels become some
/// (diagnosis::expectedPreparation).
[[nodiscard]] std::vector<std::string> pictureWarnings(const std::vector<PictureUse>& pictures,
                                                       const LoadedModel& model, const PictureOptions& options);

} // namespace retro::engine
