// SPDX-License-Identifier: Apache-2.0
#include "app/common/exports.h"

#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "core/engine/language/languagepage.h"
#include "views/ledger/ledgerview.h"
#include "views/log/logview.h"
#include "views/plan/frontiercurve.h"
#include "views/profile/profileview.h"
#include "views/promises/promisesview.h"
#include "views/timeline/timelineview.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace retro::app
{

namespace
{

using base::Result;
using RunPointer = std::shared_ptr<const trace::Run>;

constexpr std::array kKinds{
    FileKind{"png", "PNG picture"},  FileKind{"svg", "SVG drawing"},   FileKind{"pdf", "PDF page"},
    FileKind{"csv", "CSV table"},    FileKind{"npy", "NumPy array"},   FileKind{"dot", "Graphviz text"},
    FileKind{"gif", "animated GIF"}, FileKind{"apng", "animated PNG"}, FileKind{"mp4", "MP4 film"},
    FileKind{"webm", "WebM film"},   FileKind{"json", "JSON"},         FileKind{"md", "Markdown text"},
    FileKind{"html", "HTML page"},
};

Result<void> writeHeatmap(const RunPointer& run, const std::filesystem::path& path, const ExportRequest& request)
{
    return exportHeatmap(*run, path, request);
}

/// Bytes in memory per visit, as the frontier chart draws them.
Result<void> writeFrontier(const RunPointer& run, const std::filesystem::path& path, const ExportRequest&)
{
    return base::writeFile(path, views::frontierCsv(*run));
}

/// What is recorded of the text; at an earlier position, and of older files, what the run itself tells.
Result<engine::LanguageReport> textOf(const trace::Run& run, const ExportRequest& request)
{
    return request.text && !request.position ? Result<engine::LanguageReport>(engine::reportOf(*request.text, run))
                                             : engine::reportOf(run, request.position);
}

Result<void> writeTokens(const RunPointer& run, const std::filesystem::path& path, const ExportRequest& request)
{
    RETRO_TRY(const engine::LanguageReport report, textOf(*run, request));
    const bool isTable = path.extension() == ".csv";
    return base::writeFile(path,
                           isTable ? engine::tokensCsv(report) : base::jsonOut(engine::reportJson(report), 1) + "\n");
}

Result<void> writePage(const RunPointer& run, const std::filesystem::path& path, const ExportRequest& request)
{
    RETRO_TRY(const engine::LanguageReport report, textOf(*run, request));
    return base::writeFile(path, engine::languagePage(report));
}

template <class SomeView>
std::unique_ptr<views::View> make(ViewStage& stage)
{
    return std::make_unique<SomeView>(stage.model, stage.cursor, stage.selection);
}

constexpr std::array kParts{
    RunPart{"heatmap", "png svg pdf npy csv", "value overlay plain bits colormap", true, {}, writeHeatmap},
    RunPart{"graph", "png svg pdf dot json", "select", true, {}, exportGraph},
    RunPart{"timeline", "svg png pdf csv", "theme size", true, {make<views::TimelineView>, 1200, 340}},
    RunPart{"ledger", "svg png pdf csv", "theme size", true, {make<views::LedgerView>, 480, 320}},
    RunPart{"frontier", "csv", "", false, {}, writeFrontier},
    RunPart{"profile", "csv json", "", false, {make<views::ProfileView>, 640, 480}},
    RunPart{"promises", "csv json", "", false, {make<views::PromisesView>, 640, 800}},
    RunPart{"log", "csv json", "", false, {make<views::LogView>, 800, 600}},
    RunPart{"tokens", "csv json", "", false, {}, writeTokens},
    RunPart{"html", "html", "", false, {}, writePage},
};

} // namespace

std::span<const FileKind> fileKinds() { return kKinds; }

std::string titleOfKind(std::string_view ending)
{
    const auto* found = std::ranges::find(kKinds, ending, &FileKind::ending);
    return std::string(found == kKinds.end() ? ending : found->title);
}

std::span<const RunPart> runParts() { return kParts; }

const RunPart* findPart(std::string_view name)
{
    const auto* found = std::ranges::find(kParts, name, &RunPart::name);
    return found == kParts.end() ? nullptr : found;
}

Result<void> writePart(const RunPart& part, const RunPointer& run, const std::filesystem::path& path,
                       const PartRequest& asked)
{
    if (part.write != nullptr) {
        return part.write(run, path, asked.request);
    }
    ViewRequest view = asked.view;
    view.view = part.name;
    view.position = asked.request.position;
    return exportView(run, path, view);
}

bool takes(const RunPart& part, std::string_view option)
{
    const std::size_t at = part.takes.find(option);
    const std::size_t end = at + option.size();
    return at != std::string_view::npos && (at == 0 || part.takes[at - 1] == ' ') &&
           (end == part.takes.size() || part.takes[end] == ' ');
}

} // namespace retro::app
