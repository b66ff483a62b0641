// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear/convolutionmap.h"

#include "core/ops/algebra.h"
#include "core/ops/algebraover.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/sparsetransposed.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/reference/boxsums.h"

#include <algorithm>
#include <iterator>

namespace retro::ops
{

using onednn::Direction;
using tensor::Shape;

ConvolutionMap::ConvolutionMap(TensorType output, reference::ConvolutionShape shape, Direction direction, Tensor weight,
                               Tensor bias)
    : Operator(std::move(output)), m_shape(std::move(shape)), m_direction(direction),
      m_weight(weight.contiguous(), m_outputTypes[0].dtype), m_bias(std::move(bias), m_outputTypes[0].dtype)
{}

double ConvolutionMap::flops() const
{
    const std::int64_t perImage = m_shape.groups * m_shape.filters * m_shape.channels * m_shape.taps();
    return 2.0 * static_cast<double>(m_shape.batch) * static_cast<double>(perImage) *
           static_cast<double>(m_shape.windowCount());
}

reference::ConvolutionShape ConvolutionMap::shapeOf(std::int64_t samples) const
{
    reference::ConvolutionShape shape = m_shape;
    shape.batch = samples;
    return shape;
}

Shape ConvolutionMap::shapeAfter(Direction direction, std::int64_t samples) const
{
    const bool isForward = direction == Direction::Forward;
    Shape shape{samples, m_shape.groups * (isForward ? m_shape.filters : m_shape.channels)};
    for (const reference::WindowAxis& axis : m_shape.axes) {
        shape.push_back(isForward ? axis.windows : axis.image);
    }
    return shape;
}

namespace
{

/// Windows from which on packed weights are not kept: packing takes less than a fifth of the time of one use then, and
/// at most a twentieth from four times as many on.
constexpr std::int64_t kManyWindows = 196;

/// Bytes of weights up to which packed ones are kept from the second pass on, though windows are many: packing those of
/// 14 × 14 windows takes a fifth of the time of one use.
constexpr std::int64_t kSmallWeights = 4 << 20;

/// Samples from which on a pass holds so much more than the weights that their packed copies count for little.
constexpr std::int64_t kManySamples = 4;

} // namespace

ConvolutionMap::PackKeeping ConvolutionMap::packKeeping(WeightVariant variant, Direction direction) const
{
    return packKeeping(variant.part == WeightPart::All && direction == m_direction);
}

ConvolutionMap::PackKeeping ConvolutionMap::packKeeping(bool isOwn) const
{
    if (!m_weight.isKept()) {
        return PackKeeping::Never;
    }
    if (m_shape.batch * m_shape.windowCount() < kManyWindows) {
        return PackKeeping::Always;
    }
    const bool isSmall = isOwn && tensor::elementCount(m_weight.shape()) * 4 <= kSmallWeights;
    return isSmall || m_shape.batch >= kManySamples ? PackKeeping::FromSecondUse : PackKeeping::Never;
}

const onednn::PackedConvolution& ConvolutionMap::way(const WayKey& key) const
{
    return m_ways.get(key,
                      [&] { return onednn::PackedConvolution(shapeOf(key.samples), key.direction, key.addsBias); });
}

/// Element by element in the library's order: variants have the bits that they have in any other order.
Tensor ConvolutionMap::pack(WeightVariant variant, const onednn::PackedConvolution& way) const
{
    return variantOf(way.pack(m_weight.make({}).data<float>()), variant);
}

template <class Key, class Make>
Tensor ConvolutionMap::kept(PackKeeping keeping, const PreparedCache<Key, Tensor>& cache, const Key& key,
                            const Make& make) const
{
    switch (keeping) {
    case PackKeeping::Always:
        return cache.get(key, make);
    case PackKeeping::FromSecondUse:
        return cache.getKeptFromSecond(key, make);
    case PackKeeping::Never:
        break;
    }
    return make();
}

Tensor ConvolutionMap::packedWeights(WeightVariant variant, const WayKey& key,
                                     const onednn::PackedConvolution& way) const
{
    return kept(packKeeping(variant, key.direction), m_packs, PackKey{WeightVariants::canonical(variant), key},
                [&] { return pack(variant, way); });
}

Tensor ConvolutionMap::transposedSparse(const Tensor& t, WeightVariant variant) const
{
    const reference::ConvolutionShape shape = shapeOf(t.shape()[0]);
    if (!SparseTransposed::fits(shape)) {
        return {};
    }
    const SparseTransposed sparse(shape);
    const Tensor in = channelsLast(t);
    if (!sparse.isWorthIt(in.data<float>())) {
        return {};
    }
    const Tensor weights = kept(packKeeping(false), m_sparsePacks, WeightVariants::canonical(variant),
                                [&] { return variantOf(sparse.pack(m_weight.make({}).data<float>()), variant); });
    const Shape image = shapeAfter(Direction::Transposed, t.shape()[0]);
    tensor::TensorBuffer buffer(t.dtype(), image, tensor::channelsLastStrides(image));
    sparse.run(in.data<float>(), weights, buffer.data<float>());
    return std::move(buffer).freeze();
}

namespace
{

/// rows over what was just computed.
void finish(const RowsOver* rows, float* out, std::int64_t count)
{
    constexpr std::int64_t kPiece = 32768;
    if (rows != nullptr) {
        parallelFor(count, kPiece, [&](std::int64_t begin, std::int64_t end) { rows->over(out + begin, end - begin); });
    }
}

} // namespace

Tensor ConvolutionMap::pointwise(const PointwiseConvolution& way, const Tensor& t, WeightVariant variant,
                                 Direction direction, const AfterProduct& after) const
{
    const Shape shape = shapeAfter(direction, t.shape()[0]);
    tensor::TensorBuffer buffer(t.dtype(), shape, tensor::channelsLastStrides(shape));
    const Tensor in = channelsLast(t);
    const PackKeeping keeping = packKeeping(variant, direction);
    if (keeping == PackKeeping::Never) {
        const Tensor weight = m_weight.make(variant);
        way.run(in.data<float>(), weight.data<float>(), buffer.data<float>(), after);
    } else {
        const PackKey key{WeightVariants::canonical(variant), {direction, 0, false}};
        const Tensor weights =
            kept(keeping, m_packs, key, [&] { return variantOf(way.pack(m_weight.make({}).data<float>()), variant); });
        way.runPacked(in.data<float>(), weights, buffer.data<float>(), after);
    }
    return std::move(buffer).freeze();
}

Tensor ConvolutionMap::packed(const Tensor& t, WeightVariant variant, Direction direction,
                              const AfterProduct& after) const
{
    const reference::ConvolutionShape geometry = shapeOf(t.shape()[0]);
    const auto product = direction == Direction::Forward ? PointwiseConvolution::forward(geometry)
                                                         : PointwiseConvolution::transposed(geometry);
    if (product) {
        return pointwise(*product, t, variant, direction, after);
    }
    const WayKey key{direction, t.shape()[0], after.perColumn != nullptr};
    const onednn::PackedConvolution& walk = way(key);
    if (!walk.isValid()) {
        return {};
    }
    const Tensor weights = packedWeights(variant, key, walk);
    const Shape shape = shapeAfter(direction, key.samples);
    tensor::TensorBuffer buffer(t.dtype(), shape, tensor::channelsLastStrides(shape));
    const Tensor in = channelsLast(t);
    walk.run(in.data<float>(), weights, buffer.data<float>(), after.perColumn);
    finish(after.rows, buffer.data<float>(), tensor::elementCount(shape));
    return std::move(buffer).freeze();
}

Tensor ConvolutionMap::walk(const Tensor& t, WeightVariant variant, Direction direction) const
{
    const Shape shape = shapeAfter(direction, t.shape()[0]);
    if (t.size() == 0 || tensor::elementCount(shape) == 0 || tensor::elementCount(m_weight.shape()) == 0) {
        return Tensor::zeros(t.dtype(), shape);
    }
    if (variant.part == WeightPart::Ones) {
        return walkOnes(t, direction);
    }
    if (Tensor result = fastWalk(t, variant, direction); result.isValid()) {
        return result;
    }
    return referenceWalk(t, variant, direction);
}

/// Invalid: not in float32, or nothing faster than the reference knows this convolution.
Tensor ConvolutionMap::fastWalk(const Tensor& t, WeightVariant variant, Direction direction) const
{
    if (t.dtype() != tensor::DType::Float32 || reference::readsMostlyPadding(m_shape)) {
        return {};
    }
    Tensor sparse = direction == Direction::Transposed ? transposedSparse(t, variant) : Tensor();
    return sparse.isValid() ? sparse : packed(t, variant, direction);
}

Tensor ConvolutionMap::referenceWalk(const Tensor& t, WeightVariant variant, Direction direction) const
{
    const Shape shape = shapeAfter(direction, t.shape()[0]);
    const Tensor in = t.contiguous();
    const Tensor weight = m_weight.get(variant);
    tensor::TensorBuffer buffer(t.dtype(), shape);
    const reference::ConvolutionShape walked = shapeOf(t.shape()[0]);
    visitFloat(t.dtype(), [&](auto zero) {
        using T = decltype(zero);
        if (direction == Direction::Forward) {
            reference::convolve(walked, in.data<T>(), weight.data<T>(), buffer.data<T>());
        } else {
            reference::convolveTransposed(walked, in.data<T>(), weight.data<T>(), buffer.data<T>());
        }
    });
    return std::move(buffer).freeze();
}

Tensor ConvolutionMap::walkOnes(const Tensor& t, Direction direction) const
{
    const Shape shape = shapeAfter(direction, t.shape()[0]);
    const reference::ConvolutionShape walked = shapeOf(t.shape()[0]);
    tensor::TensorBuffer buffer(t.dtype(), shape, tensor::channelsLastStrides(shape));
    const Tensor in = channelsLast(t);
    visitFloat(t.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const reference::BoxSums<T> sums(walked);
        if (direction == Direction::Forward) {
            sums.convolve(in.data<T>(), buffer.data<T>());
        } else {
            sums.convolveTransposed(in.data<T>(), buffer.data<T>());
        }
    });
    return std::move(buffer).freeze();
}

