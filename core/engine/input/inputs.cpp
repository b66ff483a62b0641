// SPDX-License-Identifier: Apache-2.0
#include "core/engine/input/inputs.h"

#include "core/base/bytesize.h"
#include "core/base/file.h"
#include "core/base/memorylimit.h"
#include "core/engine/input/drawnintegers.h"
#include "core/engine/input/fittedinput.h"
#include "core/engine/input/picturedecode.h"
#include "core/engine/input/textinput.h"
#include "core/engine/language/filledinputs.h"
#include "core/formats/onnx.h"
#include "core/formats/picturefile.h"
#include "core/tensor/checkedshape.h"
#include "core/tensor/npy.h"
#include "core/tensor/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <random>

namespace retro::engine
{

namespace
{

using base::inputError;
using base::Result;
using base::usageError;
using tensor::Tensor;

/// A model may declare any extents: what they need is looked at before it is taken.
Result<void> expectRoom(const graph::Value& input, const tensor::Shape& shape)
{
    const std::string where = fmt::format("input '{}' [{}]", input.name, tensor::toText(shape));
    constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max() / sizeof(double);
    const auto bytes = tensor::checkedBytes(shape, input.dtype, kMostBytes);
    if (!bytes.ok()) {
        return base::within(bytes.error(), where);
    }
    if (*bytes > base::MemoryLimit::bytes()) {
        return inputError(fmt::format("it needs {}, but {} of memory may be used (--memory SIZE, or Preferences in the "
                                      "window); give an .npy file of a smaller shape where the model takes one",
                                      base::bytesText(*bytes), base::bytesText(base::MemoryLimit::bytes())),
                          where);
    }
    return {};
}

Result<tensor::Shape> concreteShape(const graph::Value& input)
{
    if (!input.shape) {
        return inputError("the model does not say this input's shape, so nothing can be made up for it; give it with "
                          "--shape, or give an .npy file",
                          "input '" + input.name + "'");
    }
    tensor::Shape shape;
    for (std::size_t i = 0; i < input.shape->size(); ++i) {
        const auto& declared = (*input.shape)[i].extent;
        const bool isUnknown = declared == 0 && input.shape->size() > 1; // some exporters write 0 for that
        const std::optional<std::int64_t> extent = isUnknown ? std::nullopt : declared;
        if (!extent && i > 0) {
            return inputError(
                fmt::format(
                    "axis {} of this input is free, so nothing can be made up for it; give the shape with --shape "
                    "{}=…, or give an .npy file",
                    i, input.name),
                "input '" + input.name + "'");
        }
        shape.push_back(extent.value_or(1));
    }
    RETRO_CHECK(expectRoom(input, shape));
    return shape;
}

/// 53 random bits to [0, 1): std::uniform_real_distribution may differ between libraries, this does not.
double unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }

/// Integers of a range; where they are a mask, the first one of each row counts.
Tensor drawnIntegers(const IntegerRange& range, const tensor::Shape& shape, std::mt19937_64& random)
{
    tensor::TensorBuffer buffer(tensor::DType::Int64, shape);
    const auto count = static_cast<std::uint64_t>(range.high - range.low) + 1;
    const std::int64_t length = shape.empty() ? 1 : shape.back();
    std::int64_t at = 0;
    for (std::int64_t& value : buffer.span<std::int64_t>()) {
        value = range.low + static_cast<std::int64_t>(random() % count);
        value = range.isMask && at % length == 0 ? 1 : value;
        ++at;
    }
    return std::move(buffer).freeze();
}

/// What a source that is no file is made up for.
struct MadeFor
{
    const graph::Graph& graph;
    base::ValueId id;
    [[nodiscard]] const graph::Value& input() const { return graph.value(id); }
};

/// Also where a rewrite made an input of floats of one.
bool holdsWholeNumbers(const graph::Value& input)
{
    return input.given || (!tensor::isFloating(input.dtype) && !tensor::isNarrow(input.dtype));
}

/// A picture as bytes, where nobody says otherwise; from −128 on where they have a sign.
Result<Tensor> pictureInWholeNumbers(const PixelArray& picture, const graph::Value& input, PictureOptions options)
{
    const bool isUsual = options.low == 0 && options.high == 1 && options.mean.empty() && options.deviation.empty();
    const bool hasSign = (input.given ? input.given->type : input.dtype) == tensor::DType::Int8;
    options.low = isUsual && hasSign ? -128 : options.low;
    options.high = isUsual ? options.low + 255 : options.high;
    RETRO_TRY(const Tensor made, pictureToInput(picture, input, options));
    tensor::TensorBuffer whole(tensor::DType::Int64, made.shape());
    std::int64_t* to = whole.data<std::int64_t>();
    for (std::int64_t i = 0; i < made.size(); ++i) {
        *to++ = std::llround(made.at(i));
    }
    return std::move(whole).freeze();
}

Result<Tensor> randomInput(const MadeFor& wanted, const std::string& seedText)
{
    const graph::Value& input = wanted.input();
    std::uint64_t seed = 0;
    const auto [end, ec] = std::from_chars(seedText.data(), seedText.data() + seedText.size(), seed);
    if (ec != std::errc() || end != seedText.data() + seedText.size()) {
        return usageError("the seed must be a whole number: random:SEED", "--input random:" + seedText);
    }
    RETRO_TRY(const tensor::Shape shape, concreteShape(input));
    std::mt19937_64 random(seed);
    if (holdsWholeNumbers(input)) {
        const std::int64_t length = shape.empty() ? 1 : shape.back();
        return drawnIntegers(integersFor(wanted.graph, wanted.id, length), shape, random).to(input.dtype);
    }
    tensor::TensorBuffer buffer(tensor::DType::Float64, shape);
    for (double& value : buffer.span<double>()) {
        value = unit(random);
    }
    return std::move(buffer).freeze().to(input.dtype);
}

std::string lowerExtension(const std::string& source)
{
    std::string extension = std::filesystem::path(source).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension;
}

/// A large array that does not fit the input is refused before there is memory for it; small ones are compared when the
/// model is bound, which knows more.
Result<void> checkLargeArray(const std::string& source, const tensor::NpyHeader& header, const graph::Value& input)
{
    constexpr std::int64_t kLarge = std::int64_t{1} << 24U; // elements
    if (!input.shape || tensor::elementCount(header.shape) < kLarge) {
        return {};
    }
    bool fits = header.shape.size() == input.shape->size();
    for (std::size_t i = 0; fits && i < header.shape.size(); ++i) {
        fits = (*input.shape)[i].extent.value_or(header.shape[i]) == header.shape[i];
    }
    if (!fits) {
        return inputError(fmt::format("the file holds an array of shape {}, which is not that of the input '{}'; "
                                      "give an array of the input's shape",
                                      tensor::toText(header.shape), input.name),
                          source);
    }
    return {};
}

/// The array of the input's name, or the only one; the others are not unpacked.
Result<Tensor> arrayOfNpz(const std::string& source, const graph::Value& input)
{
    std::map<std::string, tensor::NpyHeader, std::less<>> headers;
    const auto listed = tensor::readNpzNumbers(source, [&](const std::string& name, const tensor::NpyHeader& header) {
        headers.emplace(name, header);
        return std::optional<std::string>("");
    });
    if (!listed.ok()) {
        return listed.error();
    }
    const auto named = headers.find(input.name);
    if (named == headers.end() && headers.size() != 1) {
        std::string names;
        for (const auto& [name, header] : headers) {
            names += (names.empty() ? "" : ", ") + name;
        }
        return inputError(
            fmt::format("none of the arrays of this file ({}) is called '{}'; give the array this name, or "
                        "save it alone, as .npy or .npz",
                        names.empty() ? "it has none" : names, input.name),
            source);
    }
    const auto& wanted = named != headers.end() ? *named : *headers.begin();
    RETRO_CHECK(checkLargeArray(source, wanted.second, input));
    RETRO_TRY(const auto arrays, tensor::readNpz(source, [&wanted](const std::string& name, const tensor::NpyHeader&) {
                  return name == wanted.first ? std::nullopt : std::optional<std::string>("");
              }));
    return arrays.begin()->second;
}

Result<Tensor> readSource(const std::string& source, const MadeFor& wanted, const PictureOptions& options,
                          const formats::ModelCard* card)
{
    const graph::Value& input = wanted.input();
    if (source == "zeros") {
        RETRO_TRY(const tensor::Shape shape, concreteShape(input));
        return Tensor::zeros(input.dtype, shape);
    }
    if (source.starts_with("random:")) {
        return randomInput(wanted, source.substr(7));
    }
    const std::string extension = lowerExtension(source);
    if (extension == ".npy") {
        RETRO_TRY(const tensor::NpyHeader header, tensor::readNpyHeader(source));
        RETRO_CHECK(checkLargeArray(source, header, input));
        return tensor::readNpy(source);
    }
    if (extension == ".npz") {
        return arrayOfNpz(source, input);
    }
    if (extension == ".pb") {
        return formats::readTensorProto(source);
    }
    if (extension == ".txt") {
        return textToInput(source, input, card);
    }
    if (isPictureFile(source)) {
        RETRO_TRY(const PixelArray picture, decodePicture(source, options.asStored));
        return holdsWholeNumbers(input) ? pictureInWholeNumbers(picture, input, options)
                                        : pictureToInput(picture, input, options);
    }
    RETRO_CHECK(base::checkIsFile(source));
    return inputError("this kind of input is not read; give .npy, .npz, .pb, .txt or a picture (.png, .jpg, .bmp, "
                      ".gif, .tiff, .webp), or "
                      "write zeros or random:SEED",
                      source);
}

std::string namesOf(const graph::Graph& graph)
{
    std::string names;
    for (const base::ValueId id : graph.inputs()) {
        names += (names.empty() ? "" : ", ") + graph.value(id).name;
    }
    return names;
}

Result<std::size_t> positionOf(const InputSource& source, const graph::Graph& graph)
{
    if (graph.inputs().empty()) {
        return usageError("the model has no inputs, so none can be given", source.source);
    }
    if (source.name.empty()) {
        if (graph.inputs().size() != 1) {
            return usageError("the model has several inputs (" + namesOf(graph) + "); write --input NAME=FILE for each",
                              source.source);
        }
        return std::size_t{0};
    }
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        if (graph.value(graph.inputs()[i]).name == source.name) {
            return i;
        }
    }
    return usageError("the model has no input of this name; it has " + namesOf(graph), "--input " + source.name);
}

