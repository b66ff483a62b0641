// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"
#include "views/common/cursor.h"
#include "views/common/selection.h"
#include "views/common/view.h"
#include "views/common/viewcontext.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::app
{

/// What a view hangs on, without a window.
struct ViewStage
{
    views::Cursor cursor;
    views::Selection selection;
    views::RunModel model{cursor};
};

/// How a view of a recorded run is made without a window; the table of exports.h has one for each that there is.
struct DrawnView
{
    std::unique_ptr<views::View> (*make)(ViewStage& stage) = nullptr;
    int width = 0; ///< in pixels, where the request names none
    int height = 0;
};

/// How a view of a recorded run is written without a window.
struct ViewRequest
{
    std::string view;                      ///< the name of a part that a view draws (exports.h)
    std::optional<std::uint64_t> position; ///< events applied; none = the end
    bool isDark = false;
    int width = 0; ///< pixels; 0 = what suits the view
    int height = 0;
};

/// Writes what the view of that name shows of a run, with the view's own painter: .svg, .png, .pdf, .csv or
/// .json, as far as the view knows the ending. Makes an offscreen application when the process has none. Errors: Usage
/// (view, ending, nothing to show), Input (the run cannot be opened), Output.
[[nodiscard]] base::Result<void> exportView(const std::shared_ptr<const trace::Run>& run,
                                            const std::filesystem::path& path, const ViewRequest& request);

/// A file and what is to be in it.
struct ViewFile
{
    ViewRequest request;
    std::filesystem::path path;
};

/// As exportView() for several files of a run that is open, one result for each; nothing comes on screen. The timeline
/// of the run moves, so give it a copy. Files of the same theme should follow each other: a change of theme takes time.
[[nodiscard]] std::vector<base::Result<void>> exportViews(const views::RunHandle& run, std::span<const ViewFile> files);

} // namespace retro::app
