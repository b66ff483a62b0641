// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/common/exportrun.h"
#include "core/base/result.h"
#include "core/engine/language/languagereport.h"
#include "core/trace/run.h"
#include "views/common/actions.h"
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
#include <string_view>
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

/// The title of a kind of file: "svg" → "SVG drawing". Of one that is not there, its ending.
[[nodiscard]] std::string titleOfKind(std::string_view ending);

/// How a pane of the window is written.
struct PaneWriter
{
    std::string_view view;      ///< name of the class of its view: "TimelineView"
    views::ActionSpec action{}; ///< its entry in the menu Export; without an id there is none
    base::Result<void> (*write)(views::View& view, const std::filesystem::path& path) = nullptr; ///< null: exportTo()
};

/// How a part of a recorded run is written without a window.
struct RunWriter
{
    std::string_view takes; ///< options of `export` beside those of all parts, without dashes
    bool isPicture = false; ///< an animation can be made of it
    DrawnView view{};       ///< without a maker where `write` writes it
    base::Result<void> (*write)(const std::shared_ptr<const trace::Run>& run, const std::filesystem::path& path,
                                const ExportRequest& request) = nullptr;
    std::string_view endings{}; ///< where they are not those of the pane
};

/// Something that is written to a file: a pane of the window, a part of a recorded run, or both.
struct Export
{
    std::string_view name;    ///< word of the command line, and of the file that a dialog offers
    std::string_view endings; ///< "png svg pdf": how it can be written, the usual one first
    std::optional<PaneWriter> pane{};
    std::optional<RunWriter> run{};
};
/// All of them. Menu, dialogs, help, what an option is for, errors, and the lists in docs/cli.md and
/// docs/windows/window.md follow from this table.
[[nodiscard]] std::span<const Export> exports();
/// Those whose `run` is there, in the order of the table.
[[nodiscard]] std::vector<const Export*> runParts();
/// The part of a run of that name; null when there is none.
[[nodiscard]] const Export* findPart(std::string_view name);
/// How a part of a run can be written.
[[nodiscard]] std::string_view endingsOfRun(const Export& part);
/// Whether an entry is of a view.
[[nodiscard]] bool isOf(const Export& pane, const views::View& view);
/// The entry that writes all of a view; null when there is none, or when the view has nothing to write at present.
[[nodiscard]] const Export* exportOf(const views::View& view);
/// The endings of an animation of the graph (exportFilm()) and of a report (writeReport()).
inline constexpr std::string_view kFilmEndings = "gif apng mp4 webm";
inline constexpr std::string_view kReportEndings = "html htm";

/// The words of a list: "png svg" → png, svg.
[[nodiscard]] std::vector<std::string_view> wordsOf(std::string_view list);
/// Whether a file is called as one of these, in letters of either size.
[[nodiscard]] bool hasEnding(const std::filesystem::path& path, std::string_view endings);
/// Errors (Usage): it is not.
[[nodiscard]] base::Result<void> checkEnding(std::string_view name, std::string_view endings,
                                             const std::filesystem::path& path);
/// Whether a part takes an option.
[[nodiscard]] bool takes(const Export& part, std::string_view option);

/// What is asked of a part of a run.
struct PartRequest
{
    ExportRequest request; ///< of heatmap and graph; its position is that of all parts
    ViewRequest view;      ///< of the parts that a view draws
};
/// Writes a part of a run. Errors: Usage (ending), and those of exportHeatmap(), exportGraph() and exportView().
[[nodiscard]] base::Result<void> writePart(const Export& part, const std::shared_ptr<const trace::Run>& run,
                                           const std::filesystem::path& path, const PartRequest& asked);
/// Writes a pane. Errors: Usage (ending, nothing to show), Output.
[[nodiscard]] base::Result<void> writePane(const Export& pane, views::View& view, const std::filesystem::path& path);
/// Writes a text of a run as .html (a page), .csv (a row per token) or .json (everything).
[[nodiscard]] base::Result<void> writeText(const trace::RunText& text, const trace::Run& run,
                                           const std::filesystem::path& path);

} // namespace retro::app
