// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/common/exportfilm.h"
#include "app/common/exports.h"
#include "app/common/report.h"
#include "core/engine/diagnose.h"
#include "core/trace/runfile.h"
#include "core/trace/timeline.h"
#include "views/common/run/runindex.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

namespace retro::app
{

namespace
{

constexpr int kLeastSide = 100;
constexpr int kLargestSide = 16'384;

struct ExportOptions
{
    std::string file;
    std::string what;
    std::string out;
    ExportRequest request;
    std::string theme = "light";
    std::string size;
    std::string visits;      ///< "3..12": one file per visit
    std::string of;          ///< of an animation: the part whose pictures it has
    double speed = 0;        ///< of a film, visits per second; 0 = 1
    int framesPerSecond = 0; ///< of a film; 0 = 25
};

/// "1200x340".
base::Result<void> readSize(const std::string& text, ViewRequest& request)
{
    if (text.empty()) {
        return {};
    }
    const std::size_t cross = text.find('x');
    const char* end = text.data() + text.size();
    const auto number = [&](const char* from, const char* to, int& value) {
        const auto [stop, error] = std::from_chars(from, to, value);
        return error == std::errc() && stop == to && value >= kLeastSide && value <= kLargestSide;
    };
    const bool isGood = cross != std::string::npos && number(text.data(), text.data() + cross, request.width) &&
                        number(text.data() + cross + 1, end, request.height);
    if (!isGood) {
        return base::usageError(fmt::format("write WIDTHxHEIGHT, each from {} to {} pixels", kLeastSide, kLargestSide),
                                "--size " + text);
    }
    return {};
}

/// The part of the run that is drawn; an animation is of the graph unless something else is asked for.
const std::string& partOf(const ExportOptions& options)
{
    static const std::string graph = "graph";
    return options.what != "animation" ? options.what : options.of.empty() ? graph : options.of;
}

/// The graph in motion, in place of a picture per step: asked for by the ending or by a rate.
bool isFilm(const ExportOptions& options)
{
    return options.what == "animation" && partOf(options) == "graph" &&
           (hasEnding(options.out, kFilmEndings) || options.speed != 0 || options.framesPerSecond != 0);
}

/// What only films take, and what they do not.
base::Result<void> checkFilmOptions(const ExportOptions& options)
{
    if ((options.speed != 0 || options.framesPerSecond != 0) && !isFilm(options)) {
        return base::usageError("only an animation of the graph has a speed and frames per second",
                                options.speed != 0 ? "--speed" : "--fps");
    }
    if (options.what == "animation" && !isFilm(options) && hasEnding(options.out, kFilmEndings)) {
        return base::usageError("only the graph moves; of " + partOf(options) +
                                    " an animation is a folder of pictures, one per step",
                                options.out);
    }
    if (isFilm(options) && (options.request.position || !options.request.select.empty())) {
        return base::usageError("a film shows all of the graph; choose a part of the run with --steps",
                                options.request.position ? "--at" : "--select");
    }
    return {};
}

/// Options that mean nothing for a part are refused rather than overlooked.
base::Result<void> checkOptions(const ExportOptions& options)
{
    const Export* part = findPart(partOf(options));
    const auto takesNot = [&](std::string_view option) { return part == nullptr || !takes(*part, option); };
    if (options.request.bits != 8 && takesNot("bits")) {
        return base::usageError("only a heatmap is written with 16 bits", "--bits 16");
    }
    RETRO_CHECK(checkFilmOptions(options));
    if (!options.of.empty() && options.what != "animation") {
        return base::usageError("only an animation is made of the pictures of a part", "--of " + options.of);
    }
    if (!options.visits.empty() && options.what == "report") {
        return base::usageError("a report is one file; leave --steps away, or say --at", "--steps " + options.visits);
    }
    if (!options.request.select.empty() && takesNot("select")) {
        return base::usageError("only a part of the graph can be selected", "--select");
    }
    return {};
}

base::Result<void> exportPart(const std::shared_ptr<const trace::Run>& run, const ExportOptions& options)
{
    PartRequest asked{options.request, {}};
    asked.view.isDark = options.theme == "dark";
    RETRO_CHECK(readSize(options.size, asked.view));
    return writePart(*findPart(partOf(options)), run, options.out, asked);
}

/// First and last of "3..12", counted from 1. Errors: Usage.
base::Result<std::pair<std::uint32_t, std::uint32_t>> readVisits(const std::string& text, std::uint32_t most)
{
    const std::size_t dots = text.find("..");
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    const auto number = [](std::string_view word, std::uint32_t& value) {
        const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        return error == std::errc() && stop == word.data() + word.size();
    };
    const bool isRange = dots != std::string::npos && number(std::string_view(text).substr(0, dots), first) &&
                         number(std::string_view(text).substr(dots + 2), last);
    if (!isRange || first < 1 || first > last || last > most) {
        return base::usageError(fmt::format("write FIRST..LAST, from 1 to {} in this run", most), "--steps " + text);
    }
    return std::pair(first, last);
}

/// The file that the pictures of an animation are named after: a folder is made and gets "graph-0001.png" and so on.
base::Result<std::filesystem::path> patternOf(const ExportOptions& options)
{
    const std::filesystem::path out = options.out;
    if (options.what != "animation" || !out.extension().empty()) {
        return out;
    }
    std::error_code failed;
    std::filesystem::create_directories(out, failed);
    if (failed) {
        return base::outputError("the folder for the pictures cannot be made: " + failed.message(), options.out);
    }
    return out / (partOf(options) + ".png");
}

/// A heatmap that is not of a value by name is of the value whose relevance arrived last, as in the window. Errors
/// (Usage): nothing has arrived.
base::Result<void> chooseValue(const views::RunIndex& index, const trace::Run& run, std::uint32_t visit,
                               ExportRequest& request)
{
    const base::ValueId last = index.lastArrived(*request.position);
    if (!last.isValid()) {
        std::uint32_t first = visit;
        while (first < run.visitCount() && !index.lastArrived(run.endOfVisit(first - 1)).isValid()) {
            ++first;
        }
        return base::usageError(
            fmt::format("no relevance has arrived by step {}; the first heatmap is that of step {}", visit, first),
            "--steps");
    }
    request.value = run.graph->value(last).name;
    return {};
}

/// One file per visit, the state after it: "graph.png" becomes "graph-0003.png" and so on.
base::Result<void> exportVisits(const std::shared_ptr<const trace::Run>& run, ExportOptions options)
{
    const std::string all = fmt::format("1..{}", run->visitCount());
    RETRO_TRY(const auto range, readVisits(options.visits.empty() ? all : options.visits, run->visitCount()));
    RETRO_TRY(const std::filesystem::path out, patternOf(options));
    const bool follows = options.what == "animation" && partOf(options) == "heatmap" && options.request.value.empty();
    const views::RunIndex index = follows ? views::RunIndex(*run) : views::RunIndex();
    for (std::uint32_t visit = range.first; visit <= range.second; ++visit) {
        options.request.position = run->endOfVisit(visit - 1);
        if (follows) {
            RETRO_CHECK(chooseValue(index, *run, visit, options.request));
        }
        options.out =
            out.parent_path() / fmt::format("{}-{:04}{}", out.stem().string(), visit, out.extension().string());
        RETRO_CHECK(exportPart(run, options));
    }
    return {};
}

base::Result<void> exportGraphFilm(const std::shared_ptr<const trace::Run>& run, const ExportOptions& options)
{
    FilmRequest film;
    if (!options.visits.empty()) {
        RETRO_TRY(const auto range, readVisits(options.visits, run->visitCount()));
        film.visits = std::pair(range.first - 1, range.second - 1);
    }
    film.speed = options.speed != 0 ? options.speed : film.speed;
    film.framesPerSecond = options.framesPerSecond != 0 ? options.framesPerSecond : film.framesPerSecond;
    film.isDark = options.theme == "dark";
    ViewRequest size;
    RETRO_CHECK(readSize(options.size, size));
    film.width = size.width > 0 ? size.width : film.width;
    film.height = size.height > 0 ? size.height : film.height;
    return exportFilm(run, options.out, film);
}

base::Result<void> exportReport(const trace::RecordedRun& recorded, const ExportOptions& options)
{
    RETRO_TRY(trace::Timeline timeline, trace::Timeline::open(recorded.run));
    const views::RunHandle handle{recorded.run, std::make_shared<trace::Timeline>(std::move(timeline))};
    const engine::LoadedModelPointer model = engine::modelOfRun(*recorded.run, options.file);
    const std::string name = std::filesystem::path(options.file).filename().string();
    RETRO_TRY(diagnosis::Diagnosis found, diagnosis::diagnose(*engine::factsOf(recorded.run, model, name)));
    ReportedDiagnosis reported{std::make_shared<const diagnosis::Diagnosis>(std::move(found))};
    if (model && model->card) {
        reported.notAProblem.insert(model->card->notAProblem.begin(), model->card->notAProblem.end());
    }
    return writeReport(options.out, handle, recorded.notes, options.request, reported);
}

base::Result<void> exportRun(const Context& context, ExportOptions options)
{
    RETRO_CHECK(checkOptions(options));
    RETRO_TRY(const trace::RecordedRun recorded, trace::readRecorded(options.file));
    options.request.text = recorded.text;
    const std::shared_ptr<const trace::Run>& run = recorded.run;
    const bool isSeries = !options.visits.empty() || options.what == "animation";
    if (options.what == "report") {
        RETRO_CHECK(exportReport(recorded, options));
    } else if (isFilm(options)) {
        RETRO_CHECK(exportGraphFilm(run, options));
    } else {
        RETRO_CHECK(isSeries ? exportVisits(run, options) : exportPart(run, options));
    }
    if (context.json) {
        context.answer({{"what", options.what}, {"file", options.out}});
    } else {
        context.say("wrote " + options.out);
    }
    return {};
}

} // namespace

void addExport(CLI::App& program, Context& context)
{
    auto options = std::make_shared<ExportOptions>();
    std::vector<std::string> parts;
    std::vector<std::string> pictures;
    std::vector<std::string> words;
    for (const Export* part : runParts()) {
        parts.emplace_back(part->name);
        words.push_back(fmt::format("{} ({})", part->name, endingsOfRun(*part)));
        if (part->run->isPicture) {
            pictures.emplace_back(part->name);
        }
    }
    parts.insert(parts.end(), {"animation", "report"});
    CLI::App* verb =
        addVerb(program, context, "export",
                fmt::format("Write a part of a recorded run: {}, animation (a picture per step; of the graph "
                            "also {}), report ({})",
                            fmt::join(words, ", "), kFilmEndings, kReportEndings),
                [&context, options] { return exportRun(context, *options); });
    verb->add_option("FILE", options->file, "Recorded run (.retro)")->required();
    verb->add_option("WHAT", options->what, "Part of the run")->required()->check(CLI::IsMember(parts));
    context
        .addOutput(verb->add_option("--out", options->out,
                                    "File to write; the ending says the format. Of an animation also a folder"),
                   "the exported file")
        ->required();
    verb->add_option("--value", options->request.value, "Value whose relevance is drawn (default: the first input)");
    verb->add_option("--at", options->request.position, "State after this many events (default: the end)");
    verb->add_option("--steps,--visits", options->visits,
                     "FIRST..LAST: one file after each of these visits, numbered (animation: all of them)");
    verb->add_option("--of", options->of,
                     fmt::format("Part that an animation shows, without it the graph: {}", fmt::join(pictures, ", ")))
        ->check(CLI::IsMember(pictures));
    verb->add_option("--colormap", options->request.colormap,
                     "Colour map of the heatmap, by name or as stops (00f,fff,f00)");
    verb->add_flag("--overlay", options->request.overlay, "Draw the heatmap over the input picture");
    verb->add_flag("--plain", options->request.isPlain, "Only the pixels of the heatmap, without colour bar and words");
    verb->add_option("--bits", options->request.bits,
                     "Depth of a heatmap's PNG: 8 (default, colours) or 16 (grey levels that stand for the numbers)")
        ->check(CLI::IsMember({8, 16}));
    verb->add_option("--select", options->request.select,
                     "Only this node or group of the graph, again for more: with what lies on the ways between them")
        ->allow_extra_args(false);
    verb->add_option("--theme", options->theme, "Colours of timeline and ledger: light (default) or dark")
        ->check(CLI::IsMember({"light", "dark"}));
    verb->add_option("--size", options->size, "Size of the timeline, or of a film: 1200x340");
    verb->add_option("--fps", options->framesPerSecond,
                     "Frames per second of a film of the graph (default 25); into a folder: a picture per frame")
        ->check(CLI::Range(1, 60));
    verb->add_option("--speed", options->speed, "Visits per second of a film of the graph (default 1)")
        ->check(CLI::Range(0.1, 10'000.0));
}

} // namespace retro::app
