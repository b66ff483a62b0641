// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/onednnconvolution.h"

#include "core/ops/onednn/convolutiondescription.h"
#include "core/ops/onednn/convolutionslabs.h"
#include "core/ops/onednn/phasedtranspose.h"
#include "core/ops/onednn/samplesbeside.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace retro::ops::onednn
{

/// Samples of `rows` × `columns` × `channels` numbers in channels-last order, and the same in the library's planes of
/// eight channels each. `channels` is a multiple of eight.
struct EightsExtents
{
    std::int64_t samples = 1;
    std::int64_t channels = 0;
    std::int64_t rows = 1;    ///< product of all spatial axes but the last
    std::int64_t columns = 0; ///< of the last
    /// 0: samples × channels/8 × rows × columns × 8. Else the samples share planes, beside each other: channels/8 ×
    /// rows × wide × 8, where a sample's columns begin so far behind those of the sample before it (samplesbeside.h).
    std::int64_t step = 0;
};

namespace
{

constexpr std::int64_t kEight = 8;

/// Positions that are moved at a time: each plane gets a kilobyte of neighbours, and what is read stays in a cache
/// until all planes have had their part of it.
constexpr std::int64_t kTogether = 32;

/// Where the numbers lie: in runs of neighbouring positions, `perSample` of them in each sample.
struct Runs
{
    std::int64_t perSample = 0;
    std::int64_t length = 0;    ///< positions; the last run of a sample may have fewer
    std::int64_t positions = 0; ///< of a sample
    std::int64_t planeSize = 0; ///< positions of a plane
    std::int64_t sampleAt = 0;  ///< numbers from one sample's first plane to the next one's
    std::int64_t runAt = 0;     ///< positions from one run to the next in a plane
};

Runs runsOf(const EightsExtents& extents)
{
    const std::int64_t positions = extents.rows * extents.columns;
    if (extents.step == 0) {
        return {(positions + kTogether - 1) / kTogether,
                kTogether,
                positions,
                positions,
                positions * extents.channels,
                kTogether};
    }
    const std::int64_t wide = (extents.samples - 1) * extents.step + extents.columns;
    return {extents.rows, extents.columns, positions, extents.rows * wide, extents.step * kEight, wide};
}

/// Calls move(sample's offset, plane's offset) for eight numbers after the other; runs go in parallel.
template <class Move>
void forEachEight(const EightsExtents& extents, const Move& move)
{
    const Runs runs = runsOf(extents);
    parallelFor(extents.samples * runs.perSample, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t at = begin; at < end; ++at) {
            const std::int64_t sample = at / runs.perSample;
            const std::int64_t run = at % runs.perSample;
            const std::int64_t first = run * runs.length;
            const std::int64_t count = std::min(runs.length, runs.positions - first);
            const std::int64_t last = (sample * runs.positions + first) * extents.channels;
            const std::int64_t plane = sample * runs.sampleAt + run * runs.runAt * kEight;
            for (std::int64_t channel = 0; channel < extents.channels; channel += kEight) {
                for (std::int64_t i = 0; i < count; ++i) {
                    move(last + i * extents.channels + channel, plane + channel * runs.planeSize + i * kEight);
                }
            }
        }
    });
}

/// From channels-last order into planes of eight channels; zeros between samples that lie beside each other.
void intoPlanesOfEight(const float* channelsLast, const EightsExtents& extents, float* planes)
{
    if (extents.step != 0) {
        std::fill_n(planes, runsOf(extents).planeSize * extents.channels, 0.0F);
    }
    forEachEight(extents, [=](std::int64_t last, std::int64_t plane) {
        std::memcpy(planes + plane, channelsLast + last, kEight * sizeof(float));
    });
}

/// The way back.
void outOfPlanesOfEight(const float* planes, const EightsExtents& extents, float* channelsLast)
{
    forEachEight(extents, [=](std::int64_t last, std::int64_t plane) {
        std::memcpy(channelsLast + last, planes + plane, kEight * sizeof(float));
    });
}

using dnnl::memory;
using reference::ConvolutionShape;
using reference::WindowAxis;

/// Windows from which on a transposed map of stride 1 is computed as a convolution. The library's own loses half of its
/// speed on 28 × 28 positions of 512 channels and some on larger images; on smaller ones it is as fast and needs no
/// turned weights. In planes of eight channels it does not lose much on any: there the larger images alone are worth
/// it, which are computed in parts.
constexpr std::int64_t kManyWindows = 784;
constexpr std::int64_t kManyWindowsInEights = 3136;