namespace
{

constexpr std::int64_t kTogether = 16; // input channels that the library computes at once

} // namespace

ConvolutionMap::Stack ConvolutionMap::packSideBySide(std::span<const WeightVariant> variants) const
{
    reference::ConvolutionShape shape = m_shape;
    shape.channels *= static_cast<std::int64_t>(variants.size());
    const std::int64_t length = m_shape.channels * m_shape.taps(); // of one filter
    std::vector<float> weights(static_cast<std::size_t>(m_shape.filters * length) * variants.size());
    for (std::size_t v = 0; v < variants.size(); ++v) {
        const Tensor variant = m_weight.make(variants[v]);
        for (std::int64_t filter = 0; filter < m_shape.filters; ++filter) {
            const float* const from = variant.data<float>() + filter * length;
            const auto at =
                (filter * static_cast<std::int64_t>(variants.size()) + static_cast<std::int64_t>(v)) * length;
            std::copy(from, from + length, weights.begin() + at);
        }
    }
    onednn::PackedConvolution walk(shape, Direction::Transposed);
    Tensor packed = walk.isValid() ? walk.pack(weights.data()) : Tensor();
    return {std::move(walk), std::move(packed)};
}

std::vector<Tensor> ConvolutionMap::pulledBackApart(const Tensor& s, const Stack& stack, std::size_t count) const
{
    const Shape shape = shapeAfter(Direction::Transposed, m_shape.batch);
    std::vector<tensor::TensorBuffer> buffers;
    std::vector<float*> outs;
    for (std::size_t k = 0; k < count; ++k) {
        outs.push_back(buffers.emplace_back(s.dtype(), shape, tensor::channelsLastStrides(shape)).data<float>());
    }
    const Tensor in = channelsLast(s);
    stack.way.runApart(in.data<float>(), stack.weights, outs);
    std::vector<Tensor> parts;
    for (tensor::TensorBuffer& buffer : buffers) {
        parts.push_back(std::move(buffer).freeze());
    }
    return parts;
}

