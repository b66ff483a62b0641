// SPDX-License-Identifier: Apache-2.0
#include "app/common/exports.h"

#include "app/common/guiapplication.h"
#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "core/engine/language/languagepage.h"
#include "core/trace/timeline.h"
#include "views/common/paint/theme.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/ledger/ledgerview.h"
#include "views/log/logview.h"
#include "views/plan/frontiercurve.h"
#include "views/profile/profileview.h"
#include "views/promises/promisesview.h"
#include "views/timeline/timelineview.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <cctype>

namespace retro::app
{

namespace
{

using base::Result;

Result<const Export*> findView(const std::string& name)
{
    const Export* part = findPart(name);
    if (part == nullptr || part->run->view.make == nullptr) {
        std::vector<std::string_view> names;
        for (const Export* one : runParts()) {
            if (one->run->view.make != nullptr) {
                names.push_back(one->name);
            }
        }
        return base::usageError(fmt::format("there is no view '{}'; choose one of: {}", name, fmt::join(names, ", ")),
                                "export");
    }
    return part;
}

/// Puts the theme back that was chosen before.
class ThemeGuard
{
public:
    ThemeGuard() : m_before(views::ThemeHub::instance().choice()) {}
    static void use(bool isDark)
    {
        views::ThemeHub::instance().setChoice(isDark ? views::ThemeChoice::Dark : views::ThemeChoice::Light);
    }
    ~ThemeGuard() { views::ThemeHub::instance().setChoice(m_before); }
    ThemeGuard(const ThemeGuard&) = delete;
    ThemeGuard& operator=(const ThemeGuard&) = delete;

private:
    views::ThemeChoice m_before;
};

/// What has been posted to a widget and those inside it, and to nobody else: a window may be open.
void deliverPosted(QWidget& widget)
{
    QCoreApplication::sendPostedEvents(&widget);
    for (QWidget* child : widget.findChildren<QWidget*>()) {
        QCoreApplication::sendPostedEvents(child);
    }
}

Result<void> write(ViewStage& stage, const ViewRequest& request, const std::filesystem::path& path)
{
    RETRO_TRY(const Export* part, findView(request.view));
    RETRO_CHECK(checkEnding(part->name, endingsOfRun(*part), path));
    const DrawnView& chosen = part->run->view;
    ThemeGuard::use(request.isDark);
    const std::uint64_t end = stage.model.run().eventCount();
    stage.cursor.moveTo(std::min(request.position.value_or(end), end));
    const std::unique_ptr<views::View> view = chosen.make(stage);
    view->resize(request.width > 0 ? request.width : chosen.width, request.height > 0 ? request.height : chosen.height);
    view->setAttribute(Qt::WA_DontShowOnScreen);
    view->show();
    view->flush();
    deliverPosted(*view); // the layout of the body
    return view->exportTo(path);
}

using base::Result;
using views::ActionSpec;
using RunPointer = std::shared_ptr<const trace::Run>;

struct FileKind
{
    std::string_view ending;
    std::string_view title;
};

constexpr std::array kKinds{
    FileKind{"png", "PNG picture"},   FileKind{"jpg", "JPEG picture"}, FileKind{"svg", "SVG drawing"},
    FileKind{"pdf", "PDF page"},      FileKind{"csv", "CSV table"},    FileKind{"npy", "NumPy array"},
    FileKind{"dot", "Graphviz text"}, FileKind{"gif", "animated GIF"}, FileKind{"apng", "animated PNG"},
    FileKind{"mp4", "MP4 film"},      FileKind{"webm", "WebM film"},   FileKind{"json", "JSON"},
    FileKind{"md", "Markdown text"},  FileKind{"html", "HTML page"},
};

Result<void> writeHeatmapOfRun(const RunPointer& run, const std::filesystem::path& path, const ExportRequest& request)
{
    return exportHeatmap(*run, path, request);
}

/// Bytes in memory per visit, as the frontier chart draws them.
Result<void> writeFrontier(const RunPointer& run, const std::filesystem::path& path, const ExportRequest&)
{
    RETRO_TRY(const trace::Timeline timeline, trace::Timeline::open(run));
    return base::writeFile(path, views::frontierCsv(timeline));
}

Result<void> writeReportOfText(const engine::LanguageReport& report, const std::filesystem::path& path)
{
    return base::writeFile(path, hasEnding(path, "html")  ? engine::languagePage(report)
                                 : hasEnding(path, "csv") ? engine::tokensCsv(report)
                                                          : base::jsonOut(engine::reportJson(report), 1) + "\n");
}

/// What is recorded of the text; at an earlier position, and of older files, what the run itself tells.
Result<void> writeTokens(const RunPointer& run, const std::filesystem::path& path, const ExportRequest& request)
{
    if (request.text && !request.position) {
        return writeText(*request.text, *run, path);
    }
    RETRO_TRY(const engine::LanguageReport report, engine::reportOf(*run, request.position));
    return writeReportOfText(report, path);
}

template <views::GraphView::Part part>
Result<void> writeGraphPart(views::View& view, const std::filesystem::path& path)
{
    return static_cast<views::GraphView&>(view).exportPart(path, part);
}

Result<void> writeLevels(views::View& view, const std::filesystem::path& path)
{
    return static_cast<views::HeatmapView&>(view).exportLevels(path);
}

template <class SomeView>
std::unique_ptr<views::View> make(ViewStage& stage)
{
    return std::make_unique<SomeView>(stage.model, stage.cursor, stage.selection);
}

/// An entry of the menu Export; the ways to write it are put behind the tip.
constexpr ActionSpec entry(const char* id, const char* text, const char* tip, const char* key = "")
{
    return {id, text, tip, "export", key};
}

// Those of one view: the first writes all of it.
constexpr std::array kExports{
    Export{"heatmap", "png svg pdf html csv npy jpg",
           PaneWriter{"HeatmapView", entry("export.heatmap", RETRO_ACTION("Export &heatmap…"),
                                           RETRO_ACTION("Save the heatmap"), "Ctrl+E")},
           RunWriter{"value overlay plain bits colormap", true, {}, writeHeatmapOfRun, "png svg pdf npy csv jpg"}},
    Export{"levels", "png",
           PaneWriter{"HeatmapView",
                      entry("export.levels", RETRO_ACTION("Export heatmap as 1&6-bit levels…"),
                            RETRO_ACTION("Save the relevance as 16-bit levels of grey that stand for the numbers")),
                      writeLevels}},
    Export{
        "graph", "svg png pdf dot json",
        PaneWriter{"GraphView", entry("export.graph", RETRO_ACTION("Export &graph…"), RETRO_ACTION("Save the graph"))},
        RunWriter{"select", true, {}, exportGraph}},
    Export{"graphsight", "svg png pdf",
           PaneWriter{"GraphView",
                      entry("export.graphsight", RETRO_ACTION("Export graph in &sight…"),
                            RETRO_ACTION("Save the part of the graph that is in sight")),
                      writeGraphPart<views::GraphView::Part::InSight>}},
    Export{"graphselection", "svg png pdf",
           PaneWriter{"GraphView",
                      entry("export.graphselection", RETRO_ACTION("Export graph se&lection…"),
                            RETRO_ACTION("Save the selected nodes of the graph with what lies between them")),
                      writeGraphPart<views::GraphView::Part::Selected>}},
    Export{"timeline", "svg png pdf csv",
           PaneWriter{"TimelineView", entry("export.timeline", RETRO_ACTION("Export &timeline…"),
                                            RETRO_ACTION("Save the timeline, or its counts as a table"))},
           RunWriter{"theme size", true, {make<views::TimelineView>, 1200, 340}}},
    Export{"ledger", "csv png svg pdf",
           PaneWriter{"LedgerView", entry("export.ledger", RETRO_ACTION("Export &ledger…"),
                                          RETRO_ACTION("Save where the relevance went"))},
           RunWriter{"theme size", true, {make<views::LedgerView>, 480, 320}}},
    Export{"layers", "png svg pdf csv",
           PaneWriter{"LayersView", entry("export.layers", RETRO_ACTION("Export la&yers…"),
                                          RETRO_ACTION("Save the relevance of the layers"))}},
    Export{"classes", "csv png svg pdf html",
           PaneWriter{"ClassesView", entry("export.classes", RETRO_ACTION("Export &classes…"),
                                           RETRO_ACTION("Save the best classes"))}},
    Export{"frontier", "svg png pdf csv", PaneWriter{"FrontierChart"}, RunWriter{"", false, {}, writeFrontier, "csv"}},
    Export{"profile", "csv json", PaneWriter{"ProfileView"},
           RunWriter{"", false, {make<views::ProfileView>, 640, 480}}},
    Export{"promises", "csv json",
           PaneWriter{"PromisesView", entry("export.promises", RETRO_ACTION("Export &promises…"),
                                            RETRO_ACTION("Save the promises of the run"))},
           RunWriter{"", false, {make<views::PromisesView>, 640, 800}}},
    Export{"log", "csv json",
           PaneWriter{"LogView", entry("export.log", RETRO_ACTION("Export &event log…"),
                                       RETRO_ACTION("Save the event log, as its filter leaves it"))},
           RunWriter{"", false, {make<views::LogView>, 800, 600}}},
    Export{"notebook", "md",
           PaneWriter{"NotebookView", entry("export.notebook", RETRO_ACTION("Export note&book…"),
                                            RETRO_ACTION("Save pinned places and the trail"))}},
    Export{
        "plan", "svg png pdf csv json",
        PaneWriter{"ScheduleView", entry("export.plan", RETRO_ACTION("Export pla&n…"),
                                         RETRO_ACTION("Save the schedule, its steps as a table, or the plan itself"))}},
    Export{"planners", "svg png pdf csv",
           PaneWriter{"PlannersView", entry("export.planners", RETRO_ACTION("Export planne&rs…"),
                                            RETRO_ACTION("Save memory against work"))}},
    Export{"tensors", "csv",
           PaneWriter{"TensorsView", entry("export.tensors", RETRO_ACTION("Export tens&ors…"),
                                           RETRO_ACTION("Save what becomes of every tensor, with reasons"))}},
    Export{"tokens", "csv json", {}, RunWriter{"", false, {}, writeTokens}},
    Export{"html", "html", {}, RunWriter{"", false, {}, writeTokens}},
    Export{"text", "png svg pdf html json csv", PaneWriter{"TextView"}},
    Export{"wordlayers", "png svg pdf csv", PaneWriter{"WordLayersView"}},
    Export{"input", "png npy jpg", PaneWriter{"InputView"}},
    Export{"output", "png svg pdf html csv", PaneWriter{"OutputView"}},
    Export{"inspector", "npy csv", PaneWriter{"InspectorView"}},
    Export{"values", "npy csv", PaneWriter{"ValuesView"}},
    Export{"watch", "csv", PaneWriter{"WatchView"}},
    Export{"compare", "png svg pdf", PaneWriter{"CompareView"}},
    Export{"beforeafter", "png svg pdf html csv", PaneWriter{"BeforeAfterView"}},
    Export{"region", "csv png svg pdf html", PaneWriter{"RegionView"}},
    Export{"history", "csv png svg pdf html", PaneWriter{"HistoryView"}},
    Export{"memory", "png svg pdf html csv", PaneWriter{"MemoryView"}},
    Export{"dataflow", "png svg pdf", PaneWriter{"DataFlowView"}},
    Export{"verification", "csv json", PaneWriter{"VerificationView"}},
    Export{"diagnose", "json csv", PaneWriter{"DiagnoseView"}},
    Export{"blocksize", "svg png pdf csv", PaneWriter{"BlockSizeView"}},
    Export{"pins", "csv", PaneWriter{"PinsView"}},
    Export{"snapshot", "csv png svg pdf", PaneWriter{"SnapshotView"}},
};

} // namespace

Result<void> exportView(const std::shared_ptr<const trace::Run>& run, const std::filesystem::path& path,
                        const ViewRequest& request)
{
    RETRO_CHECK(findView(request.view)); // before anything is opened
    ensureGuiApplication();
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(run));
    const ViewFile file{request, path};
    return exportViews({run, std::make_shared<trace::Timeline>(std::move(timeline))}, {&file, 1}).front();
}

