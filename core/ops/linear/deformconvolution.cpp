// SPDX-License-Identifier: Apache-2.0
// Deformable convolution: a sampler, then weights; and the sampler alone, which relevance goes through by itself.
#include "core/ops/algebra.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/reference/window.h"
#include "core/ops/registry.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace retro::ops
{

namespace
{

/// Where the taps of a deformable convolution read, before offsets move them.
struct DeformGrid
{
    std::int64_t batch = 1;
    std::int64_t channels = 1; ///< of the image, all groups together
    std::int64_t offsetGroups = 1;
    reference::WindowAxis rows;
    reference::WindowAxis columns;

    [[nodiscard]] std::int64_t taps() const { return rows.kernel * columns.kernel; }
    [[nodiscard]] std::int64_t windows() const { return rows.windows * columns.windows; }
    [[nodiscard]] std::int64_t imageSize() const { return rows.image * columns.image; }
    [[nodiscard]] std::int64_t channelsPerOffset() const { return channels / offsetGroups; }
    /// Elements of one image's column matrix.
    [[nodiscard]] std::int64_t columnCount() const { return channels * taps() * windows(); }
};

/// Row-major data of an image batch × channels × height × width, of the offsets batch × 2·groups·taps × windows (y in
/// front of x), and of the mask batch × groups·taps × windows, which may be null.
template <class T>
struct DeformData
{
    const T* image = nullptr;
    const T* offsets = nullptr;
    const T* mask = nullptr;
};

enum class DeformOperand : std::uint8_t { Image, Offsets, Mask };

/// Reads an image at the positions that offsets give, by bilinear interpolation, times a mask; and the way back.
/// Outside the image there are zeros. The column matrix of an image is channels·taps × windows.
class DeformSampler
{
public:
    explicit DeformSampler(const DeformGrid& grid) : m_grid(grid) {}

    /// The column matrix of image n.
    template <class T>
    void read(const DeformData<T>& data, std::int64_t n, T* columns) const;
    /// Adds the gradient of Σ given · columns by one operand to `result`, which has the operand's layout.
    template <class T>
    void addBack(const DeformData<T>& data, std::int64_t n, const T* given, DeformOperand by, T* result) const;

private:
    struct Sample;
    void place(double y, double x, Sample& sample) const;
    template <class T, class F>
    void forEachSample(const T* offsets, std::int64_t n, const F& f) const;

    DeformGrid m_grid;
};

/// Where one tap of one window reads: its element of the offsets (y; x is `windows` behind), of the mask, the row of
/// the column matrix of its first channel, and the four elements around the position.
struct DeformSampler::Sample
{
    std::int64_t offsetAt = 0;
    std::int64_t maskAt = 0;
    std::int64_t firstChannel = 0;
    std::int64_t tap = 0;
    std::int64_t window = 0;
    std::array<std::int64_t, 4> at{-1, -1, -1, -1};
    std::array<double, 4> weights{};
    std::array<double, 4> slopesY{};
    std::array<double, 4> slopesX{};

    /// Element of the column matrix of channel number `c` from the first on.
    [[nodiscard]] std::int64_t columnAt(const DeformGrid& grid, std::int64_t c) const
    {
        return ((firstChannel + c) * grid.taps() + tap) * grid.windows() + window;
    }
    /// Σ coefficient · element over the corners that lie in the image.
    template <class T>
    [[nodiscard]] double blended(const T* image, const std::array<double, 4>& coefficients) const
    {
        double sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            sum += at[i] < 0 ? 0 : coefficients[i] * static_cast<double>(image[at[i]]);
        }
        return sum;
    }
    /// Adds `value` to the elements, by their weights.
    template <class T>
    void scatter(double value, T* image) const
    {
        for (std::size_t i = 0; i < 4; ++i) {
            if (at[i] >= 0) {
                image[at[i]] += static_cast<T>(weights[i] * value);
            }
        }
    }
};

void DeformSampler::place(double y, double x, Sample& sample) const
{
    const bool isNear =
        y > -1 && x > -1 && y < static_cast<double>(m_grid.rows.image) && x < static_cast<double>(m_grid.columns.image);
    if (!isNear) {
        sample.at.fill(-1);
        return;
    }
    const double top = std::floor(y);
    const double left = std::floor(x);
    for (std::size_t corner = 0; corner < 4; ++corner) {
        const auto isBottom = static_cast<std::int64_t>(corner / 2);
        const auto isRight = static_cast<std::int64_t>(corner % 2);
        const std::int64_t row = static_cast<std::int64_t>(top) + isBottom;
        const std::int64_t column = static_cast<std::int64_t>(left) + isRight;
        const double down = 1 - std::abs(y - static_cast<double>(row));
        const double across = 1 - std::abs(x - static_cast<double>(column));
        const bool isInside = m_grid.rows.contains(row) && m_grid.columns.contains(column);
        sample.at[corner] = isInside ? row * m_grid.columns.image + column : -1;
        sample.weights[corner] = down * across;
        sample.slopesY[corner] = static_cast<double>(2 * isBottom - 1) * across;
        sample.slopesX[corner] = static_cast<double>(2 * isRight - 1) * down;
    }
}

/// Calls f(sample) for every tap of every window and offset group of image n.
template <class T, class F>
void DeformSampler::forEachSample(const T* offsets, std::int64_t n, const F& f) const
{
    const std::int64_t windows = m_grid.windows();
    Sample sample;
    for (std::int64_t line = 0; line < m_grid.offsetGroups * m_grid.taps(); ++line) {
        sample.tap = line % m_grid.taps();
        sample.firstChannel = line / m_grid.taps() * m_grid.channelsPerOffset();
        for (sample.window = 0; sample.window < windows; ++sample.window) {
            const std::int64_t whole = n * m_grid.offsetGroups * m_grid.taps() + line;
            sample.offsetAt = 2 * whole * windows + sample.window;
            sample.maskAt = whole * windows + sample.window;
            const std::int64_t row =
                m_grid.rows.position(sample.window / m_grid.columns.windows, sample.tap / m_grid.columns.kernel);
            const std::int64_t column =
                m_grid.columns.position(sample.window % m_grid.columns.windows, sample.tap % m_grid.columns.kernel);
            place(static_cast<double>(row) + static_cast<double>(offsets[sample.offsetAt]),
                  static_cast<double>(column) + static_cast<double>(offsets[sample.offsetAt + windows]), sample);
            f(sample);
        }
    }
}

template <class T>
void DeformSampler::read(const DeformData<T>& data, std::int64_t n, T* columns) const
{
    const T* image = data.image + n * m_grid.channels * m_grid.imageSize();
    forEachSample(data.offsets, n, [&](const Sample& sample) {
        const double factor = data.mask == nullptr ? 1 : static_cast<double>(data.mask[sample.maskAt]);
        for (std::int64_t c = 0; c < m_grid.channelsPerOffset(); ++c) {
            const T* plane = image + (sample.firstChannel + c) * m_grid.imageSize();
            columns[sample.columnAt(m_grid, c)] = static_cast<T>(factor * sample.blended(plane, sample.weights));
        }
    });
}

template <class T>
void DeformSampler::addBack(const DeformData<T>& data, std::int64_t n, const T* given, DeformOperand by,
                            T* result) const
{
    const std::int64_t imageAt = n * m_grid.channels * m_grid.imageSize();
    const T* image = data.image + imageAt;
    forEachSample(data.offsets, n, [&](const Sample& sample) {
        const double factor = data.mask == nullptr ? 1 : static_cast<double>(data.mask[sample.maskAt]);
        for (std::int64_t c = 0; c < m_grid.channelsPerOffset(); ++c) {
            const std::int64_t plane = (sample.firstChannel + c) * m_grid.imageSize();
            const auto arriving = static_cast<double>(given[sample.columnAt(m_grid, c)]);
            if (by == DeformOperand::Image) {
                sample.scatter(arriving * factor, result + imageAt + plane);
            } else if (by == DeformOperand::Mask) {
                result[sample.maskAt] += static_cast<T>(arriving * sample.blended(image + plane, sample.weights));
            } else {
                const double s = arriving * factor;
                result[sample.offsetAt] += static_cast<T>(s * sample.blended(image + plane, sample.slopesY));
                result[sample.offsetAt + m_grid.windows()] +=
                    static_cast<T>(s * sample.blended(image + plane, sample.slopesX));
            }
        }
    });
}

using tensor::Shape;

struct DeformSlot
{
    enum : std::size_t { kImage, kWeight, kOffset, kBias, kMask };
};

/// Weights of windows as those of windows of one point.
Shape asPoints(const Shape& weight) { return {weight[0], weight[1] * weight[2] * weight[3], 1, 1}; }

/// What the taps of a deformable convolution read: image (operand 0), offsets (1) and perhaps mask (2) become
/// batch × channels·taps × windows, the taps of a channel one after the other. Linear in the image with weights that
/// are not negative but for the mask's sign.
class DeformSample final : public Operator<Differentiable>
{
public:
    DeformSample(TensorType output, const DeformGrid& grid, std::vector<Shape> operands)
        : Operator(std::move(output)), m_grid(grid), m_sampler(grid), m_operands(std::move(operands))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const std::vector<Tensor> own = contiguousSlots(operands, 5);
        return {filled(m_outputTypes[0].dtype, m_outputTypes[0].shape, [&](auto* out) {
            for (std::int64_t n = 0; n < m_grid.batch; ++n) {
                m_sampler.read(dataOf(own, out), n, out + n * m_grid.columnCount());
            }
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor gradient = s[0].contiguous();
        const std::vector<Tensor> own = contiguousSlots(operands, 5);
        return accumulated(gradient.dtype(), m_operands[slot], [&](auto* r) {
            for (std::int64_t n = 0; n < m_grid.batch; ++n) {
                const auto* given = elements(gradient, r) + n * m_grid.columnCount();
                m_sampler.addBack(dataOf(own, r), n, given, static_cast<DeformOperand>(slot), r);
            }
        });
    }
    [[nodiscard]] double flops() const override
    {
        return 8.0 * static_cast<double>(m_grid.batch * m_grid.columnCount());
    }

private:
    template <class T>
    static DeformData<T> dataOf(const std::vector<Tensor>& operands, const T* like)
    {
        return {elements(operands[0], like), elements(operands[1], like), elements(operands[2], like)};
    }

    DeformGrid m_grid;
    DeformSampler m_sampler;
    std::vector<Shape> m_operands; // per slot
};

/// Convolution whose taps read where offsets (operand 2) move them, each weighted by a mask (operand 4): what they
/// read, then a convolution whose windows are that.
class DeformConvolution final : public Operator<Composed>
{
public:
    DeformConvolution(TensorType output, DeformSample sample, std::unique_ptr<BoundOperator> layer, Shape weight)
        : Operator(std::move(output)), m_sample(std::move(sample)), m_layer(std::move(layer)),
          m_weight(std::move(weight))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return m_layer->forward(layerOperands(operands));
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const std::size_t inLayer = slot == DeformSlot::kWeight ? 1 : slot == DeformSlot::kBias ? 2 : 0;
        const auto& layer = dynamic_cast<const Differentiable&>(m_layer->structure());
        const Tensor part = layer.pullback(s, layerOperands(operands), {}, inLayer);
        if (inLayer != 0) {
            return inLayer == 1 ? part.contiguous().reshaped(m_weight) : part;
        }
        const std::size_t inSample = slot == DeformSlot::kImage ? 0 : slot == DeformSlot::kOffset ? 1 : 2;
        return m_sample.pullback({&part, 1}, sampleOperands(operands), {}, inSample);
    }
    [[nodiscard]] double flops() const override { return m_layer->flops(); }

private:
    static std::vector<Tensor> sampleOperands(std::span<const Tensor> operands)
    {
        const bool hasMask = operands.size() > DeformSlot::kMask;
        return {operands[DeformSlot::kImage], operands[DeformSlot::kOffset],
                hasMask ? operands[DeformSlot::kMask] : Tensor()};
    }
    [[nodiscard]] std::vector<Tensor> layerOperands(std::span<const Tensor> operands) const
    {
        const Tensor weight = operands[DeformSlot::kWeight].contiguous();
        const bool hasBias = operands.size() > DeformSlot::kBias;
        return {m_sample.forward(sampleOperands(operands))[0], weight.reshaped(asPoints(m_weight)),
                hasBias ? operands[DeformSlot::kBias] : Tensor()};
    }

    DeformSample m_sample;
    std::unique_ptr<BoundOperator> m_layer;
    Shape m_weight;
};

base::Result<DeformGrid> gridOf(const BindContext& context, const std::vector<std::int64_t>& kernel)
{
    const Shape& x = firstType(context).shape;
    RETRO_TRY(const auto axes, windowsOver(context, kernel));
    if (axes.size() != 2) {
        return context.error("an image batch × channels × height × width is needed; other ranks are not supported");
    }
    const std::int64_t offsetGroups = context.intAttribute("offset_group", 1);
    if (offsetGroups < 1 || x[1] % offsetGroups != 0) {
        return context.error(fmt::format("{} channels cannot be shared among {} offset groups", x[1], offsetGroups));
    }
    return DeformGrid{x[0], x[1], offsetGroups, axes[0], axes[1]};
}

base::Result<void> expectShape(const BindContext& context, std::size_t slot, const Shape& wanted)
{
    if (context.present(slot) && context.operandTypes[slot].shape != wanted) {
        return context.error(fmt::format("operand {} must have the shape [{}]", slot, tensor::toText(wanted)));
    }
    return {};
}

/// What the taps read of operand 0, where offsets and mask fit the grid.
base::Result<DeformSample> sampleOf(const BindContext& context, const DeformGrid& grid, std::size_t offsets,
                                    std::size_t mask)
{
    const auto lines = [&grid](std::int64_t count) {
        return Shape{grid.batch, count, grid.rows.windows, grid.columns.windows};
    };
    const std::int64_t moved = grid.offsetGroups * grid.taps();
    RETRO_CHECK(expectShape(context, offsets, lines(2 * moved)));
    RETRO_CHECK(expectShape(context, mask, lines(moved)));
    Shape output = lines(grid.channels * grid.taps());
    RETRO_CHECK(expectSize(context, output));
    const tensor::DType type = firstType(context).dtype;
    return DeformSample({type, std::move(output)}, grid, {firstType(context).shape, lines(2 * moved), lines(moved)});
}

base::Result<std::vector<std::int64_t>> kernelOf(const BindContext& context)
{
    const Shape& x = firstType(context).shape;
    const Shape& w = context.operandTypes[DeformSlot::kWeight].shape;
    if (x.size() != 4 || w.size() != 4) {
        return context.error("an image batch × channels × height × width and weights of rank 4 are needed; other ranks "
                             "are not supported");
    }
    const std::vector<std::int64_t> own{w[2], w[3]};
    if (context.intsAttribute("kernel_shape", own) != own) {
        return context.error("kernel_shape does not agree with the shape of the weights");
    }
    const std::int64_t groups = context.intAttribute("group", 1);
    if (groups < 1 || w[0] % groups != 0 || x[1] != w[1] * groups) {
        return context.error(fmt::format("{} channels, weights for {} × {} and {} groups do not fit together", x[1],
                                         w[0], w[1], groups));
    }
    return own;
}

BoundResult bindDeformConv(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_TRY(const std::vector<std::int64_t> kernel, kernelOf(context));
    RETRO_TRY(const DeformGrid grid, gridOf(context, kernel));
    const Shape& weight = context.operandTypes[DeformSlot::kWeight].shape;
    RETRO_CHECK(expectShape(context, DeformSlot::kBias, Shape{weight[0]}));
    RETRO_TRY(DeformSample sample, sampleOf(context, grid, DeformSlot::kOffset, DeformSlot::kMask));
    graph::Node node = context.node;
    node.op = "Conv";
    node.attributes = {{"group", context.intAttribute("group", 1)}};
    node.inputs = {context.node.inputs[DeformSlot::kImage], context.node.inputs[DeformSlot::kWeight]};
    std::vector<TensorType> types{sample.outputTypes()[0], {firstType(context).dtype, asPoints(weight)}};
    if (context.present(DeformSlot::kBias)) {
        node.inputs.push_back(context.node.inputs[DeformSlot::kBias]);
        types.push_back(context.operandTypes[DeformSlot::kBias]);
    }
    const std::vector<Tensor> constants(types.size()); // none: the gradient of all operands is asked for
    RETRO_TRY(auto layer, bind({context.graph, context.id, node, types, constants, context.floatType, context.source}));
    TensorType output = layer->outputTypes()[0];
    return bound<DeformConvolution>(std::move(output), std::move(sample), std::move(layer), weight);
}

BoundResult bindDeformSample(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const std::vector<std::int64_t> kernel = context.intsAttribute("kernel_shape", {});
    if (firstType(context).shape.size() != 4 || kernel.size() != 2) {
        return context.error("an image batch × channels × height × width and a kernel_shape of two are needed");
    }
    RETRO_TRY(const DeformGrid grid, gridOf(context, kernel));
    RETRO_TRY(DeformSample sample, sampleOf(context, grid, 1, 2));
    return bound<DeformSample>(std::move(sample));
}

} // namespace

const OperatorFamily kDeformConvolutionOperators{
    {"", "DeformConv", 19, 0, "composed", true, bindDeformConv},
    {"retrograde", "DeformSample", 1, 0, "function", true, bindDeformSample},
};

} // namespace retro::ops
