// SPDX-License-Identifier: Apache-2.0
#include "core/engine/alternatives.h"

#include "core/diagnosis/imagelayout.h"
#include "core/diagnosis/statistics.h"
#include "core/diagnosis/usualpreparation.h"
#include "core/engine/input/drawnintegers.h"
#include "core/engine/input/inputs.h"
#include "core/engine/input/pictureuse.h"
#include "core/engine/question/resolve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

std::vector<std::string> parts(std::string_view list)
{
    std::vector<std::string> texts;
    std::istringstream stream{std::string(list)};
    for (std::string text; std::getline(stream, text, ',');) {
        texts.push_back(text);
    }
    return texts;
}

/// The options that make one question of another one, as far as pixels are concerned.
std::string optionsBetween(const Question& asked, const Question& other)
{
    std::string text;
    const auto add = [&text](const char* option, const std::string& from, const std::string& to) {
        text += from == to ? std::string() : fmt::format("{}{} {}", text.empty() ? "" : " ", option, to);
    };
    const auto list = [](const std::vector<std::string>& numbers) {
        return fmt::format("{}", fmt::join(numbers, ","));
    };
    add("--channels", asked.channels, other.channels);
    add("--scale", list(asked.scale), list(other.scale));
    add("--mean", list(asked.mean), list(other.mean));
    add("--std", list(asked.deviation), list(other.deviation));
    return text;
}

/// The usual ways beside `given`, which `asked` says in full.
std::vector<OtherWay> otherWays(const Question& asked, const PictureOptions& given)
{
    std::vector<OtherWay> ways;
    if (given.channels != "GRAY") {
        ways.push_back({"R and B exchanged", asked});
        ways.back().question.channels = given.channels == "BGR" ? "RGB" : "BGR";
    }
    std::vector<diagnosis::UsualChoice> choices(diagnosis::usualChoices().begin(), diagnosis::usualChoices().end());
    choices.push_back({"numbers from 0 to 1, without mean and std"});
    for (const diagnosis::UsualChoice& choice : choices) {
        if (given.channels == "GRAY" && choice.mean.find(',') != std::string_view::npos) {
            continue;
        }
        const auto numbers = [](std::string_view list) {
            return list.empty() ? std::vector<std::string>{"none"} : parts(list);
        };
        ways.push_back({std::string(choice.name), asked});
        ways.back().question.mean = numbers(choice.mean);
        ways.back().question.deviation = numbers(choice.deviation);
        ways.back().question.scale = parts(choice.scale);
    }
    for (OtherWay& way : ways) {
        way.options = optionsBetween(asked, way.question);
    }
    std::erase_if(ways, [](const OtherWay& way) { return way.options.empty(); }); // what was asked for
    return ways;
}

/// A picture whose pixels come from elsewhere in it, in between by the four around; beyond its edge the edge goes on.
Tensor warped(const Tensor& picture, const diagnosis::ImageAxes& axes, const Warp& warp)
{
    const std::vector<double> from = diagnosis::numbersIn(picture);
    const tensor::Shape strides = tensor::rowMajorStrides(picture.shape());
    const std::int64_t rows = picture.shape()[axes.row];
    const std::int64_t columns = picture.shape()[axes.column];
    const auto at = [](double part, std::int64_t extent) {
        return std::clamp(part * static_cast<double>(extent) - 0.5, 0.0, static_cast<double>(extent - 1));
    };
    std::vector<double> to(from.size());
    for (std::int64_t i = 0; i < std::ssize(to); ++i) {
        const std::int64_t row = i / strides[axes.row] % rows;
        const std::int64_t column = i / strides[axes.column] % columns;
        const auto [y, x] = warp((static_cast<double>(row) + 0.5) / static_cast<double>(rows),
                                 (static_cast<double>(column) + 0.5) / static_cast<double>(columns));
        const double top = at(y, rows);
        const double left = at(x, columns);
        const auto pixel = [&](std::int64_t r, std::int64_t c) {
            const std::int64_t position = i + (std::min(r, rows - 1) - row) * strides[axes.row] +
                                          (std::min(c, columns - 1) - column) * strides[axes.column];
            return from[static_cast<std::size_t>(position)];
        };
        const auto r = static_cast<std::int64_t>(top);
        const auto c = static_cast<std::int64_t>(left);
        const double above = std::lerp(pixel(r, c), pixel(r, c + 1), left - static_cast<double>(c));
        const double below = std::lerp(pixel(r + 1, c), pixel(r + 1, c + 1), left - static_cast<double>(c));
        to[static_cast<std::size_t>(i)] = std::lerp(above, below, top - static_cast<double>(r));
    }
    return Tensor::of<double>(picture.shape(), to).to(picture.dtype());
}