std::vector<Tensor> ConvolutionMap::pullbackAll(const Tensor& s, std::span<const WeightVariant> variants) const
{
    const auto count = static_cast<std::int64_t>(variants.size());
    const bool isStacked = count > 1 && m_direction == Direction::Forward && m_shape.groups == 1 &&
                           m_shape.channels * count <= kTogether && s.dtype() == tensor::DType::Float32 &&
                           s.size() > 0 && m_weight.isKept() && !reference::readsMostlyPadding(m_shape);
    if (isStacked) {
        std::vector<WeightVariant> key;
        std::ranges::transform(variants, std::back_inserter(key), WeightVariants::canonical);
        const Stack& stack = m_stacks.get(key, [&] { return packSideBySide(variants); });
        if (stack.way.isValid()) {
            return pulledBackApart(s, stack, variants.size());
        }
    }
    std::vector<Tensor> parts;
    for (const WeightVariant& variant : variants) {
        parts.push_back(pullback(s, variant));
    }
    return parts;
}

Tensor ConvolutionMap::apply(const Tensor& x, WeightVariant variant) const { return walk(x, variant, m_direction); }

Tensor ConvolutionMap::applyToConstant(std::span<const double> perChannel, WeightVariant variant) const
{
    const std::lock_guard lock(m_constantsMutex);
    OfConstant& kept = m_constants[WeightVariants::canonical(variant)];
    if (kept.result.isValid() && std::ranges::equal(kept.perChannel, perChannel)) {
        return kept.result;
    }
    const Shape shape = shapeAfter(m_direction == Direction::Forward ? Direction::Transposed : Direction::Forward, 1);
    Shape column(shape.size(), 1);
    column[1] = static_cast<std::int64_t>(perChannel.size());
    const Tensor values = Tensor::of<double>(std::move(column), perChannel).to(m_outputTypes[0].dtype);
    Tensor result = walk(algebra::broadcastTo(values, shape), variant, m_direction);
    if (m_weight.isKept()) {
        kept = {{perChannel.begin(), perChannel.end()}, result};
    }
    return result;
}