/// The tensors that `texts` give, in the order of the inputs; invalid for the others.
Result<std::vector<Tensor>> readGiven(const std::vector<std::string>& texts, const graph::Graph& graph,
                                      const PictureOptions& options, const formats::ModelCard* card)
{
    std::vector<Tensor> inputs(graph.inputs().size());
    for (const std::string& text : texts) {
        const InputSource source = parseInput(text, graph);
        RETRO_TRY(const std::size_t position, positionOf(source, graph));
        const graph::Value& input = graph.value(graph.inputs()[position]);
        if (inputs[position].isValid()) {
            return usageError("two sources are given for this input", "--input " + input.name);
        }
        RETRO_TRY(inputs[position], readInput(source.source, graph, graph.inputs()[position], options, card));
    }
    return inputs;
}

Result<void> expectAll(const std::vector<Tensor>& inputs, const graph::Graph& graph)
{
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].isValid()) {
            return usageError("no data for this input; add --input " + graph.value(graph.inputs()[i]).name + "=FILE",
                              "input '" + graph.value(graph.inputs()[i]).name + "'");
        }
    }
    return {};
}

} // namespace

Tensor floatsOf(const Tensor& numbers, const graph::GivenNumbers& given)
{
    const Tensor wide = numbers.to(tensor::DType::Float64).contiguous();
    tensor::TensorBuffer buffer(tensor::DType::Float32, numbers.shape());
    std::ranges::transform(wide.span<double>(), buffer.data<float>(), [&](double number) {
        return static_cast<float>(number - given.zero) * static_cast<float>(given.scale);
    });
    return std::move(buffer).freeze();
}