/// The transposed map of a convolution of stride 1 as a convolution: channels and filters change places, and each
/// kernel is turned round. None where that is no gain or does not exist.
std::optional<ConvolutionShape> turned(const ConvolutionShape& shape)
{
    const bool isInEights = bestLayout(shape) == ActivationLayout::InEights;
    const std::int64_t many = isInEights ? kManyWindowsInEights : kManyWindows;
    if (shape.groups != 1 || shape.taps() == 1 || shape.windowCount() < many) {
        return std::nullopt;
    }
    ConvolutionShape result = shape;
    std::swap(result.channels, result.filters);
    for (WindowAxis& axis : result.axes) {
        axis.padBegin = axis.span() - 1 - axis.padBegin;
        axis.padEnd = axis.span() - 1 - axis.padEnd;
        if (axis.stride != 1 || axis.padBegin < 0 || axis.padEnd < 0) {
            return std::nullopt;
        }
        std::swap(axis.image, axis.windows);
    }
    return result;
}

/// Row-major weights [filter][channel][tap] with the taps of each kernel in reverse order.
tensor::Tensor kernelsTurned(const float* weight, std::int64_t count, std::int64_t taps)
{
    tensor::TensorBuffer buffer(tensor::DType::Float32, {count});
    for (std::int64_t at = 0; at < count; at += taps) {
        std::reverse_copy(weight + at, weight + at + taps, buffer.data<float>() + at);
    }
    return std::move(buffer).freeze();
}

/// Weights [filter][channel][taps …] of the transposed map, seen as those of `turned`: the first two axes change
/// places.
memory::desc swappedWeights(const ConvolutionShape& turned)
{
    const memory::dims kernel = dimsOf({turned.filters, turned.channels}, turned, &WindowAxis::kernel);
    memory::dims strides(kernel.size(), 1);
    for (std::size_t i = kernel.size() - 1; i-- > 2;) {
        strides[i] = strides[i + 1] * kernel[i + 1];
    }
    strides[0] = turned.taps();
    strides[1] = turned.filters * turned.taps();
    return {kernel, kFloat, strides};
}

/// Whether an implementation of the library, by its name, is the one that makes matrices of windows. It cuts them by
/// the number of threads that compute, not by the number that it was made for.
bool isFallback(std::string_view implementation) { return implementation.find("gemm") != std::string_view::npos; }

/// What the library is told of a convolution in one layout, and what its planes of eight channels hold.
struct InLayout
{
    std::optional<SamplesBeside> beside;
    ConvolutionDescription description;
    EightsExtents image;
    EightsExtents result;

    InLayout(const ConvolutionShape& shape, ActivationLayout layout, bool isTransposed)
        : beside(layout == ActivationLayout::InEights ? samplesBeside(shape, isTransposed) : std::nullopt),
          description(beside ? beside->shape : shape, layout),
          image(extentsOf(shape, &WindowAxis::image, shape.channels, beside ? beside->imageStep : 0)),
          result(extentsOf(shape, &WindowAxis::windows, shape.filters, beside ? beside->windowStep : 0))
    {}

private:
    [[nodiscard]] static EightsExtents extentsOf(const ConvolutionShape& shape, std::int64_t WindowAxis::*extent,
                                                 std::int64_t channels, std::int64_t step)
    {
        EightsExtents extents{shape.batch, channels, 1, shape.axes.back().*extent, step};
        for (std::size_t i = 0; i + 1 < shape.axes.size(); ++i) {
            extents.rows *= shape.axes[i].*extent;
        }
        return extents;
    }
};

/// The channels of `all` (channels-last) in equal parts.
void channelsApart(std::span<const float> all, std::int64_t channels, std::span<float* const> parts)
{
    const std::int64_t length = channels / static_cast<std::int64_t>(parts.size());
    const std::int64_t positions = static_cast<std::int64_t>(all.size()) / channels;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const float* from = all.data() + static_cast<std::int64_t>(k) * length;
        float* to = parts[k];
        for (std::int64_t position = 0; position < positions; ++position, from += channels) {
            to = std::copy_n(from, length, to);
        }
    }
}

} // namespace

struct PackedConvolution::State
{
    /// One call of the library.
    struct Call
    {
        memory::desc in;
        memory::desc out;
        dnnl::primitive primitive;
        EightsExtents inExtents{}; ///< where it computes in planes of eight channels
        EightsExtents outExtents{};
        memory::desc scratch{}; ///< what the library computes in, of this call alone
    };
    /// What one call computes of the whole.
    struct Piece
    {
        std::size_t call = 0;
        std::int64_t inAt = 0; ///< first number in channels-last order
        std::int64_t outAt = 0;
    };

