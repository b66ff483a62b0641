// SPDX-License-Identifier: Apache-2.0
#include "app/common/exports.h"

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

Result<void> writeHeatmapPart(const RunPointer& run, const std::filesystem::path& path, const PartRequest& asked)
{
    return exportHeatmap(*run, path, asked.request);
}

Result<void> writeGraphPart(const RunPointer& run, const std::filesystem::path& path, const PartRequest& asked)
{
    return exportGraph(run, path, asked.request);
}

template <const char* Name>
Result<void> writeView(const RunPointer& run, const std::filesystem::path& path, const PartRequest& asked)
{
    ViewRequest view = asked.view;
    view.view = Name;
    view.position = asked.request.position;
    return exportView(run, path, view);
}

constexpr char kTimeline[] = "timeline";
constexpr char kLedger[] = "ledger";
constexpr char kPromises[] = "promises";
constexpr char kLog[] = "log";

constexpr std::array kParts{
    RunPart{"heatmap", "png svg pdf npy csv", "value overlay plain bits colormap", true, writeHeatmapPart},
    RunPart{"graph", "png svg pdf dot json", "select", true, writeGraphPart},
    RunPart{kTimeline, "svg png pdf csv", "theme size", true, writeView<kTimeline>},
    RunPart{kLedger, "svg png pdf csv", "theme size", true, writeView<kLedger>},
    RunPart{kPromises, "csv json", "", false, writeView<kPromises>},
    RunPart{kLog, "csv json", "", false, writeView<kLog>},
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

bool takes(const RunPart& part, std::string_view option)
{
    const std::size_t at = part.takes.find(option);
    const std::size_t end = at + option.size();
    return at != std::string_view::npos && (at == 0 || part.takes[at - 1] == ' ') &&
           (end == part.takes.size() || part.takes[end] == ' ');
}

} // namespace retro::app