Tensor numbersOf(const Tensor& floats, const graph::GivenNumbers& given)
{
    const Tensor wide = floats.to(tensor::DType::Float64).contiguous();
    tensor::TensorBuffer buffer(tensor::DType::Float64, floats.shape());
    std::ranges::transform(wide.span<double>(), buffer.data<double>(),
                           [&](double number) { return std::nearbyint(number / given.scale) + given.zero; });
    return std::move(buffer).freeze().to(given.type);
}

Result<Tensor> fittedInput(Tensor data, const graph::Value& input)
{
    if (input.shape && input.shape->empty() && data.size() == 1) {
        data = data.reshaped({});
    }
    if (input.given && (input.given->scale != 1 || input.given->zero != 0)) {
        return floatsOf(data, *input.given);
    }
    if (input.dtype == tensor::DType::BFloat16 && data.dtype() == tensor::DType::UInt16) {
        return Tensor(input.dtype, data.shape(), data.strides(), data.offset(), data.storage()); // its bits
    }
    if (data.dtype() == input.dtype || (tensor::isFloating(data.dtype()) && tensor::isFloating(input.dtype))) {
        return data;
    }
    const bool takesFractions = tensor::isFloating(input.dtype) || tensor::isNarrowFloat(input.dtype);
    if (!takesFractions && (tensor::isFloating(data.dtype()) || tensor::isNarrowFloat(data.dtype()))) {
        return inputError(fmt::format("the file holds {} but the input wants {}; convert the file",
                                      tensor::nameOf(data.dtype()), tensor::nameOf(input.dtype)),
                          "input '" + input.name + "'");
    }
    return data.to(input.dtype);
}