std::vector<Result<void>> exportViews(const views::RunHandle& run, std::span<const ViewFile> files)
{
    ensureGuiApplication();
    const ThemeGuard guard;
    ViewStage stage;
    stage.model.setRun(run);
    std::vector<Result<void>> results;
    for (const ViewFile& file : files) {
        results.push_back(write(stage, file.request, file.path));
    }
    return results;
}

std::string titleOfKind(std::string_view ending)
{
    const auto* found = std::ranges::find(kKinds, ending, &FileKind::ending);
    return std::string(found == kKinds.end() ? ending : found->title);
}

std::span<const Export> exports() { return kExports; }

std::vector<const Export*> runParts()
{
    std::vector<const Export*> parts;
    for (const Export& one : kExports) {
        if (one.run) {
            parts.push_back(&one);
        }
    }
    return parts;
}

const Export* findPart(std::string_view name)
{
    const auto* found = std::ranges::find(kExports, name, &Export::name);
    return found == kExports.end() || !found->run ? nullptr : found;
}

std::string_view endingsOfRun(const Export& part)
{
    return part.run && !part.run->endings.empty() ? part.run->endings : part.endings;
}

bool isOf(const Export& pane, const views::View& view)
{
    const std::string_view name = view.metaObject()->className(); // "retro::views::TimelineView"
    return pane.pane && name.substr(name.rfind(':') + 1) == pane.pane->view;
}

