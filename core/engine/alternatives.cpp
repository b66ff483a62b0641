// SPDX-License-Identifier: Apache-2.0
#include "core/engine/alternatives.h"

#include "core/diagnosis/imagelayout.h"
#include "core/diagnosis/statistics.h"
#include "core/diagnosis/usualpreparation.h"
#include "core/engine/input/drawnintegers.h"
#include "core/engine/input/inputs.h"
#include "core/engine/input/pictureuse.h"
#include "core/engine/question/resolve.h"
#include "core/text/tokeniser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
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
    add("--frame", asked.frame, other.frame);
    add("--scale", list(asked.scale), list(other.scale));
    add("--mean", list(asked.mean), list(other.mean));
    add("--std", list(asked.deviation), list(other.deviation));
    return text;
}

constexpr std::string_view kUsualCrop = "crop=0.875"; // 224 of 256 pixels

/// The usual ways beside `given`, which `asked` says in full.
std::vector<OtherWay> otherWays(const Question& asked, const PictureOptions& given, bool areOfOtherSides)
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
    ways.push_back({"black and white exchanged", asked});
    std::ranges::reverse(ways.back().question.scale);
    for (const auto& [words, frame] : std::initializer_list<std::pair<const char*, std::string_view>>{
             {"the middle of pictures, as a square", formats::kCrop},
             {"the middle of pictures, 224 of 256 pixels of it", kUsualCrop},
             {"whole pictures between black bars", formats::kLetterbox},
             {"each side of pictures stretched by itself", formats::kStretch}}) {
        if (areOfOtherSides || formats::croppedPart(frame).value_or(1) < 1) {
            ways.push_back({words, asked});
            ways.back().question.frame = frame;
        }
    }
    for (OtherWay& way : ways) {
        way.options = optionsBetween(asked, way.question);
    }
    std::erase_if(ways, [](const OtherWay& way) { return way.options.empty(); }); // what was asked for
    return ways;
}

/// Whether a picture's sides are in another ratio than those of the input that it becomes.
bool isOfOtherSides(const PictureUse& picture, const graph::Graph& graph, const PictureOptions& given)
{
    const auto& shape = graph.value(graph.inputs()[picture.input]).shape;
    const std::size_t row = given.layout == "NHWC" ? 1 : 2;
    const bool isFixed = shape && shape->size() == 4 && (*shape)[row].extent && (*shape)[row + 1].extent;
    return isFixed && picture.facts.width * *(*shape)[row].extent != picture.facts.height * *(*shape)[row + 1].extent;
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
    const auto way = [&](std::string words, Warp warp) {
        return OtherWay{std::move(words), asked, {}, warping(slots, card, std::move(warp))};
    };
    return {way("rows and columns exchanged", [](double y, double x) { return std::pair(x, y); }),
            way("pictures turned upside down", [](double y, double x) { return std::pair(1 - y, x); }),
            way("pictures turned a quarter to the left", [](double y, double x) { return std::pair(x, 1 - y); }),
            way("pictures turned a quarter to the right", [](double y, double x) { return std::pair(1 - x, y); })};
}

/// Input `slot` with other numbers.
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

/// Numbers of which each reads one elsewhere along the longest axis (of steps): at `place(index, length)`, in between
/// by the two beside it; behind the end it begins again.
using Place = std::function<double(std::int64_t, std::int64_t)>;

Tensor read(const Tensor& tensor, const Place& place)
{
    const auto axis = static_cast<std::size_t>(std::ranges::max_element(tensor.shape()) - tensor.shape().begin());
    const std::int64_t stride = tensor::rowMajorStrides(tensor.shape())[axis];
    const std::int64_t length = tensor.shape()[axis];
    const std::vector<double> from = diagnosis::numbersIn(tensor);
    std::vector<double> to(from.size());
    for (std::int64_t i = 0; i < std::ssize(to); ++i) {
        const std::int64_t index = i / stride % length;
        const double at = place(index, length);
        const auto before = static_cast<std::int64_t>(at);
        const auto number = [&](std::int64_t other) {
            return from[static_cast<std::size_t>(i + (other % length - index) * stride)];
        };
        to[static_cast<std::size_t>(i)] =
            std::lerp(number(before), number(before + 1), at - static_cast<double>(before));
    }
    return Tensor::of<double>(tensor.shape(), to).to(tensor.dtype());
}

/// Each input with mean 0 and deviation 1.
Tensor standardised(const Tensor& tensor)
{
    std::vector<double> numbers = diagnosis::numbersIn(tensor);
    double sum = 0;
    double squares = 0;
    for (const double x : numbers) {
        sum += x;
        squares += x * x;
    }
    const auto count = static_cast<double>(numbers.size());
    const double mean = sum / count;
    const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
    std::ranges::for_each(numbers, [&](double& x) { x = (x - mean) / (deviation > 0 ? deviation : 1); });
    return Tensor::of<double>(tensor.shape(), numbers).to(tensor.dtype());
}

