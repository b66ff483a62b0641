// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/common/exportrun.h"
#include "app/common/exportview.h"
#include "core/engine/language/languagereport.h"
#include "views/common/actions.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::app
{

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
