// SPDX-License-Identifier: Apache-2.0
#include "app/luttrain/trainoptions.h"

#include "core/tensor/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace retro::app
{

using base::Result;
using tensor::DType;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kMostClasses = 1 << 16;

base::Error notALayer(const std::string& text)
{
    return base::usageError(fmt::format("\"{}\" is no layer; write tables x comparisons, as in 64x6, 64x6:32, "
                                        "seq:16x4x1:+, 64x6:32@0.5, 64x6%0.25@0.5%0.1:32",
                                        text));
}

std::optional<std::uint32_t> numberOf(std::string_view text)
{
    std::uint32_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// "64x6x1" as numbers; empty when one is none.
std::vector<std::uint32_t> numbersOf(std::string_view text)
{
    std::vector<std::uint32_t> numbers;
    for (;;) {
        const std::size_t at = text.find('x');
        const auto number = numberOf(text.substr(0, at));
        if (!number) {
            return {};
        }
        numbers.push_back(*number);
        if (at == std::string_view::npos) {
            return numbers;
        }
        text.remove_prefix(at + 1);
    }
}

bool takeOutputs(std::string_view text, engine::LutLayerPlan& plan)
{
    plan.isResidual = text == "+";
    const auto outputs = plan.isResidual ? std::optional<std::uint32_t>(0) : numberOf(text);
    plan.outputs = outputs.value_or(0);
    return plan.isResidual || plan.outputs > 0;
}

/// A number between bounds, both of them allowed.
std::optional<float> fractionOf(std::string_view text)
{
    float number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool isOne = read.ec == std::errc() && read.ptr == text.data() + text.size() && number >= 0 && number <= 1;
    return isOne ? std::optional(number) : std::nullopt;
}

/// Takes "@0.5", looked for behind a place, off the end of a text; 1 when there is none. Nothing when no number from 0
/// to 1 follows the @.
std::optional<float> takeRate(std::string_view& text, std::size_t from = 0)
{
    const std::size_t at = text.find('@', from);
    if (at == std::string_view::npos) {
        return 1.0F;
    }
    const std::string_view rate = text.substr(at + 1);
    text = text.substr(0, at);
    return fractionOf(rate);
}

/// Takes "%0.25@0.5%0.1" off the end of a text.
Result<std::vector<engine::LutSynapseGroup>> takeGroups(std::string_view& text, const std::string& whole)
{
    std::vector<engine::LutSynapseGroup> groups;
    const std::size_t first = text.find('%');
    std::string_view rest = first == std::string_view::npos ? std::string_view() : text.substr(first);
    text = text.substr(0, first);
    while (!rest.empty()) {
        const std::size_t end = rest.find('%', 1);
        std::string_view one = rest.substr(1, end == std::string_view::npos ? end : end - 1);
        rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
        const std::optional<float> rate = takeRate(one);
        if (!rate) {
            return base::usageError(fmt::format("\"{}\": a number from 0 to 1 must follow the @", whole));
        }
        const std::optional<float> share = fractionOf(one);
        if (!share || *share == 0) {
            return base::usageError(
                fmt::format("\"{}\": a share of the outputs above 0, to 1, must follow the %", whole));
        }
        groups.push_back({*share, *rate});
    }
    return groups;
}

Result<Tensor> arrayOf(const tensor::NamedTensors& arrays, const char* name, const std::filesystem::path& path)
{
    const auto at = arrays.find(name);
    if (at == arrays.end()) {
        return base::inputError(fmt::format("the file has no array \"{}\"", name), path.string());
    }
    return at->second;
}

engine::LutDataSet dataSet(const Tensor& x, const Tensor& labels)
{
    return {x.to(tensor::isFloating(x.dtype()) ? DType::Float32 : DType::Int64), labels.to(DType::Int64)};
}

std::int64_t largestOf(const Tensor& numbers)
{
    const Tensor plain = numbers.contiguous();
    const auto all = plain.span<std::int64_t>();
    return all.empty() ? -1 : *std::ranges::max_element(all);
}

Result<std::vector<engine::LutLayerPlan>> layersOf(const TrainOptions& options)
{
    std::vector<engine::LutLayerPlan> layers;
    for (const std::string& text : options.layers) {
        RETRO_TRY(const engine::LutLayerPlan layer, parseLayer(text));
        layers.push_back(layer);
    }
    return layers;
}

/// Samples × numbers, with positions between them or not; of text samples × positions.
Result<void> checkExtents(const tensor::Shape& shape, bool isText)
{
    if (shape.size() < 2 || shape.size() > (isText ? 2U : 3U)) {
        return base::inputError(fmt::format("x is {}; it must be samples × numbers, samples × positions × numbers, or "
                                            "integers, samples × positions",
                                            tensor::toText(shape)));
    }
    if (shape.back() > kMostClasses * kMostClasses / 2) {
        return base::inputError(fmt::format("x is {}; a sample has at most {} numbers", tensor::toText(shape),
                                            kMostClasses * kMostClasses / 2));
    }
    return {};
}

/// How many classes or words there are; what is negative counts as none.
Result<std::uint32_t> countOf(const char* what, std::int64_t count)
{
    if (count > kMostClasses) {
        return base::inputError(fmt::format("there are {} {}; at most {} are possible", count, what, kMostClasses));
    }
    return static_cast<std::uint32_t>(std::max<std::int64_t>(count, 0));
}

/// Arrays of another name are not unpacked.
std::optional<std::string> isOfTraining(const std::string& name, const tensor::NpyHeader& /*header*/)
{
    const bool takesPart = name == "x" || name == "y" || name == "x_test" || name == "y_test";
    return takesPart ? std::nullopt : std::optional(std::string());
}

} // namespace

Result<engine::LutLayerPlan> parseLayer(const std::string& text)
{
    engine::LutLayerPlan plan;
    std::string_view rest = text;
    if (rest.starts_with("seq:")) {
        plan.isSequence = true;
        rest.remove_prefix(4);
    }
    // What follows a group of synapses is its own rate; that of the layer then stands behind the outputs.
    const bool isSparse = rest.find('%') != std::string_view::npos;
    const std::optional<float> rate = takeRate(rest, isSparse ? rest.find(':') : 0);
    if (!rate) {
        return base::usageError(fmt::format("\"{}\": a number from 0 to 1 must follow the @", text));
    }
    plan.rateFactor = *rate;
    const std::size_t colon = rest.find(':');
    if (colon != std::string_view::npos && !takeOutputs(rest.substr(colon + 1), plan)) {
        return notALayer(text);
    }
    rest = rest.substr(0, colon);
    RETRO_TRY(plan.groups, takeGroups(rest, text));
    const std::vector<std::uint32_t> numbers = numbersOf(rest);
    if (numbers.size() < 2 || numbers.size() > (plan.isSequence ? 3U : 2U)) {
        return notALayer(text);
    }
    plan.tables = numbers[0];
    plan.comparisons = numbers[1];
    plan.codeBits = numbers.size() == 3 ? numbers[2] : 0;
    return plan;
}

Result<TrainData> readTrainData(const std::filesystem::path& path)
{
    RETRO_TRY(const tensor::NamedTensors arrays, tensor::readNpz(path, isOfTraining));
    RETRO_TRY(const Tensor x, arrayOf(arrays, "x", path));
    RETRO_TRY(const Tensor y, arrayOf(arrays, "y", path));
    TrainData data{dataSet(x, y), {}};
    if (arrays.contains("x_test")) {
        RETRO_TRY(const Tensor xTest, arrayOf(arrays, "x_test", path));
        RETRO_TRY(const Tensor yTest, arrayOf(arrays, "y_test", path));
        data.test = dataSet(xTest, yTest);
    }
    return data;
}

Result<engine::LutNetworkPlan> planFor(const TrainOptions& options, const TrainData& data)
{
    engine::LutNetworkPlan plan;
    plan.seed = options.seed;
    RETRO_TRY(plan.layers, layersOf(options));
    const Tensor& x = data.train.x;
    const bool isText = x.dtype() == DType::Int64;
    RETRO_CHECK(checkExtents(x.shape(), isText));
    RETRO_TRY(plan.classes, countOf("classes", largestOf(data.train.labels) + 1));
    RETRO_TRY(plan.vocabulary, countOf("words", isText ? largestOf(x) + 1 : 0));
    plan.inputs = isText ? options.embedding : static_cast<std::uint32_t>(x.shape().back());
    plan.length = isText || x.shape().size() == 3 ? static_cast<std::uint32_t>(x.shape()[1]) : 1;
    for (engine::LutLayerPlan& layer : plan.layers) {
        layer.outputs = layer.isResidual ? plan.inputs : layer.outputs;
    }
    return plan;
}

} // namespace retro::app
