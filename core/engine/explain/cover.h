// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/input/pictureinput.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace retro::engine
{

/// What takes the place of covered pixels.
enum class CoverFill {
    Surroundings, ///< grown inwards from the pixels around, then smoothed
    Grey          ///< half-way between black and white, before mean and deviation
};

/// Pixels of a picture that the model shall not see.
struct Cover
{
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> pixels; ///< height × width, rows from the top; not 0 = covered
    CoverFill fill = CoverFill::Surroundings;

    /// No pixel is covered.
    [[nodiscard]] bool isEmpty() const;
    bool operator==(const Cover&) const = default;
};

/// `input` (a model's picture as pictureToInput() gives it: four axes, floating, any batch) with the covered pixels
/// replaced in every channel and sample. A picture that is covered as a whole becomes grey. O(pixels covered), a few
/// dozen passes. Errors (Input): not four axes, not floating, another size than the cover.
[[nodiscard]] base::Result<tensor::Tensor> coverInput(const tensor::Tensor& input, const Cover& cover,
                                                      const PictureOptions& options);

} // namespace retro::engine
