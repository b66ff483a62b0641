// SPDX-License-Identifier: Apache-2.0
#include "core/engine/target.h"

#include "core/ops/kernel/visitnumber.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

namespace retro::engine
{

namespace
{

using base::inputError;
using base::Result;
using base::usageError;

std::optional<std::int64_t> wholeNumber(std::string_view text)
{
    std::int64_t value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    return ec == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// "3,4" → {3, 4}; nothing when a part is not a whole number.
std::optional<std::vector<std::int64_t>> wholeNumbers(std::string_view text)
{
    std::vector<std::int64_t> numbers;
    while (true) {
        const std::size_t comma = text.find(',');
        const auto number = wholeNumber(text.substr(0, comma));
        if (!number) {
            return std::nullopt;
        }
        numbers.push_back(*number);
        if (comma == std::string_view::npos) {
            return numbers;
        }
        text.remove_prefix(comma + 1);
    }
}

/// How the elements of a target are grouped into samples.
struct SampleLayout
{
    std::int64_t count = 1;
    std::int64_t length = 1;
};

SampleLayout samplesOf(const tensor::Shape& shape)
{
    if (shape.size() < 2) {
        return {1, tensor::elementCount(shape)};
    }
    return {shape[0], shape[0] == 0 ? 0 : tensor::elementCount(shape) / shape[0]};
}

/// Row-major in a float type; itself where it is one already: outputs of language models are larger than anything else.
tensor::Tensor inFloats(const tensor::Tensor& value)
{
    const bool isFloat = value.dtype() == tensor::DType::Float32 || value.dtype() == tensor::DType::Float64;
    return (isFloat ? value : value.to(tensor::DType::Float64)).contiguous();
}

/// Index of the largest finite value, the first of several; −1 when there is none.
template <class T>
std::int64_t largestOf(const T* values, std::int64_t length)
{
    std::int64_t best = -1;
    T most = -std::numeric_limits<T>::infinity();
    for (std::int64_t i = 0; i < length; ++i) {
        if (values[i] > most && values[i] <= std::numeric_limits<T>::max()) {
            most = values[i];
            best = i;
        }
    }
    return best;
}

/// `plain` is of inFloats().
Result<std::int64_t> largest(const tensor::Tensor& plain, std::int64_t sample, std::int64_t length)
{
    const std::int64_t best = ops::visitFloat(
        plain.dtype(), [&](auto zero) { return largestOf(plain.data<decltype(zero)>() + sample * length, length); });
    if (best < 0) {
        return base::engineError("the output has no finite score, so argmax can choose no class; look at the input and "
                                 "the weights. Going on "
                                 "needs a class that is named with --target",
                                 fmt::format("sample {}", sample));
    }
    return best;
}

/// Flat element that VALUE:i,j,… names. With as many indices as axes it is one element of the whole value; with one
/// less, the first axis is the batch and every sample has the same target.
Result<std::int64_t> flatIndex(const std::vector<std::int64_t>& index, const tensor::Shape& shape)
{
    if (index.size() != shape.size()) {
        return usageError(fmt::format("the target has {} axes ({}), but {} indices are given", shape.size(),
                                      tensor::toText(shape), index.size()),
                          "--target");
    }
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
        const std::int64_t at = index[i] < 0 ? index[i] + shape[i] : index[i];
        if (at < 0 || at >= shape[i]) {
            return usageError(
                fmt::format("index {} is out of range for axis {} of shape {}", index[i], i, tensor::toText(shape)),
                "--target");
        }
        flat = flat * shape[i] + at;
    }
    return flat;
}

/// In the type of `plain`.
template <class T>
tensor::Tensor oneHotStart(const ResolvedTarget& target, StartKind kind, const tensor::Tensor& plain,
                           const SampleLayout& samples)
{
    tensor::TensorBuffer buffer(plain.dtype(), plain.shape());
    buffer.clear();
    T* out = buffer.data<T>();
    for (std::int64_t s = 0; s < samples.count; ++s) {
        const std::int64_t chosen = target.index[static_cast<std::size_t>(s)];
        if (chosen < 0) {
            continue;
        }
        if (kind == StartKind::Contrastive) {
            std::fill(out + s * samples.length, out + (s + 1) * samples.length,
                      static_cast<T>(-1.0 / static_cast<double>(samples.length)));
        }
        out[s * samples.length + chosen] =
            kind == StartKind::Logit ? plain.data<T>()[s * samples.length + chosen] : T{1};
    }
    return std::move(buffer).freeze();
}

Result<tensor::Tensor> givenStart(const std::filesystem::path& file, const tensor::Tensor& forward)
{
    RETRO_TRY(const tensor::Tensor start, tensor::readNpy(file));
    if (start.shape() != forward.shape()) {
        return inputError(fmt::format("the start relevance has shape {}, but the target has {}",
                                      tensor::toText(start.shape()), tensor::toText(forward.shape())),
                          file.string());
    }
    return start.to(forward.dtype());
}

Result<void> chooseElement(ResolvedTarget& target, const TargetRequest& request, const tensor::Tensor& plain,
                           const SampleLayout& samples)
{
    if (request.kind == TargetRequest::Kind::Value) {
        if (request.index.empty()) {
            target.index.assign(static_cast<std::size_t>(samples.count), -1);
            return {};
        }
        RETRO_TRY(const std::int64_t flat, flatIndex(request.index, plain.shape()));
        target.index.assign(static_cast<std::size_t>(samples.count), -2);
        target.index[static_cast<std::size_t>(flat / samples.length)] = flat % samples.length;
        return {};
    }
    for (std::int64_t s = 0; s < samples.count; ++s) {
        if (request.kind == TargetRequest::Kind::Class) {
            target.index.push_back(request.classIndex);
            continue;
        }
        RETRO_TRY(const std::int64_t best, largest(plain, s, samples.length));
        target.index.push_back(best);
    }
    return {};
}

/// Value of the chosen element of a sample; the sum of all of them for −1, 0 for a sample without one (−2).
template <class T>
double logitOf(const tensor::Tensor& plain, const SampleLayout& samples, std::int64_t sample, std::int64_t chosen)
{
    const T* values = plain.data<T>() + sample * samples.length;
    if (chosen >= 0) {
        return static_cast<double>(values[chosen]);
    }
    return chosen == -1 ? std::accumulate(values, values + samples.length, 0.0) : 0.0;
}

/// Errors that depend on the shape of the target's value.
Result<void> checkTarget(const TargetRequest& request, const SampleLayout& samples, const tensor::Shape& shape)
{
    if (samples.length < 1 || samples.count < 1) {
        return inputError("the target has no elements", "shape " + tensor::toText(shape));
    }
    if (request.kind == TargetRequest::Kind::Class && request.classIndex >= samples.length) {
        return usageError(fmt::format("there is no class {}; the output has {} ({})", request.classIndex,
                                      samples.length, tensor::toText(shape)),
                          "--target");
    }
    return {};
}

} // namespace

Result<TargetRequest> parseTarget(const std::string& text, std::span<const std::string> labels)
{
    TargetRequest request;
    if (text.empty() || text == "argmax") {
        return request;
    }
    if (const auto label = std::find(labels.begin(), labels.end(), text); label != labels.end()) {
        request.kind = TargetRequest::Kind::Class;
        request.classIndex = label - labels.begin();
        return request;
    }
    if (const auto number = wholeNumber(text)) {
        if (*number < 0) {
            return usageError("a class index cannot be negative", "--target " + text);
        }
        request.kind = TargetRequest::Kind::Class;
        request.classIndex = *number;
        return request;
    }
    request.kind = TargetRequest::Kind::Value;
    request.value = text;
    const std::size_t colon = text.rfind(':');
    if (colon != std::string::npos) {
        if (const auto index = wholeNumbers(std::string_view(text).substr(colon + 1))) {
            request.value = text.substr(0, colon);
            request.index = *index;
        }
    }
    return request;
}

Result<base::ValueId> targetValue(const TargetRequest& request, const graph::Graph& graph)
{
    if (request.kind != TargetRequest::Kind::Value) {
        return graph.outputs()[0];
    }
    const auto value = graph.findValue(request.value);
    if (!value) {
        return usageError(
            "the graph has no value of this name (retrograde-cli info lists inputs and outputs); write argmax, a class "
            "index, or VALUE[:i,j,…]",
            "--target " + request.value);
    }
    return *value;
}

Result<StartRequest> parseStart(const std::string& text)
{
    static const std::vector<std::pair<std::string, StartKind>> kNames{{"logit", StartKind::Logit},
                                                                       {"one", StartKind::One},
                                                                       {"all", StartKind::All},
                                                                       {"contrastive", StartKind::Contrastive}};
    for (const auto& [name, kind] : kNames) {
        if (text == name || (text.empty() && kind == StartKind::Logit)) {
            return StartRequest{kind, {}};
        }
    }
    if (text.ends_with(".npy")) {
        return StartRequest{StartKind::Given, text};
    }
    return usageError("the start is logit, one, all, contrastive, or a .npy file", "--start " + text);
}

std::string nameOf(const StartRequest& start)
{
    switch (start.kind) {
    case StartKind::Logit:
        return "logit";
    case StartKind::One:
        return "one";
    case StartKind::All:
        return "all";
    case StartKind::Contrastive:
        return "contrastive";
    case StartKind::Given:
        return start.file.filename().string();
    }
    return {};
}

Result<ResolvedTarget> resolveTarget(const TargetRequest& request, const StartRequest& start, base::ValueId value,
                                     const tensor::Tensor& forward)
{
    const SampleLayout samples = samplesOf(forward.shape());
    RETRO_CHECK(checkTarget(request, samples, forward.shape()));
    ResolvedTarget target;
    target.value = value;
    const tensor::Tensor plain = inFloats(forward);
    RETRO_CHECK(chooseElement(target, request, plain, samples));
    for (std::int64_t s = 0; s < samples.count; ++s) {
        target.logit.push_back(ops::visitFloat(plain.dtype(), [&](auto zero) {
            return logitOf<decltype(zero)>(plain, samples, s, target.index[static_cast<std::size_t>(s)]);
        }));
    }
    const bool whole = request.kind == TargetRequest::Kind::Value && request.index.empty();
    if (start.kind == StartKind::Given) {
        RETRO_TRY(target.start, givenStart(start.file, forward));
    } else if (start.kind == StartKind::All || (whole && start.kind == StartKind::Logit)) {
        target.start = forward.contiguous();
    } else if (whole) {
        target.start = tensor::Tensor::full(forward.dtype(), forward.shape(), 1.0);
    } else {
        target.start = ops::visitFloat(plain.dtype(), [&](auto zero) {
                           return oneHotStart<decltype(zero)>(target, start.kind, plain, samples);
                       }).to(forward.dtype());
    }
    return target;
}

Result<tensor::Tensor> dividedStart(const tensor::Tensor& start, const tensor::Tensor& value, const std::string& name)
{
    const tensor::Tensor plainStart = start.to(tensor::DType::Float64).contiguous();
    const tensor::Tensor plainValue = value.to(tensor::DType::Float64).contiguous();
    tensor::TensorBuffer quotient(tensor::DType::Float64, start.shape());
    const std::span<double> out = quotient.span<double>();
    for (std::size_t i = 0; i < out.size(); ++i) {
        const double r = plainStart.data<double>()[i];
        const double y = plainValue.data<double>()[i];
        if (r != 0 && y == 0) {
            return inputError("relevance starts where the value is 0, and no gradient times 0 gives it; choose a start "
                              "of 0 there, or a composite in the form of relevance",
                              fmt::format("value '{}', element {}", name, i));
        }
        out[i] = r == 0 ? 0 : r / y;
    }
    return std::move(quotient).freeze().to(start.dtype());
}

} // namespace retro::engine