    Direction direction; ///< of the calls
    std::vector<Call> calls;
    memory::desc out; ///< of all pieces, in channels-last order
    memory::desc plain;
    memory::desc packed;
    dnnl::reorder packing;
    std::int64_t turnedTaps = 0;             ///< of each kernel, where it is turned round before it is packed; else 0
    std::optional<PhasedTranspose> phased{}; ///< where the calls compute its blocks
    memory::desc bias{};                     ///< where the calls add one
    std::vector<Piece> pieces{};             ///< in planes of eight channels, one after the other; none: the one call
    bool isCutByThreads = false;             ///< the library's fallback, whose bits depend on how many threads compute
    bool isParted = false;                   ///< pieces lie in channels-last order, and one thread computes each

    /// Null where the library has no implementation. `plain`: weights as pack() hands them over.
    [[nodiscard]] static std::unique_ptr<State> ofForward(const ConvolutionShape& shape, const memory::desc& plain,
                                                          bool addsBias = false);
    [[nodiscard]] static std::unique_ptr<State> ofBackward(const ConvolutionShape& shape);
    /// Of the transposed map, whichever way it is computed.
    [[nodiscard]] static std::unique_ptr<State> ofTransposed(const ConvolutionShape& shape);

private:
    [[nodiscard]] static dnnl::reorder reorder(const memory::desc& from, const memory::desc& to)
    {
        return dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from, engine(), to));
    }
    [[nodiscard]] static std::unique_ptr<State> ofForward(const ConvolutionShape& shape, const memory::desc& plain,
                                                          bool addsBias, ActivationLayout layout);
    /// `next`'s call behind those of `whole`, if there are any. None when their weights are packed differently.
    [[nodiscard]] static std::unique_ptr<State> joined(std::unique_ptr<State> whole, std::unique_ptr<State> next);
    /// The parts one after the other, each made by make(its shape). None when one of them is packed differently.
    template <class Make>
    [[nodiscard]] static std::unique_ptr<State> inParts(const std::vector<ConvolutionSlab>& parts, bool isTransposed,
                                                        const Make& make);
    [[nodiscard]] static std::unique_ptr<State> inSlabs(const ConvolutionShape& shape, const memory::desc& plain,
                                                        bool addsBias);
    /// make(shape), in parts of its own for each thread where its bits would depend on their number.
    template <class Make>
    [[nodiscard]] static std::unique_ptr<State> sameForAnyThreads(const ConvolutionShape& shape, bool isTransposed,
                                                                  const Make& make);
    [[nodiscard]] static std::unique_ptr<State> ofBackward(const ConvolutionShape& shape, ActivationLayout layout);
};

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofForward(const ConvolutionShape& shape,
                                                                              const memory::desc& plain, bool addsBias)
{
    if (bestLayout(shape) == ActivationLayout::InEights) {
        if (auto state = inSlabs(shape, plain, addsBias)) {
            return state;
        }
    }
    return sameForAnyThreads(shape, false, [&](const ConvolutionShape& part) {
        return ofForward(part, plain, addsBias, ActivationLayout::ChannelsLast);
    });
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofBackward(const ConvolutionShape& shape)
{
    if (bestLayout(shape) == ActivationLayout::InEights) {
        if (auto state = ofBackward(shape, ActivationLayout::InEights)) {
            state->pieces = {{}};
            return state;
        }
    }
    return sameForAnyThreads(
        shape, true, [](const ConvolutionShape& part) { return ofBackward(part, ActivationLayout::ChannelsLast); });
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofForward(const ConvolutionShape& shape,
                                                                              const memory::desc& plain, bool addsBias,
                                                                              ActivationLayout layout)
{
    const InLayout computed(shape, layout, false);
    const ConvolutionDescription& description = computed.description;
    const auto forward =
        addsBias ? description.forwardWithBias() : description.forward(dnnl::prop_kind::forward_inference);
    if (!forward) {
        return nullptr;
    }
    const memory::desc packed = forward.weights_desc();
    auto state =
        std::make_unique<State>(State{Direction::Forward,
                                      {{description.image, description.result, dnnl::convolution_forward(forward),
                                        computed.image, computed.result, forward.scratchpad_desc()}},
                                      ConvolutionDescription(shape).result,
                                      plain,
                                      packed,
                                      reorder(plain, packed)});
    state->bias = addsBias ? description.bias() : memory::desc();
    state->isCutByThreads = isFallback(forward.impl_info_str());
    return state;
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::joined(std::unique_ptr<State> whole,
                                                                           std::unique_ptr<State> next)
{
    if (!next || !whole) {
        return next;
    }
    if (next->packed != whole->packed) {
        return nullptr;
    }
    whole->calls.push_back(std::move(next->calls.front()));
    return whole;
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::inSlabs(const ConvolutionShape& shape,
                                                                            const memory::desc& plain, bool addsBias)
{
    auto whole = inParts(slabsOf(shape), false, [&](const ConvolutionShape& part) {
        return ofForward(part, plain, addsBias, ActivationLayout::InEights);
    });
    if (whole) {
        whole->out = ConvolutionDescription(shape).result;
    }
    return whole;
}

template <class Make>
std::unique_ptr<PackedConvolution::State> PackedConvolution::State::inParts(const std::vector<ConvolutionSlab>& parts,
                                                                            bool isTransposed, const Make& make)
{
    std::unique_ptr<State> whole;
    std::vector<ConvolutionShape> shapes; // of the calls
    for (const ConvolutionSlab& part : parts) {
        const auto known = std::ranges::find(shapes, part.shape);
        const auto call = static_cast<std::size_t>(known - shapes.begin());
        if (known == shapes.end()) {
            whole = joined(std::move(whole), make(part.shape));
            if (!whole) {
                return nullptr;
            }
            shapes.push_back(part.shape);
        }
        whole->pieces.push_back(isTransposed ? Piece{call, part.resultAt, part.imageAt}
                                             : Piece{call, part.imageAt, part.resultAt});
    }
    return whole;
}

template <class Make>
std::unique_ptr<PackedConvolution::State>
PackedConvolution::State::sameForAnyThreads(const ConvolutionShape& shape, bool isTransposed, const Make& make)
{
    auto whole = make(shape);
    if (!whole || !whole->isCutByThreads) {
        return whole;
    }
    const memory::desc out = whole->out;
    const ThreadsPlanned alone(1);
    auto parted = inParts(partsForThreads(shape, isTransposed), isTransposed, make);
    if (!parted) { // a part would be packed differently: one thread computes all
        parted = make(shape);
        parted->pieces = {{}};
    }
    parted->out = out;
    parted->isParted = true;
    return parted;
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofBackward(const ConvolutionShape& shape,
                                                                               ActivationLayout layout)
{
    const InLayout computed(shape, layout, true);
    const ConvolutionDescription& description = computed.description;
    const auto forward = description.forward(dnnl::prop_kind::forward_training);
    if (!forward) {
        return nullptr;
    }
    const auto backward = description.backward(forward);
    if (!backward) {
        return nullptr;
    }
    const memory::desc plain = description.plainWeights();
    const memory::desc packed = backward.weights_desc();
    auto state = std::make_unique<State>(
        State{Direction::Transposed,
              {{description.result, description.image, dnnl::convolution_backward_data(backward), computed.result,
                computed.image, backward.scratchpad_desc()}},
              ConvolutionDescription(shape).image,
              plain,
              packed,
              reorder(plain, packed)});
    state->isCutByThreads = isFallback(backward.impl_info_str());
    return state;
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofTransposed(const ConvolutionShape& shape)
{
    if (auto phased = PhasedTranspose::of(shape)) {
        const ConvolutionShape& blocks = phased->blocks();
        if (auto state = ofForward(blocks, ConvolutionDescription(blocks).plainWeights())) {
            state->phased = std::move(phased);
            return state;
        }
    }
    if (const auto asForward = turned(shape)) {
        auto state = ofForward(*asForward, swappedWeights(*asForward));
        if (state) {
            state->turnedTaps = shape.taps();
        }
        return state;
    }
    return ofBackward(shape);
}

PackedConvolution::PackedConvolution(const ConvolutionShape& shape, Direction direction, bool addsBias)
{
    const ThreadsPlanned planned(kPlannedThreads);
    try {
        m_state = direction == Direction::Forward
                      ? State::ofForward(shape, ConvolutionDescription(shape).plainWeights(), addsBias)
                      : State::ofTransposed(shape);
    } catch (const dnnl::error&) {
        // Geometry that the library refuses, such as a transposed convolution that leaves a rim untouched: the
        // reference template computes it. (A try block around a constructor would throw again.)
        m_state.reset();
    }
}

PackedConvolution::~PackedConvolution() = default;
PackedConvolution::PackedConvolution(PackedConvolution&&) noexcept = default;

tensor::Tensor PackedConvolution::pack(const float* weight) const
{
    dnnl::stream& queue = stream();
    const auto count = static_cast<std::int64_t>(m_state->packed.get_size() / sizeof(float));
    tensor::TensorBuffer buffer(tensor::DType::Float32, {count});
    tensor::Tensor changed;
    if (m_state->phased) {
        changed = m_state->phased->weights(weight);
        weight = changed.data<float>();
    } else if (m_state->turnedTaps > 0) {
        const auto plain = static_cast<std::int64_t>(m_state->plain.get_size() / sizeof(float));
        changed = kernelsTurned(weight, plain, m_state->turnedTaps);
        weight = changed.data<float>();
    }
    asFailure([&] {
        withinThreads([&] {
            m_state->packing.execute(queue, {{DNNL_ARG_FROM, readOnly(m_state->plain, weight)},
                                             {DNNL_ARG_TO, memory(m_state->packed, engine(), buffer.data<float>())}});
        });
        queue.wait();
    });
    return std::move(buffer).freeze();
}

namespace
{

tensor::TensorBuffer bufferFor(std::size_t bytes)
{
    return {tensor::DType::Float32, {static_cast<std::int64_t>(bytes / sizeof(float))}};
}

} // namespace

void PackedConvolution::execute(const float* in, const tensor::Tensor& weights, float* out, const float* bias) const
{
    if (m_state->isParted) {
        parallelFor(static_cast<std::int64_t>(m_state->pieces.size()), 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const State::Piece& piece = m_state->pieces[static_cast<std::size_t>(i)];
                compute(piece.call, in + piece.inAt, weights, out + piece.outAt, bias);
            }
        });
        return;
    }
    if (m_state->pieces.empty()) {
        compute(0, in, weights, out, bias);
        return;
    }
    std::size_t inBytes = 0;
    std::size_t outBytes = 0;
    for (const State::Call& call : m_state->calls) {
        inBytes = std::max(inBytes, call.in.get_size());
        outBytes = std::max(outBytes, call.out.get_size());
    }
    tensor::TensorBuffer read = bufferFor(inBytes);
    tensor::TensorBuffer written = bufferFor(outBytes);
    for (const State::Piece& piece : m_state->pieces) {
        const State::Call& call = m_state->calls[piece.call];
        intoPlanesOfEight(in + piece.inAt, call.inExtents, read.data<float>());
        compute(piece.call, read.data<float>(), weights, written.data<float>(), bias);
        outOfPlanesOfEight(written.data<float>(), call.outExtents, out + piece.outAt);
    }
}

void PackedConvolution::compute(std::size_t index, const float* in, const tensor::Tensor& weights, float* out,
                                const float* bias) const
{
    dnnl::stream& queue = m_state->isParted ? streamOfOneThread() : stream();
    const State::Call& call = m_state->calls[index];
    const bool isForward = m_state->direction == Direction::Forward;
    std::unordered_map<int, memory> arguments{
        {isForward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, readOnly(call.in, in)},
        {DNNL_ARG_WEIGHTS, readOnly(m_state->packed, weights.data<float>())},
        {isForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC, memory(call.out, engine(), out)}};
    if (bias != nullptr) {
        arguments.emplace(DNNL_ARG_BIAS, readOnly(m_state->bias, bias));
    }
    tensor::TensorBuffer scratch = bufferFor(call.scratch.get_size() + sizeof(float) - 1);
    arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(call.scratch, engine(), scratch.data<float>()));
    asFailure([&] {
        const auto execute = [&] { call.primitive.execute(queue, arguments); };
        m_state->isParted ? execute() : withinThreads(execute);
        queue.wait();
    });
}

void PackedConvolution::run(const float* in, const tensor::Tensor& weights, float* out, const float* bias) const
{
    if (m_state->phased) {
        runApart(in, weights, {&out, 1});
    } else {
        execute(in, weights, out, bias);
    }
}

void PackedConvolution::runApart(const float* in, const tensor::Tensor& weights, std::span<float* const> outs) const
{
    tensor::TensorBuffer buffer = bufferFor(m_state->out.get_size());
    execute(in, weights, buffer.data<float>());
    if (m_state->phased) {
        m_state->phased->gather(buffer.data<float>(), outs);
    } else {
        channelsApart(buffer.span<float>(), m_state->out.dims()[1], outs);
    }
}

} // namespace retro::ops::onednn
