// SPDX-License-Identifier: Apache-2.0
#include "app/gui/options.h"

#include "app/common/helptext.h"
#include "app/common/questionoptions.h"
#include "app/gui/window/mainwindow.h"
#include "core/base/bytesize.h"
#include "core/base/memorylimit.h"
#include "core/formats/modelfile.h"
#include "views/common/stringlist.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>

namespace retro::app
{

namespace
{

/// Not a workspace: what the window shows while nothing is open.
constexpr const char* kWelcome = "welcome";

constexpr QSize kLeastWindow(320, 240);
constexpr QSize kLeastPane(100, 60);
constexpr int kMostPixels = 16384;

/// "1600x1000"; an invalid size when the text is something else.
QSize parseSize(const std::string& text, const QSize& least)
{
    const QStringList parts = QString::fromStdString(text).split(QLatin1Char('x'));
    bool isWidth = false;
    bool isHeight = false;
    if (parts.size() != 2) {
        return {};
    }
    const QSize size(parts[0].toInt(&isWidth), parts[1].toInt(&isHeight));
    const bool isGood = isWidth && isHeight && size.width() >= least.width() && size.height() >= least.height() &&
                        size.width() <= kMostPixels && size.height() <= kMostPixels;
    return isGood ? size : QSize();
}

/// A number of visits ("27", "26.5"), or "end" (= none).
bool parseStep(const std::string& text, WindowOptions& options)
{
    if (text == "end" || text.empty()) {
        return true;
    }
    std::uint64_t visits = 0;
    const char* const last = text.data() + text.size();
    const auto [point, ec] = std::from_chars(text.data(), last, visits);
    options.step = visits;
    if (ec != std::errc() || point == last) {
        return ec == std::errc();
    }
    const auto [end, rest] = std::from_chars(point, last, options.stepShare, std::chars_format::fixed);
    return *point == '.' && rest == std::errc() && end == last;
}

struct RawOptions
{
    std::string model;
    engine::Question question;
    std::string workspace = "explain";
    std::string plan;
    std::string theme = "system";
    std::string size;
    std::string step = "end";
    std::string screenshot;
    std::string select;
    std::string history;
    std::string view;
    std::vector<std::string> inputs; ///< behind the model, without --input
    std::vector<std::string> actions;
    std::vector<std::string> watches;
    std::string note;
    std::string memory;
};

void addOptions(CLI::App& program, RawOptions& raw, WindowOptions& options)
{
    std::vector<std::string> spaces;
    for (const QString& id : MainWindow::workspaceIds()) {
        spaces.push_back(id.toStdString());
    }
    spaces.emplace_back(kWelcome);
    program.add_option("MODEL", raw.model,
                       fmt::format("{}, or recorded run (.retro); without it the welcome page comes, and in pictures "
                                   "the built-in sample",
                                   formats::modelFormatsText()));
    program.add_option("INPUT", raw.inputs, "Inputs, as --input takes them");
    addQuestion(program, engine::kWindow, raw.question);
    program.add_option("--plan", raw.plan, "Show this plan of the model (docs/formats/plan.md) in the workspace Plan");
    program.add_option("--workspace", raw.workspace, "explain (default), engine, kernels, or welcome")
        ->check(CLI::IsMember(spaces));
    program.add_option("--theme", raw.theme, "light, dark, or system (default)")
        ->check(CLI::IsMember({"light", "dark", "system"}));
    program.add_option("--size", raw.size, "Size of the window, or of the pane with --view: 1600x1000");
    program.add_option("--screenshot", raw.screenshot, "Save a picture of the window and exit");
    program.add_option("--step", raw.step,
                       "Position for the picture: visits, also between two of them (26.5), or end (default)");
    program.add_option("--select", raw.select, "Node to select, by name");
    program.add_option("--history", raw.history,
                       "Element whose relevance is followed back in the picture: image:0,*,12,86");
    program.add_option("--view", raw.view,
                       "Picture of one pane: the beginning of its name, as input, heatmap, why, log, problems");
    program.add_option("--action", raw.actions, "Action to do before the picture, by its id: cover.tag")
        ->allow_extra_args(false);
    program.add_option("--watch", raw.watches, "Expression for the watch list: R(conv1).sum")->allow_extra_args(false);
    program.add_option("--note", raw.note, "Pin step and node of the picture in the notebook, with this comment");
    program.add_option("--font-scale", options.fontScale, "Size of the text, 1 = 13 px")->check(CLI::Range(0.5, 3.0));
    program.add_option("--memory", raw.memory,
                       "What tensors may take: bytes such as 8GB or 1.5GiB, or a share of the machine's memory such as "
                       "50%");
    program.add_flag("--live", options.isLive,
                     "Take recorded runs from Python sessions of this user (retrograde.connect())");
    program.add_flag("--quit-when-shown", options.isQuitWhenShown,
                     "Exit as soon as the window is on screen, to measure the start");
}

void take(const RawOptions& raw, WindowOptions& options)
{
    options.model = QString::fromStdString(raw.model);
    options.inputs = views::stringList(raw.question.inputs) + views::stringList(raw.inputs);
    options.shapes = views::stringList(raw.question.shapes);
    options.isGraphOnly = raw.question.noWeights;
    options.texts = raw.question;
    options.composite = QString::fromStdString(raw.question.composite);
    options.workspace = QString::fromStdString(raw.workspace);
    options.plan = QString::fromStdString(raw.plan);
    options.screenshot = QString::fromStdString(raw.screenshot);
    options.selectNode = QString::fromStdString(raw.select);
    options.history = QString::fromStdString(raw.history);
    options.note = QString::fromStdString(raw.note);
    options.view = QString::fromStdString(raw.view);
    options.actions = views::stringList(raw.actions);
    options.watches = views::stringList(raw.watches);
    options.theme = raw.theme == "light"  ? views::ThemeChoice::Light
                    : raw.theme == "dark" ? views::ThemeChoice::Dark
                                          : views::ThemeChoice::System;
}

void checkSize(const std::string& written, const QSize& least, const QSize& parsed)
{
    if (!written.empty() && !parsed.isValid()) {
        throw CLI::ValidationError("--size", fmt::format("write WIDTHxHEIGHT, from {}x{} to {}x{}", least.width(),
                                                         least.height(), kMostPixels, kMostPixels));
    }
}

/// Nothing where nothing was written. Throws where it is no size.
std::optional<std::uint64_t> parseMemory(const std::string& text)
{
    if (text.empty()) {
        return std::nullopt;
    }
    const auto bytes = base::parseBytesOrShare(text, base::machineMemory().total);
    if (!bytes.ok() || *bytes == 0) {
        throw CLI::ValidationError("--memory", bytes.ok() ? "write at least one byte" : bytes.error().message);
    }
    return *bytes;
}

} // namespace

bool WindowOptions::isWelcome() const
{
    const bool isBare = model.isEmpty() && inputs.isEmpty() && screenshot.isEmpty() && !isQuitWhenShown;
    return workspace == QLatin1String(kWelcome) || isBare;
}

std::optional<int> parseOptions(int argc, char** argv, WindowOptions& options)
{
    CLI::App program("Retrograde: a debugger for relevance propagation.", "retrograde");
    program.formatter(std::make_shared<HelpText>());
    program.set_version_flag("--version", std::string("retrograde " RETRO_VERSION));
    RawOptions raw;
    addOptions(program, raw, options);
    try {
        program.parse(argc, argv);
        const QSize least = raw.view.empty() ? kLeastWindow : kLeastPane;
        options.size = parseSize(raw.size, least);
        checkSize(raw.size, least, options.size);
        options.memory = parseMemory(raw.memory);
        if (!parseStep(raw.step, options)) {
            throw CLI::ValidationError("--step", "write a number of visits, or end");
        }
    } catch (const CLI::ParseError& error) {
        return program.exit(error) == 0 ? 0 : 2;
    }
    take(raw, options);
    return std::nullopt;
}

} // namespace retro::app
