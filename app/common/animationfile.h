// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <QImage>

#include <filesystem>
#include <memory>

namespace retro::app
{

/// Writes pictures of one size one after the other as a film: .gif, .apng, a folder of numbered .png, and .mp4 or .webm
/// where ffmpeg is installed. Files come into being under a temporary name.
class AnimationFile
{
public:
    virtual ~AnimationFile() = default;
    /// Errors: Usage (another size than the first picture has), Output.
    [[nodiscard]] virtual base::Result<void> add(const QImage& picture) = 0;
    /// Nothing is there before this. Errors: Usage (no picture), Output.
    [[nodiscard]] virtual base::Result<void> finish() = 0;

    /// `framesPerSecond` from 1 to 60; a GIF counts in hundredths of a second. A path without ending is a folder, and
    /// `stem` the name of its pictures. Errors: Usage (ending; ffmpeg is missing, with what to do), Output.
    [[nodiscard]] static base::Result<std::unique_ptr<AnimationFile>>
    open(const std::filesystem::path& path, int framesPerSecond, const std::string& stem = "frame");
};

} // namespace retro::app
