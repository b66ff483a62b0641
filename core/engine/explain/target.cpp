// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/segment.h"

#include "core/ops/kernel/visitnumber.h"
#include "core/tensor/npy.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace retro::engine
{

namespace
{

using base::inputError;
using base::Result;
using base::usageError;

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

base::Error noFiniteScore(std::int64_t sample)
{
    return base::engineError("the output has no finite score, so argmax can choose no class; look at the input and "
                             "the weights. Going on "
                             "needs a class that is named with --target",
                             fmt::format("sample {}", sample));
}

/// `plain` is of inFloats().
Result<std::int64_t> largest(const tensor::Tensor& plain, std::int64_t sample, std::int64_t length)
{
    const std::int64_t best = ops::visitFloat(
        plain.dtype(), [&](auto zero) { return largestOf(plain.data<decltype(zero)>() + sample * length, length); });
    return best < 0 ? Result<std::int64_t>(noFiniteScore(sample)) : best;
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

/// Elements of a sample that agree with what is fixed along some axes: an odometer over the others.
class Slice
{
public:
    /// `fixed` per axis of the value; none = every index counts. Axis 0 has the samples where there are two axes.
    Slice(const tensor::Shape& shape, const std::vector<std::optional<std::int64_t>>& fixed)
    {
        std::int64_t stride = 1;
        const std::size_t first = shape.size() < 2 ? 0 : 1;
        for (std::size_t axis = shape.size(); axis > first; --axis) {
            if (fixed[axis - 1]) {
                m_begin += *fixed[axis - 1] * stride;
            } else {
                m_axes.push_back({shape[axis - 1], stride, 0});
            }
            stride *= shape[axis - 1];
        }
        m_at = m_begin;
    }

    [[nodiscard]] std::int64_t position() const { return m_at; }

    /// False behind the last one.
    bool next()
    {
        for (Axis& axis : m_axes) {
            m_at += axis.stride;
            if (++axis.index < axis.extent) {
                return true;
            }
            m_at -= axis.extent * axis.stride;
            axis.index = 0;
        }
        return false;
    }

private:
    struct Axis
    {
        std::int64_t extent = 1;
        std::int64_t stride = 1;
        std::int64_t index = 0;
    };
    std::vector<Axis> m_axes; // the last one first
    std::int64_t m_begin = 0;
    std::int64_t m_at = 0;
};

/// Position of the largest finite element of a slice; −1 when there is none.
template <class T>
std::int64_t largestIn(const T* values, Slice slice)
{
    std::int64_t best = -1;
    T most = -std::numeric_limits<T>::infinity();
    do {
        const T value = values[slice.position()];
        if (value > most && value <= std::numeric_limits<T>::max()) {
            most = value;
            best = slice.position();
        }
    } while (slice.next());
    return best;
}

using FixedAxes = std::vector<std::optional<std::int64_t>>;

/// "sample (2), token (12), class (1000)".
std::string axesText(const std::vector<std::string>& axes, const tensor::Shape& shape)
{
    std::string text;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", axes[i], shape[i]);
    }
    return text;
}

/// Other words for an axis.
std::string_view commonName(std::string_view axis)
{
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOthers{{{"position", "token"},
                                                                                           {"time", "token"},
                                                                                           {"step", "token"},
                                                                                           {"channel", "class"},
                                                                                           {"batch", "sample"},
                                                                                           {"label", "class"}}};
    const auto* at =
        std::find_if(kOthers.begin(), kOthers.end(), [axis](const auto& pair) { return pair.first == axis; });
    return at == kOthers.end() ? axis : at->second;
}

/// The axis that a coordinate names; nothing when there is none. "axis2" is the third one whatever it is called.
std::optional<std::size_t> axisOf(const std::string& name, const std::vector<std::string>& axes)
{
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        if (axes[axis] == name || axes[axis] == commonName(name) || name == fmt::format("axis{}", axis)) {
            return axis;
        }
    }
    return std::nullopt;
}

Result<FixedAxes> fixedAxes(const TargetRequest& request, const tensor::Shape& shape,
                            const std::vector<std::string>& axes)
{
    FixedAxes fixed(shape.size());
    for (const TargetRequest::Coordinate& coordinate : request.place) {
        const std::string written = fmt::format("--target {}={}", coordinate.axis, coordinate.index);
        const std::optional<std::size_t> axis = axisOf(coordinate.axis, axes);
        if (!axis || fixed[*axis]) {
            return usageError(fmt::format("the target has {}: {}", axis ? "one index along each axis" : "other axes",
                                          axesText(axes, shape)),
                              written);
        }
        const std::int64_t at = coordinate.index < 0 ? coordinate.index + shape[*axis] : coordinate.index;
        if (at < 0 || at >= shape[*axis]) {
            return usageError(fmt::format("the index is out of range; the target has {}", axesText(axes, shape)),
                              written);
        }
        fixed[*axis] = at;
    }
    return fixed;
}

/// The largest element that agrees with what is fixed, in every sample that does.
Result<void> chooseInSlices(ResolvedTarget& target, const FixedAxes& fixed, const tensor::Tensor& plain,
                            const SampleLayout& samples)
{
    const bool hasSamples = plain.rank() >= 2;
    const Slice slice(plain.shape(), fixed);
    for (std::int64_t s = 0; s < samples.count; ++s) {
        if (hasSamples && fixed[0] && *fixed[0] != s) {
            target.index.push_back(-2);
            continue;
        }
        const std::int64_t best = ops::visitFloat(plain.dtype(), [&](auto zero) {
            return largestIn(plain.data<decltype(zero)>() + s * samples.length, slice);
        });
        const bool isOne = std::all_of(fixed.begin() + (hasSamples ? 1 : 0), fixed.end(),
                                       [](const auto& index) { return index.has_value(); });
        if (best < 0 && !isOne) {
            return noFiniteScore(s);
        }
        target.index.push_back(isOne ? slice.position() : best);
    }
    return {};
}

/// A class in every sample: where there are several rows of classes, in the row where its score is the largest.
Result<void> chooseClass(ResolvedTarget& target, std::int64_t classIndex, const tensor::Tensor& plain,
                         const SampleLayout& samples, const std::vector<std::string>& axes)
{
    if (!trace::isDense(axes, plain.shape())) {
        target.index.assign(static_cast<std::size_t>(samples.count), classIndex);
        return {};
    }
    FixedAxes fixed(plain.rank());
    fixed[static_cast<std::size_t>(std::ranges::find(axes, "class") - axes.begin())] = classIndex;
    return chooseInSlices(target, fixed, plain, samples);
}

Result<void> chooseNamed(ResolvedTarget& target, const TargetRequest& request, const tensor::Tensor& plain,
                         const SampleLayout& samples)
{
    if (request.index.empty()) {
        target.index.assign(static_cast<std::size_t>(samples.count), -1);
        return {};
    }
    RETRO_TRY(const std::int64_t flat, flatIndex(request.index, plain.shape()));
    target.index.assign(static_cast<std::size_t>(samples.count), -2);
    target.index[static_cast<std::size_t>(flat / samples.length)] = flat % samples.length;
    return {};
}

Result<void> chooseElement(ResolvedTarget& target, const TargetRequest& request, const tensor::Tensor& plain,
                           const SampleLayout& samples, const std::vector<std::string>& axes)
{
    switch (request.kind) {
    case TargetRequest::Kind::Value:
        return chooseNamed(target, request, plain, samples);
    case TargetRequest::Kind::Class:
        return chooseClass(target, request.classIndex, plain, samples, axes);
    case TargetRequest::Kind::Element:
        target.index.assign(static_cast<std::size_t>(samples.count), request.classIndex);
        return {};
    case TargetRequest::Kind::Place: {
        RETRO_TRY(const FixedAxes fixed, fixedAxes(request, plain.shape(), axes));
        return chooseInSlices(target, fixed, plain, samples);
    }
    case TargetRequest::Kind::Argmax:
        break;
    }
    for (std::int64_t s = 0; s < samples.count; ++s) {
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
Result<void> checkTarget(const TargetRequest& request, const SampleLayout& samples, const tensor::Shape& shape,
                         const std::vector<std::string>& axes)
{
    if (samples.length < 1 || samples.count < 1) {
        return inputError("the target has no elements", "shape " + tensor::toText(shape));
    }
    const bool isDense = trace::isDense(axes, shape);
    const auto classAxis = static_cast<std::size_t>(std::ranges::find(axes, "class") - axes.begin());
    const std::int64_t classes = isDense && classAxis < shape.size() ? shape[classAxis] : samples.length;
    if (request.kind == TargetRequest::Kind::Class && request.classIndex >= classes) {
        return usageError(fmt::format("there is no class {}; the output has {} ({})", request.classIndex, classes,
                                      isDense ? axesText(axes, shape) : tensor::toText(shape)),
                          "--target");
    }
    return {};
}

/// Takes the mean of other classes off, at the place of the target in every sample.
Result<void> setAgainst(ResolvedTarget& target, const StartRequest& start, const tensor::Tensor& plain,
                        const SampleLayout& samples, const std::vector<std::string>& axes)
{
    const std::int64_t classes = plain.shape().back();
    if (axes.back() != "class") {
        return usageError("a contrast is between classes of a value whose last axis has them; leave it out, or name "
                          "another target",
                          "--contrast");
    }
    const tensor::Tensor given = target.start.to(tensor::DType::Float64).contiguous();
    tensor::TensorBuffer buffer(tensor::DType::Float64, given.shape());
    const std::span<double> out = buffer.span<double>();
    std::copy_n(given.data<double>(), out.size(), out.begin());
    const double share = 1.0 / static_cast<double>(start.against.size());
    for (std::int64_t s = 0; s < samples.count; ++s) {
        const std::int64_t chosen = target.index[static_cast<std::size_t>(s)];
        if (chosen < 0) {
            continue;
        }
        const std::int64_t row = s * samples.length + chosen / classes * classes;
        if (std::ranges::all_of(start.against, [own = chosen % classes](std::int64_t one) { return one == own; })) {
            return usageError("the target is set against itself, so there is nothing to explain; name another word or "
                              "class",
                              "--contrast");
        }
        for (const std::int64_t other : start.against) {
            if (other < 0 || other >= classes) {
                return usageError(fmt::format("there is no class {}; the output has {}", other, classes), "--contrast");
            }
            const double score = plain.at(row + other);
            out[static_cast<std::size_t>(row + other)] -= share * (start.kind == StartKind::Logit ? score : 1.0);
            target.logit[static_cast<std::size_t>(s)] -= share * score;
        }
    }
    target.start = std::move(buffer).freeze().to(target.start.dtype());
    return {};
}

/// A start over the whole value: a given one, the value itself, or ones.
Result<tensor::Tensor> wholeStart(const StartRequest& start, const tensor::Tensor& forward)
{
    if (start.kind == StartKind::Given) {
        return start.given.isValid() ? Result<tensor::Tensor>(start.given.to(forward.dtype()))
                                     : givenStart(start.file, forward);
    }
    if (start.kind == StartKind::All || start.kind == StartKind::Logit) {
        return forward.contiguous();
    }
    return tensor::Tensor::full(forward.dtype(), forward.shape(), 1.0);
}

} // namespace

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

Result<StartRequest> parseStart(const std::string& text)
{
    static const std::vector<std::pair<std::string, StartKind>> kNames{{"logit", StartKind::Logit},
                                                                       {"one", StartKind::One},
                                                                       {"all", StartKind::All},
                                                                       {"contrastive", StartKind::Contrastive}};
    for (const auto& [name, kind] : kNames) {
        if (text == name || (text.empty() && kind == StartKind::Logit)) {
            return StartRequest{kind, {}, {}, {}, {}};
        }
    }
    if (text.ends_with(".npy")) {
        return StartRequest{StartKind::Given, text, {}, {}, {}};
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
        return start.given.isValid() ? start.led : start.file.filename().string();
    }
    return {};
}

Result<ResolvedTarget> resolveTarget(const TargetRequest& request, const StartRequest& start, base::ValueId value,
                                     const tensor::Tensor& forward, const std::vector<std::string>& axes)
{
    const SampleLayout samples = samplesOf(forward.shape());
    const std::vector<std::string> names = axes.empty() ? trace::usualAxisNames(forward.rank()) : axes;
    RETRO_CHECK(checkTarget(request, samples, forward.shape(), names));
    if (const auto segment = segmentIn(request)) {
        return resolveSegment(*segment, start, value, forward, names);
    }
    ResolvedTarget target;
    target.value = value;
    const tensor::Tensor plain = inFloats(forward);
    RETRO_CHECK(chooseElement(target, request, plain, samples, names));
    for (const std::int64_t index : target.index) {
        target.place.push_back(index < 0 ? std::string() : trace::placeText(names, forward.shape(), index));
    }
    for (std::int64_t s = 0; s < samples.count; ++s) {
        target.logit.push_back(ops::visitFloat(plain.dtype(), [&](auto zero) {
            return logitOf<decltype(zero)>(plain, samples, s, target.index[static_cast<std::size_t>(s)]);
        }));
    }
    const bool asksForAll = request.kind == TargetRequest::Kind::Value && request.index.empty();
    if (asksForAll || start.kind == StartKind::Given || start.kind == StartKind::All) {
        RETRO_TRY(target.start, wholeStart(start, forward));
    } else {
        target.start = ops::visitFloat(plain.dtype(), [&](auto zero) {
                           return oneHotStart<decltype(zero)>(target, start.kind, plain, samples);
                       }).to(forward.dtype());
        if (!start.against.empty()) {
            RETRO_CHECK(setAgainst(target, start, plain, samples, names));
        }
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