/// Arrays of numbers in another unit, and series sampled at another rate or in the other direction.
std::vector<OtherWay> otherNumbers(const Question& asked, const graph::Graph& graph)
{
    constexpr std::int64_t kLeastSteps = 32;
    std::vector<OtherWay> ways;
    for (std::size_t slot = 0; slot < graph.inputs().size(); ++slot) {
        const graph::Value& input = graph.value(graph.inputs()[slot]);
        if (!tensor::isFloating(input.dtype)) {
            continue;
        }
        const auto add = [&](std::string_view words, Change change) {
            ways.push_back({fmt::format(fmt::runtime(words), input.name), asked, {}, std::move(change)});
        };
        const auto scaled = [slot](double factor) { return mapped(slot, [factor](double x) { return x * factor; }); };
        add("the numbers of \"{}\" divided by 255", scaled(1.0 / 255));
        add("the numbers of \"{}\" divided by 32768 (sound of 16 bits)", scaled(1.0 / 32768));
        add("the numbers of \"{}\" times 255", scaled(255));
        add("the numbers of \"{}\" times 32768 (sound of 16 bits)", scaled(32768));
        add("each \"{}\" given mean 0 and deviation 1",
            [slot](std::vector<Tensor>& inputs) { inputs[slot] = standardised(inputs[slot]); });
        const auto& extents = input.shape;
        const bool hasSteps = !extents || std::ranges::any_of(*extents, [kLeastSteps](const graph::Dimension& one) {
            return one.extent.value_or(kLeastSteps) >= kLeastSteps;
        });
        const auto reading = [slot](Place place) -> Change {
            return [slot, place = std::move(place)](std::vector<Tensor>& inputs) {
                inputs[slot] = read(inputs[slot], place);
            };
        };
        if (hasSteps) {
            add("every second step of \"{}\" alone",
                reading([](std::int64_t i, std::int64_t) { return static_cast<double>(2 * i); }));
            add("\"{}\" with a step between each two",
                reading([](std::int64_t i, std::int64_t) { return static_cast<double>(i) / 2; }));
            add("the steps of \"{}\" in the other direction",
                reading([](std::int64_t i, std::int64_t length) { return static_cast<double>(length - 1 - i); }));
        }
    }
    return ways;
}

/// The tokenizers of other files beside the model, or one folder below it; at most kMostTokenizers.
std::vector<OtherWay> otherTokenizers(const Question& asked, const LoadedModel& model)
{
    constexpr std::size_t kMostTokenizers = 8;
    constexpr std::size_t kMostFiles = 1000;
    const std::filesystem::path folder = std::filesystem::absolute(model.path).parent_path();
    const std::filesystem::path used =
        asked.tokenizer.empty() ? folder / "tokenizer.json" : std::filesystem::path(asked.tokenizer);
    std::vector<std::filesystem::path> files;
    std::error_code failed;
    std::filesystem::recursive_directory_iterator at(folder, failed);
    for (std::size_t i = 0; !failed && i < kMostFiles && at != std::filesystem::recursive_directory_iterator(); ++i) {
        std::error_code differs;
        if (at->path().extension() == ".json" && !std::filesystem::equivalent(at->path(), used, differs)) {
            files.push_back(at->path());
        }
        if (at.depth() > 0) {
            at.disable_recursion_pending();
        }
        at.increment(failed);
    }
    std::ranges::sort(files);
    std::vector<OtherWay> ways;
    for (const std::filesystem::path& file : files) {
        if (ways.size() < kMostTokenizers && text::Tokeniser::read(file).ok()) {
            ways.push_back({"the tokenizer of " + file.string(), asked, "--tokenizer " + file.string()});
            ways.back().question.tokenizer = file.string();
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
        std::vector<OtherWay> ways = otherTokens(asked, *model.graph());
        const auto isText = [](const std::string& source) { return source.ends_with(".txt"); };
        if (std::ranges::any_of(items.front().sources, isText)) {
            std::ranges::move(otherTokenizers(asked, model), std::back_inserter(ways));
        }
        if (areLabelled) { // a wider scale makes any answer sharper: only labels tell whether it is right
            std::ranges::move(otherNumbers(asked, *model.graph()), std::back_inserter(ways));
        }
        return ways;
    }
    RETRO_TRY(const PictureOptions given, pictureOptions(asked, model));
    setPreparation(given, asked);
    const bool areOfOtherSides = std::ranges::any_of(items, [&](const BatchItem& item) {
        return std::ranges::any_of(picturesOf(item.sources, *model.graph()), [&](const PictureUse& picture) {
            return isOfOtherSides(picture, *model.graph(), given);
        });
    });
    std::vector<OtherWay> ways = otherWays(asked, given, areOfOtherSides);
    if (!areLabelled) { // as above
        std::erase_if(ways, [](const OtherWay& way) { return way.options.starts_with("--scale"); });
    }
    std::ranges::move(otherFrames(asked, pictures, model.card ? &*model.card : nullptr), std::back_inserter(ways));
    return ways;
}

} // namespace retro::engine