Result<Tensor> readInput(const std::string& source, const graph::Graph& graph, base::ValueId id,
                         const PictureOptions& options, const formats::ModelCard* card)
{
    RETRO_TRY(Tensor data, readSource(source, MadeFor{graph, id}, options, card));
    auto fit = fittedInput(std::move(data), graph.value(id));
    return fit ? fit : base::within(std::move(fit).error(), source);
}

bool isPictureFile(const std::string& source)
{
    return std::ranges::find(formats::kPictureEndings, lowerExtension(source)) != formats::kPictureEndings.end();
}

InputSource parseInput(const std::string& text, const graph::Graph& graph)
{
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
        return {{}, text};
    }
    InputSource named{text.substr(0, equals), text.substr(equals + 1)};
    const bool isInput = std::any_of(graph.inputs().begin(), graph.inputs().end(),
                                     [&](base::ValueId id) { return graph.value(id).name == named.name; });
    if (!isInput && std::filesystem::exists(text)) {
        return {{}, text};
    }
    return named;
}

Result<std::vector<Tensor>> resolveInputs(const std::vector<std::string>& texts, const graph::Graph& graph,
                                          const PictureOptions& options, const formats::ModelCard* card)
{
    RETRO_TRY(std::vector<Tensor> inputs, readGiven(texts, graph, options, card));
    RETRO_CHECK(expectAll(inputs, graph));
    return inputs;
}

Result<LoadedModelPointer> takeOptionalInputs(const LoadedModelPointer& model, const std::vector<std::string>& texts,
                                              const std::stop_token& stop)
{
    const graph::Graph& graph = *model->rewritten.before;
    const std::vector<std::string>& optional = model->notes.optionalInputs;
    std::map<std::string, Tensor> given;
    for (const std::string& text : texts) {
        const std::string name = text.substr(0, text.find('='));
        const auto value = graph.findValue(name);
        const bool isOptional =
            value && text.size() > name.size() && std::ranges::find(optional, name) != optional.end();
        if (!isOptional) {
            continue;
        }
        const std::string source = text.substr(name.size() + 1);
        RETRO_TRY(Tensor data, readSource(source, MadeFor{graph, *value}, {}, nullptr));
        auto fit = fittedInput(std::move(data), graph.value(*value));
        if (!fit) {
            return base::within(std::move(fit).error(), source);
        }
        if (!given.emplace(name, fit->to(graph.value(*value).dtype)).second) {
            return usageError("two sources are given for this input", "--input " + name);
        }
    }
    return given.empty() ? Result<LoadedModelPointer>(model) : withGiven(model, std::move(given), stop);
}

Result<std::vector<Tensor>> resolveInputs(const std::vector<std::string>& texts, const LoadedModel& model,
                                          const PictureOptions& options)
{
    std::vector<std::string> needed;
    std::ranges::copy_if(texts, std::back_inserter(needed), [&model](const std::string& text) {
        return !model.given.contains(text.substr(0, text.find('=')));
    });
    const formats::ModelCard* const card = model.card ? &*model.card : nullptr;
    RETRO_TRY(std::vector<Tensor> inputs, readGiven(needed, *model.graph(), options, card));
    RETRO_CHECK(fillLanguageInputs(model, inputs));
    RETRO_CHECK(expectAll(inputs, *model.graph()));
    return inputs;
}

} // namespace retro::engine
