// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/onednnconvolution.h"

#include "core/ops/onednn/onednncontext.h"
#include "core/ops/onednn/phasedtranspose.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace retro::ops::onednn
{

namespace
{

using dnnl::memory;
using reference::ConvolutionShape;
using reference::WindowAxis;

/// `leading` extents, then one extent per spatial axis.
memory::dims dimsOf(memory::dims leading, const ConvolutionShape& shape, std::int64_t WindowAxis::*extent)
{
    for (const WindowAxis& axis : shape.axes) {
        leading.push_back(axis.*extent);
    }
    return leading;
}

memory::desc channelsLast(const memory::dims& dims)
{
    using Tag = memory::format_tag;
    constexpr std::array kTags{Tag::nwc, Tag::nhwc, Tag::ndhwc};
    return {dims, kFloat, kTags[dims.size() - 3]};
}

/// How the library reads images and results while it computes.
enum class ActivationLayout : std::uint8_t {
    ChannelsLast,
    InEights ///< planes of eight channels each
};

memory::desc laidOut(const memory::dims& dims, ActivationLayout layout)
{
    using Tag = memory::format_tag;
    constexpr std::array kTags{Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c};
    return layout == ActivationLayout::ChannelsLast ? channelsLast(dims) : memory::desc(dims, kFloat, kTags[dims.size() - 3]);
}

/// Channels-last wherever the registers are of 512 bits. With those of 256 the library's kernels of several taps walk
/// through memory in strides of all channels, of which few at powers of two fit a cache: they lose a third to a half of
/// their speed to that in channels-last order, far more than putting image and result in another order takes.
ActivationLayout bestLayout(const ConvolutionShape& shape)
{
    constexpr auto kWide = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    static const bool isWide = (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWide) == kWide;
    const bool fitsEights = shape.groups == 1 && shape.channels % 8 == 0 && shape.filters % 8 == 0;
    return !isWide && fitsEights && shape.taps() > 1 ? ActivationLayout::InEights : ActivationLayout::ChannelsLast;
}

struct Description
{
    memory::desc image;
    memory::desc result;
    memory::dims kernel; // with the group axis in front when there are several
    memory::dims strides;
    memory::dims dilations;
    memory::dims padBegins;
    memory::dims padEnds;

    explicit Description(const ConvolutionShape& shape, ActivationLayout layout = ActivationLayout::ChannelsLast)
        : image(laidOut(dimsOf({shape.batch, shape.groups * shape.channels}, shape, &WindowAxis::image), layout)),
          result(laidOut(dimsOf({shape.batch, shape.groups * shape.filters}, shape, &WindowAxis::windows), layout)),
          kernel(shape.groups == 1 ? dimsOf({shape.filters, shape.channels}, shape, &WindowAxis::kernel)
                                   : dimsOf({shape.groups, shape.filters, shape.channels}, shape, &WindowAxis::kernel)),
          strides(dimsOf({}, shape, &WindowAxis::stride)), dilations(dimsOf({}, shape, &WindowAxis::dilation)),
          padBegins(dimsOf({}, shape, &WindowAxis::padBegin)), padEnds(dimsOf({}, shape, &WindowAxis::padEnd))
    {
        for (auto& dilation : dilations) {
            --dilation; // the library counts the gaps
        }
    }

    [[nodiscard]] memory::desc packedWeights() const { return {kernel, kFloat, memory::format_tag::any}; }
    [[nodiscard]] memory::desc plainWeights() const
    {
        memory::dims plain(kernel.size(), 1);
        for (std::size_t i = kernel.size(); i-- > 1;) {
            plain[i - 1] = plain[i] * kernel[i];
        }
        return {kernel, kFloat, plain};
    }
    [[nodiscard]] memory::desc bias() const { return {{result.dims()[1]}, kFloat, memory::format_tag::x}; }
    [[nodiscard]] dnnl::convolution_forward::primitive_desc forwardWithBias() const
    {
        const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_inference,
                                                   dnnl::algorithm::convolution_direct, image, packedWeights(), bias(),
                                                   result, strides, dilations, padBegins, padEnds);
        return {desc, engine(), true};
    }
    [[nodiscard]] dnnl::convolution_forward::primitive_desc forward(dnnl::prop_kind kind) const
    {
        const dnnl::convolution_forward::desc desc(kind, dnnl::algorithm::convolution_direct, image, packedWeights(),
                                                   result, strides, dilations, padBegins, padEnds);
        return {desc, engine(), true};
    }
    [[nodiscard]] dnnl::convolution_backward_data::primitive_desc
    backward(const dnnl::convolution_forward::primitive_desc& hint) const
    {
        const dnnl::convolution_backward_data::desc desc(dnnl::algorithm::convolution_direct, image, packedWeights(),
                                                         result, strides, dilations, padBegins, padEnds);
        return {desc, engine(), hint, true};
    }
};

/// Windows from which on a transposed map of stride 1 is computed as a convolution. The library's own loses half of its
/// speed on 28 × 28 positions of 512 channels and some on larger images; on smaller ones it is as fast and needs no
/// turned weights.
constexpr std::int64_t kManyWindows = 784;

/// The transposed map of a convolution of stride 1 as a convolution: channels and filters change places, and each
/// kernel is turned round. None where that is no gain or does not exist.
std::optional<ConvolutionShape> turned(const ConvolutionShape& shape)
{
    if (shape.groups != 1 || shape.taps() == 1 || shape.windowCount() < kManyWindows) {
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
    Direction direction; ///< of the primitive
    memory::desc in;     ///< as the primitive reads it
    memory::desc out;    ///< as it writes it
    dnnl::primitive primitive;
    memory::desc plain;
    memory::desc packed;
    dnnl::reorder packing;
    std::int64_t turnedTaps = 0;             ///< of each kernel, where it is turned round before it is packed; else 0
    std::optional<PhasedTranspose> phased{}; ///< where the primitive computes its blocks
    memory::desc bias{};                     ///< where the primitive adds one

    /// What is between channels-last order and the layout of the primitive, where that is another one.
    struct Relayout
    {
        memory::desc in;
        memory::desc out;
        dnnl::reorder before;
        dnnl::reorder after;
    };
    std::optional<Relayout> relayout{};

    /// Null where the library has no implementation. `plain`: weights as pack() hands them over.
    [[nodiscard]] static std::unique_ptr<State> ofForward(const ConvolutionShape& shape, const memory::desc& plain,
                                                          bool addsBias = false);
    [[nodiscard]] static std::unique_ptr<State> ofBackward(const ConvolutionShape& shape);
    [[nodiscard]] static std::unique_ptr<State> ofForward(const ConvolutionShape& shape, const memory::desc& plain,
                                                          bool addsBias, ActivationLayout layout);
    [[nodiscard]] static std::unique_ptr<State> ofBackward(const ConvolutionShape& shape, ActivationLayout layout);
    /// Of the transposed map, whichever way it is computed.
    [[nodiscard]] static std::unique_ptr<State> ofTransposed(const ConvolutionShape& shape);

private:
    [[nodiscard]] static dnnl::reorder reorder(const memory::desc& from, const memory::desc& to)
    {
        return dnnl::reorder(dnnl::reorder::primitive_desc(engine(), from, engine(), to));
    }
    /// Finds the way from and to channels-last order.
    [[nodiscard]] static std::unique_ptr<State> relaidOut(State state);
};

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::relaidOut(State state)
{
    const memory::desc in = channelsLast(state.in.dims());
    const memory::desc out = channelsLast(state.out.dims());
    if (state.in != in) {
        state.relayout = Relayout{in, out, reorder(in, state.in), reorder(state.out, out)};
    }
    return std::make_unique<State>(std::move(state));
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofForward(const ConvolutionShape& shape,
                                                                              const memory::desc& plain, bool addsBias)
{
    const ActivationLayout best = bestLayout(shape);
    auto state = ofForward(shape, plain, addsBias, best);
    return state || best == ActivationLayout::ChannelsLast ? std::move(state)
                                                 : ofForward(shape, plain, addsBias, ActivationLayout::ChannelsLast);
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofBackward(const ConvolutionShape& shape)
{
    const ActivationLayout best = bestLayout(shape);
    auto state = ofBackward(shape, best);
    return state || best == ActivationLayout::ChannelsLast ? std::move(state) : ofBackward(shape, ActivationLayout::ChannelsLast);
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofForward(const ConvolutionShape& shape,
                                                                              const memory::desc& plain, bool addsBias,
                                                                              ActivationLayout layout)
{
    const Description description(shape, layout);
    const auto forward =
        addsBias ? description.forwardWithBias() : description.forward(dnnl::prop_kind::forward_inference);
    if (!forward) {
        return nullptr;
    }
    const memory::desc packed = forward.weights_desc();
    auto state = relaidOut({Direction::Forward, description.image, description.result,
                            dnnl::convolution_forward(forward), plain, packed, reorder(plain, packed)});
    state->bias = addsBias ? description.bias() : memory::desc();
    return state;
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofBackward(const ConvolutionShape& shape,
                                                                               ActivationLayout layout)
{
    const Description description(shape, layout);
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
    return relaidOut({Direction::Transposed, description.result, description.image,
                      dnnl::convolution_backward_data(backward), plain, packed, reorder(plain, packed)});
}

std::unique_ptr<PackedConvolution::State> PackedConvolution::State::ofTransposed(const ConvolutionShape& shape)
{
    if (auto phased = PhasedTranspose::of(shape)) {
        const ConvolutionShape& blocks = phased->blocks();
        if (auto state = ofForward(blocks, Description(blocks).plainWeights())) {
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
try {
    static_cast<void>(stream()); // the number of threads in force
    m_state = direction == Direction::Forward ? State::ofForward(shape, Description(shape).plainWeights(), addsBias)
                                              : State::ofTransposed(shape);
} catch (const dnnl::error&) {
    // Geometry that the library refuses, such as a transposed convolution that leaves a rim untouched: the reference
    // template computes it.
    m_state.reset();
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
    m_state->packing.execute(queue, {{DNNL_ARG_FROM, readOnly(m_state->plain, weight)},
                                     {DNNL_ARG_TO, memory(m_state->packed, engine(), buffer.data<float>())}});
    queue.wait();
    return std::move(buffer).freeze();
}

namespace
{

tensor::TensorBuffer bufferFor(const memory::desc& desc)
{
    return {tensor::DType::Float32, {static_cast<std::int64_t>(desc.get_size() / sizeof(float))}};
}

} // namespace

void PackedConvolution::execute(const float* in, const tensor::Tensor& weights, float* out, const float* bias) const
{
    if (!m_state->relayout) {
        compute(in, weights, out, bias);
        return;
    }
    const State::Relayout& relayout = *m_state->relayout;
    dnnl::stream& queue = stream();
    tensor::TensorBuffer result = bufferFor(m_state->out);
    {
        tensor::TensorBuffer image = bufferFor(m_state->in);
        relayout.before.execute(queue, {{DNNL_ARG_FROM, readOnly(relayout.in, in)},
                                        {DNNL_ARG_TO, memory(m_state->in, engine(), image.data<float>())}});
        compute(image.data<float>(), weights, result.data<float>(), bias);
    }
    relayout.after.execute(queue, {{DNNL_ARG_FROM, readOnly(m_state->out, result.data<float>())},
                                   {DNNL_ARG_TO, memory(relayout.out, engine(), out)}});
    queue.wait();
}

void PackedConvolution::compute(const float* in, const tensor::Tensor& weights, float* out, const float* bias) const
{
    dnnl::stream& queue = stream();
    const bool isForward = m_state->direction == Direction::Forward;
    std::unordered_map<int, memory> arguments{
        {isForward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, readOnly(m_state->in, in)},
        {DNNL_ARG_WEIGHTS, readOnly(m_state->packed, weights.data<float>())},
        {isForward ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC, memory(m_state->out, engine(), out)}};
    if (bias != nullptr) {
        arguments.emplace(DNNL_ARG_BIAS, readOnly(m_state->bias, bias));
    }
    m_state->primitive.execute(queue, arguments);
    queue.wait();
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
    tensor::TensorBuffer buffer = bufferFor(m_state->out);
    execute(in, weights, buffer.data<float>());
    if (m_state->phased) {
        m_state->phased->gather(buffer.data<float>(), outs);
    } else {
        channelsApart(buffer.span<float>(), m_state->out.dims()[1], outs);
    }
}

} // namespace retro::ops::onednn
