// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"
#include "views/common/viewcontext.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace retro::app
{

/// Which film of the graph is made of a run.
struct FilmRequest
{
    std::optional<std::pair<std::uint32_t, std::uint32_t>> visits; ///< first and last, from 0; none = all
    double speed = 1;                                              ///< visits per second
    int framesPerSecond = 25;                                      ///< 1 … 60
    bool isDark = false;
    int width = 1224; ///< pixels; a wide film runs sideways
    int height = 470;
};
/// More frames than this are refused; a higher speed or fewer visits make fewer.
inline constexpr std::size_t kMostFilmFrames = 20'000;

/// The moments of the frames, from the start of the first visit to the end of the last one. Errors (Usage): a speed or
/// rate out of range, visits that are not there, too many frames, with what to do.
[[nodiscard]] base::Result<std::vector<double>> filmMoments(const trace::Run& run, const FilmRequest& request);

/// Writes what the graph of the engine shows while the run is played, frame by frame with the painter of the window: as
/// .gif, .apng, .mp4, .webm (where ffmpeg is installed), or as numbered pictures into a folder. `goesOn` is asked after
/// every frame with the share that is done, and ends the work with false. Makes an offscreen application when the
/// process has none. Errors: those of filmMoments() and AnimationFile; Input (the run cannot be opened); Cancelled.
[[nodiscard]] base::Result<void> exportFilm(const std::shared_ptr<const trace::Run>& run,
                                            const std::filesystem::path& path, const FilmRequest& request,
                                            const std::function<bool(double)>& goesOn = {});

} // namespace retro::app