/// Other ways in which pictures lie in their frame.
std::vector<OtherWay> otherFrames(const Question& asked, const std::vector<std::size_t>& slots,
                                  const formats::ModelCard* card)
{
    constexpr double kMiddle = 0.875; // of the usual crop: 224 of 256 pixels
    const auto middle = [](double part) { return 0.5 + (part - 0.5) * kMiddle; };
    const auto way = [&](std::string words, Warp warp) {
        return OtherWay{std::move(words), asked, {}, warping(slots, card, std::move(warp))};
    };
    return {way("rows and columns exchanged", [](double y, double x) { return std::pair(x, y); }),
            way("pictures turned upside down", [](double y, double x) { return std::pair(1 - y, x); }),
            way("the middle of each picture, 7/8 of its sides, enlarged",
                [=](double y, double x) { return std::pair(middle(y), middle(x)); })};
}

/// Input `slot` with other whole numbers.
Change mapped(std::size_t slot, std::function<double(double)> of)
{
    return [slot, of = std::move(of)](std::vector<Tensor>& inputs) {
        std::vector<double> numbers = diagnosis::numbersIn(inputs[slot]);
        std::ranges::transform(numbers, numbers.begin(), of);
        inputs[slot] = Tensor::of<double>(inputs[slot].shape(), numbers).to(inputs[slot].dtype());
    };
}

/// Tokens as another tokenizer numbers them, moved by a few; masks turned round, and masks that hide nothing.
std::vector<OtherWay> otherTokens(const Question& asked, const graph::Graph& graph)
{
    constexpr std::int64_t kLeastVocabulary = 16;
    std::vector<OtherWay> ways;
    for (std::size_t slot = 0; slot < graph.inputs().size(); ++slot) {
        const graph::Value& input = graph.value(graph.inputs()[slot]);
        if (tensor::isFloating(input.dtype)) {
            continue;
        }
        const IntegerRange range = integersFor(graph, graph.inputs()[slot], 1);
        const auto add = [&](std::string words, std::function<double(double)> of) {
            ways.push_back({std::move(words), asked, {}, mapped(slot, std::move(of))});
        };
        if (range.isMask) {
            add(fmt::format("0 and 1 of \"{}\" exchanged", input.name), [](double x) { return 1 - x; });
            add(fmt::format("1 everywhere in \"{}\"", input.name), [](double) { return 1; });
        }
        for (const int moved :
             range.isMask || range.high < kLeastVocabulary ? std::vector<int>() : std::vector{-3, -2, -1, 1, 2, 3}) {
            add(fmt::format("{:+} to every number of \"{}\"", moved, input.name), [moved, range](double x) {
                return std::clamp(x + moved, static_cast<double>(range.low), static_cast<double>(range.high));
            });
        }
    }
    return ways;
}

} // namespace

Change warping(std::vector<std::size_t> slots, const formats::ModelCard* card, Warp warp)
{
    return [slots = std::move(slots), card, warp = std::move(warp)](std::vector<Tensor>& inputs) {
        for (const std::size_t slot : slots) {
            if (const auto axes = diagnosis::imageAxesOf(inputs[slot].shape(), card)) {
                inputs[slot] = warped(inputs[slot], *axes, warp);
            }
        }
    };
}

Result<std::vector<OtherWay>> alternativesFor(const LoadedModel& model, const std::vector<BatchItem>& items,
                                              bool areLabelled, Question& asked, std::vector<std::size_t>& pictures)
{
    for (const PictureUse& picture : picturesOf(items.front().sources, *model.graph())) {
        pictures.push_back(picture.input);
    }
    if (pictures.empty()) {
        return otherTokens(asked, *model.graph());
    }
    RETRO_TRY(const PictureOptions given, pictureOptions(asked, model));
    setPreparation(given, asked);
    std::vector<OtherWay> ways = otherWays(asked, given);
    if (!areLabelled) { // a wider scale makes any answer sharper: only labels tell whether it is right
        std::erase_if(ways, [](const OtherWay& way) { return way.options.starts_with("--scale"); });
    }
    std::ranges::move(otherFrames(asked, pictures, model.card ? &*model.card : nullptr), std::back_inserter(ways));
    return ways;
}

} // namespace retro::engine