const Export* exportOf(const views::View& view)
{
    const auto* found = std::ranges::find_if(kExports, [&](const Export& one) { return isOf(one, view); });
    return found == kExports.end() || !view.canBeWritten() ? nullptr : found;
}

std::vector<std::string_view> wordsOf(std::string_view list)
{
    std::vector<std::string_view> words;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        words.push_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return words;
}

bool hasEnding(const std::filesystem::path& path, std::string_view endings)
{
    const std::string ending = path.extension().string();
    return std::ranges::any_of(wordsOf(endings), [&](std::string_view known) {
        return ending.size() == known.size() + 1 && std::ranges::equal(known, ending.substr(1), [](char one, char two) {
                   return one == static_cast<char>(std::tolower(static_cast<unsigned char>(two)));
               });
    });
}

Result<void> checkEnding(std::string_view name, std::string_view endings, const std::filesystem::path& path)
{
    if (!hasEnding(path, endings)) {
        return base::usageError(
            fmt::format("{} is written as .{}; end the name so", name, fmt::join(wordsOf(endings), ", .")),
            path.string());
    }
    return {};
}

bool takes(const Export& part, std::string_view option)
{
    const std::vector<std::string_view> words = wordsOf(part.run ? part.run->takes : std::string_view());
    return std::ranges::find(words, option) != words.end();
}

Result<void> writePart(const Export& part, const RunPointer& run, const std::filesystem::path& path,
                       const PartRequest& asked)
{
    if (part.run->write != nullptr) {
        RETRO_CHECK(checkEnding(part.name, endingsOfRun(part), path));
        return part.run->write(run, path, asked.request);
    }
    ViewRequest view = asked.view;
    view.view = part.name;
    view.position = asked.request.position;
    return exportView(run, path, view);
}

Result<void> writePane(const Export& pane, views::View& view, const std::filesystem::path& path)
{
    RETRO_CHECK(checkEnding(pane.name, pane.endings, path));
    view.flush();
    return pane.pane->write != nullptr ? pane.pane->write(view, path) : view.exportTo(path);
}

Result<void> writeText(const trace::RunText& text, const trace::Run& run, const std::filesystem::path& path)
{
    return writeReportOfText(engine::reportOf(text, run), path);
}

} // namespace retro::app
