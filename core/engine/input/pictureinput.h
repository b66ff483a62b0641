// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/modelcard.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace retro::engine
{

/// A decoded picture: 8 bits per sample, rows from the top, RGB.
struct PixelArray
{
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> rgb; ///< height × width × 3

    /// Area-averaged (down) or nearest (up) copy of another size.
    [[nodiscard]] PixelArray resized(int newWidth, int newHeight) const;
    /// The same, as `frame` says (formats::isFrame()).
    [[nodiscard]] PixelArray framed(int newWidth, int newHeight, const std::string& frame) const;
    /// As it is to be seen whose EXIF orientation is 1 … 8; itself for 1.
    [[nodiscard]] PixelArray turned(int orientation) const;
};

/// Who says how pixels become numbers.
enum class PictureOrigin : std::uint8_t {
    Usual, ///< nobody
    Card,
    Asked
};

/// How a picture becomes a model's input: from the card, or from --mean, --std and --layout.
struct PictureOptions
{
    std::string layout = "NCHW";
    std::string channels = "RGB";
    double low = 0;                ///< value of sample 0 before mean and deviation
    double high = 1;               ///< value of sample 255
    std::vector<double> mean;      ///< per channel; empty = 0
    std::vector<double> deviation; ///< per channel; empty = 1
    bool asStored = false;         ///< not turned by EXIF, transparency left out
    PictureOrigin origin = PictureOrigin::Usual;
    std::string frame = "stretch"; ///< formats::isFrame()
};

/// Options of a card, or the defaults without one.
[[nodiscard]] PictureOptions pictureOptions(const formats::ModelCard* card);

/// Resizes the picture to what the model's input wants, as `options.frame` says, and converts it: (low + s/255·(high −
/// low) − mean) / deviation, batch 1. Result: float32 of shape 1×C×H×W or 1×H×W×C. Errors (Input): the input has not
/// four axes, its channels are neither 1 nor 3, or the options do not fit.
[[nodiscard]] base::Result<tensor::Tensor> pictureToInput(const PixelArray& picture, const graph::Value& input,
                                                          const PictureOptions& options);

} // namespace retro::engine