Tensor ConvolutionMap::pullback(const Tensor& s, WeightVariant variant) const
{
    return walk(s, variant, m_direction == Direction::Forward ? Direction::Transposed : Direction::Forward);
}

Tensor ConvolutionMap::forwardWithBias(const Tensor& x, const RowsOver* rows) const
{
    const bool isForOne = m_direction == Direction::Forward && hasBias() && x.dtype() == tensor::DType::Float32 &&
                          x.size() > 0 && tensor::elementCount(m_outputTypes[0].shape) > 0 &&
                          tensor::elementCount(m_weight.shape()) > 0 && !reference::readsMostlyPadding(m_shape);
    const Tensor bias = isForOne ? m_bias.get({}).contiguous() : Tensor();
    return isForOne && bias.size() == m_shape.groups * m_shape.filters
               ? packed(x, {}, m_direction, {bias.data<float>(), rows})
               : Tensor();
}

std::vector<Tensor> ConvolutionMap::forward(std::span<const Tensor> operands) const
{
    if (Tensor whole = forwardWithBias(operands[0], nullptr); whole.isValid()) {
        return {std::move(whole)};
    }
    Tensor z = apply(operands[0], {});
    return {hasBias() ? algebra::addOver(std::move(z), m_bias.get({})) : z};
}

Tensor ConvolutionMap::forwardThrough(std::span<Tensor> operands, const RowsOver& rows) const
{
    if (Tensor whole = forwardWithBias(operands[0], &rows); whole.isValid()) {
        return whole;
    }
    std::vector<Tensor> results = forward(operands);
    Tensor z = std::move(results.front());
    results.clear();
    float* const out = writable<float>(z);
    if (out == nullptr) {
        return {};
    }
    finish(&rows, out, z.size());
    return z;
}

} // namespace retro::ops
