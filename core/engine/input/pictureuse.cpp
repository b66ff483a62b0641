// SPDX-License-Identifier: Apache-2.0
#include "core/engine/input/pictureuse.h"

#include "core/base/record.h"
#include "core/engine/input/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

namespace retro::engine
{

namespace
{

std::string nameOf(const PictureUse& picture) { return std::filesystem::path(picture.file).filename().string(); }

/// Columns and rows of the input that a picture becomes; those of the picture where they are free.
std::array<std::int64_t, 2> sizeOf(const PictureUse& picture, const graph::Graph& graph, const PictureOptions& options,
                                   const std::vector<tensor::Tensor>& inputs)
{
    const std::size_t rows = options.layout == "NHWC" ? 1 : 2;
    if (picture.input < inputs.size() && inputs[picture.input].rank() == 4) {
        const tensor::Shape& shape = inputs[picture.input].shape();
        return {shape[rows + 1], shape[rows]};
    }
    const auto& declared = graph.value(graph.inputs()[picture.input]).shape;
    const bool isPicture = declared && declared->size() == 4;
    return {isPicture ? (*declared)[rows + 1].extent.value_or(picture.facts.width) : picture.facts.width,
            isPicture ? (*declared)[rows].extent.value_or(picture.facts.height) : picture.facts.height};
}

bool isTurned(const PictureUse& picture, const PictureOptions& options)
{
    return picture.facts.orientation > 1 && !options.asStored;
}

/// Columns and rows as the picture is read.
std::array<int, 2> readSize(const PictureUse& picture, const PictureOptions& options)
{
    constexpr int kFirstSwapped = 5;
    const bool isSwapped = isTurned(picture, options) && picture.facts.orientation >= kFirstSwapped;
    return isSwapped ? std::array{picture.facts.height, picture.facts.width}
                     : std::array{picture.facts.width, picture.facts.height};
}

std::string numbersText(std::string_view name, const std::vector<double>& numbers)
{
    return numbers.empty() ? fmt::format("no {}", name) : fmt::format("{} {}", name, fmt::join(numbers, ","));
}

/// How a picture of other sides was made to fit, in words; empty where each side was stretched.
std::string frameText(const PictureOptions& options)
{
    if (options.frame == formats::kLetterbox) {
        return " with black bars";
    }
    const auto part = formats::croppedPart(options.frame);
    return !part ? "" : *part < 1 ? fmt::format(", {} of the sides of its middle", *part) : ", its middle";
}

/// The input of the graph that a source is for; the number of inputs where it is none's.
std::size_t inputOf(const InputSource& source, const graph::Graph& graph)
{
    const auto inputs = graph.inputs();
    const auto isFor = [&](base::ValueId input) {
        return source.name.empty() || graph.value(input).name == source.name;
    };
    return static_cast<std::size_t>(std::ranges::find_if(inputs, isFor) - inputs.begin());
}

} // namespace

std::string_view originName(const PictureOptions& options)
{
    return options.origin == PictureOrigin::Card    ? "card"
           : options.origin == PictureOrigin::Asked ? "option"
                                                    : "default";
}

std::string originText(const PictureOptions& options)
{
    switch (options.origin) {
    case PictureOrigin::Card:
        return "as the model's card says";
    case PictureOrigin::Asked:
        return "as asked";
    case PictureOrigin::Usual:
        break;
    }
    return "as usual: no card and no option says it";
}

std::vector<PictureUse> picturesOf(const std::vector<std::string>& sources, const graph::Graph& graph)
{
    std::vector<PictureUse> pictures;
    for (const std::string& text : sources) {
        const InputSource source = parseInput(text, graph);
        const auto facts =
            isPictureFile(source.source) ? formats::pictureFile(std::filesystem::path(source.source)) : std::nullopt;
        if (const std::size_t input = inputOf(source, graph); facts && input < graph.inputs().size()) {
            pictures.push_back({source.source, input, *facts});
        }
    }
    return pictures;
}

std::vector<diagnosis::PixelPreparation> pixelsOf(const trace::Run& run)
{
    std::vector<diagnosis::PixelPreparation> pixels;
    if (!run.facts.input || run.facts.input->preparedBy.empty()) {
        return pixels;
    }
    const trace::InputFacts& facts = *run.facts.input;
    for (const trace::SourceFacts& one : run.facts.sources) {
        const InputSource source = parseInput(one.source, *run.graph);
        const std::size_t input = inputOf(source, *run.graph);
        if (isPictureFile(source.source) && input < run.graph->inputs().size()) {
            pixels.push_back({run.graph->value(run.graph->inputs()[input]).name, facts.layout == "NHWC", facts.scale[1],
                              facts.preparedBy != originName(PictureOptions())});
        }
    }
    return pixels;
}

std::vector<std::string> pictureNotes(const std::vector<PictureUse>& pictures, const PictureOptions& options)
{
    std::vector<std::string> lines;
    for (const PictureUse& picture : pictures) {
        if (isTurned(picture, options)) {
            lines.push_back(
                fmt::format("{} was turned, as its EXIF orientation {} says; --pixels stored takes it as it "
                            "lies in the file",
                            nameOf(picture), picture.facts.orientation));
        }
        if (picture.facts.hasTransparency) {
            lines.push_back(options.asStored
                                ? fmt::format("the transparency of {} was left out", nameOf(picture))
                                : fmt::format("what is transparent in {} lies on white; --pixels stored leaves the "
                                              "transparency out",
                                              nameOf(picture)));
        }
    }
    return lines;
}

std::vector<std::string> pictureLines(const std::vector<PictureUse>& pictures, const graph::Graph& graph,
                                      const PictureOptions& options, const std::vector<tensor::Tensor>& inputs)
{
    std::vector<std::string> lines;
    for (const PictureUse& picture : pictures) {
        const auto read = readSize(picture, options);
        const auto made = sizeOf(picture, graph, options, inputs);
        const bool isResized = made[0] != read[0] || made[1] != read[1];
        lines.push_back(fmt::format(
            "{}: {} × {}{}, {}, {}, 0 … 255 became {} … {}, {}, {} ({})", nameOf(picture), read[0], read[1],
            isResized ? fmt::format(" resized to {} × {}{}", made[0], made[1], frameText(options)) : std::string(),
            options.layout, options.channels, options.low, options.high, numbersText("mean", options.mean),
            numbersText("std", options.deviation), originText(options)));
    }
    std::ranges::move(pictureNotes(pictures, options), std::back_inserter(lines));
    return lines;
}

nlohmann::ordered_json pictureJson(const std::vector<PictureUse>& pictures, const graph::Graph& graph,
                                   const PictureOptions& options, const std::vector<tensor::Tensor>& inputs)
{
    return base::listOf(pictures, [&](const PictureUse& picture) -> nlohmann::ordered_json {
        return {{"input", graph.value(graph.inputs()[picture.input]).name},
                {"file", nameOf(picture)},
                {"size", readSize(picture, options)},
                {"resized_to", sizeOf(picture, graph, options, inputs)},
                {"frame", options.frame},
                {"layout", options.layout},
                {"channels", options.channels},
                {"scale", {options.low, options.high}},
                {"mean", options.mean},
                {"std", options.deviation},
                {"from", originName(options)},
                {"orientation", picture.facts.orientation},
                {"turned", isTurned(picture, options)},
                {"transparency", !picture.facts.hasTransparency ? "none"
                                 : options.asStored             ? "left out"
                                                                : "on white"}};
    });
}

std::vector<std::string> pictureWarnings(const std::vector<PictureUse>& pictures, const LoadedModel& model,
                                         const PictureOptions& options)
{
    std::vector<std::string> warnings;
    const auto graph = model.read ? model.read : model.rewritten.before;
    const diagnosis::ModelFacts facts(graph);
    for (const PictureUse& picture : pictures) {
        const auto pixels = pixelsOf(picture, *model.graph(), options);
        if (const auto expected = diagnosis::expectedPreparation(facts, pixels)) {
            warnings.push_back(fmt::format("{} became numbers from {} to {} without mean and std, because nothing says "
                                           "otherwise, but the model shows that it expects others: {}. The usual "
                                           "choice is {}: {}. Where that is wrong, --mean none says so",
                                           nameOf(picture), options.low, options.high, expected->why, expected->name,
                                           expected->option));
        }
    }
    return warnings;
}

diagnosis::PixelPreparation pixelsOf(const PictureUse& picture, const graph::Graph& graph,
                                     const PictureOptions& options)
{
    return {graph.value(graph.inputs()[picture.input]).name, options.layout == "NHWC", options.high,
            options.origin != PictureOrigin::Usual};
}

} // namespace retro::engine
