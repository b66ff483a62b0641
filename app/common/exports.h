// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/common/exportrun.h"
#include "app/common/exportview.h"

#include <span>
#include <string>
#include <string_view>

namespace retro::app
{

/// A kind of file that something on screen, or of a recorded run, is written as.
struct FileKind
{
    std::string_view ending; ///< without the dot
    std::string_view title;
};
/// All kinds; dialogs and help say them.
[[nodiscard]] std::span<const FileKind> fileKinds();
/// The title of a kind; of one that is not there, its ending.
[[nodiscard]] std::string titleOfKind(std::string_view ending);

/// What `export` is asked of a part of a run.
struct PartRequest
{
    ExportRequest request; ///< of heatmap and graph; its position is that of all parts
    ViewRequest view;      ///< of the parts that a view draws
};

/// A part of a recorded run that is written to a file: drawn by a view, or written by a function of its own.
struct RunPart
{
    std::string_view name;
    std::string_view endings; ///< "png svg pdf": how it can be written, the usual one first
    std::string_view takes;   ///< options beside those of all parts, without dashes
    bool isPicture;           ///< an animation can be made of it
    DrawnView view;           ///< without a maker where `write` writes it
    base::Result<void> (*write)(const std::shared_ptr<const trace::Run>& run, const std::filesystem::path& path,
                                const ExportRequest& request) = nullptr;
};
/// All parts; help, what an option is for, and the list in docs/cli.md follow from them.
[[nodiscard]] std::span<const RunPart> runParts();
/// One of them; null when there is none of that name.
[[nodiscard]] const RunPart* findPart(std::string_view name);
/// Writes a part of a run. Errors: those of exportHeatmap(), exportGraph() and exportView().
[[nodiscard]] base::Result<void> writePart(const RunPart& part, const std::shared_ptr<const trace::Run>& run,
                                           const std::filesystem::path& path, const PartRequest& asked);
/// Whether a part takes an option.
[[nodiscard]] bool takes(const RunPart& part, std::string_view option);

} // namespace retro::app
