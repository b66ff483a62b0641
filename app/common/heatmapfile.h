// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/input/pictureinput.h"
#include "core/tensor/tensor.h"

#include <QImage>

#include <filesystem>
#include <string>
#include <vector>

namespace retro::app
{

/// A heatmap to be drawn into a file.
struct HeatmapJob
{
    tensor::Tensor relevance; ///< of an input or a hidden value
    QImage picture;           ///< what the model saw; null when the input is no picture
    std::string colormap = "relevance";
    bool overlay = false;
    bool isSeries = false;          ///< steps, drawn as a strip
    std::vector<double> features;   ///< of a table: its numbers, each of which has a line
    std::vector<std::string> words; ///< of the steps or features; empty = numbers
    bool isPlain = false;           ///< without colour bar and caption
    int bits = 8;                   ///< 16: a PNG of grey levels that stand for the numbers (views::writeLevels)
    std::string modelName;
    std::string modelHash; ///< views::modelHashText
    std::string composite;
    std::string target;
    std::uint64_t step = 0; ///< events applied
    std::uint64_t visit = 0;
};

/// The picture that an input tensor stands for, first sample; null when it has no picture's shape.
[[nodiscard]] QImage pictureOfInput(const tensor::Tensor& input, const engine::PictureOptions& options);
/// Errors (Usage): no colour map of this name, and no hex stops.
[[nodiscard]] base::Result<void> checkColormap(const std::string& name);
/// Draws by the extension: .png, .svg, .pdf. Errors: Usage (another extension, unknown colour map, 16 bits with
/// colours), Output.
[[nodiscard]] base::Result<void> writeHeatmap(const std::filesystem::path& path, const HeatmapJob& job);

} // namespace retro::app
