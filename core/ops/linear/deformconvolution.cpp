// SPDX-License-Identifier: Apache-2.0
// Deformable convolution: a sampler, then weights; and the sampler alone, which relevance goes through by itself.
#include "core/ops/algebra.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/reference/matrix.h"
#include "core/ops/reference/window.h"

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

using reference::MatrixView;
using tensor::Shape;

struct DeformSlot
{
    enum : std::size_t { kImage, kWeight, kOffset, kBias, kMask };
};

/// Convolution whose taps read where offsets (operand 2) move them, each weighted by a mask (operand 4).
class DeformConvolution final : public Operator<Composed>
{
public:
    DeformConvolution(TensorType output, const DeformGrid& grid, std::int64_t groups, std::vector<Shape> operands)
        : Operator(std::move(output)), m_grid(grid), m_sampler(grid), m_groups(groups),
          m_filters(operands[DeformSlot::kWeight][0] / groups), m_operands(std::move(operands))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const std::vector<Tensor> own = contiguousSlots(operands, 5);
        const Tensor z = filled(m_outputTypes[0].dtype, m_outputTypes[0].shape, [&](auto* out) {
            for (std::int64_t n = 0; n < m_grid.batch; ++n) {
                multiplyGroups(own, columnsOf(own, n, out), n, out);
            }
        });
        return {
            own[DeformSlot::kBias].isValid()
                ? algebra::addBroadcast(z, own[DeformSlot::kBias].reshaped({1, own[DeformSlot::kBias].size(), 1, 1}))
                : z};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor gradient = s[0].contiguous();
        if (slot == DeformSlot::kBias) {
            const std::int64_t channels = gradient.shape()[1];
            return algebra::reduceTo(gradient, {1, channels, 1, 1}).contiguous().reshaped({channels});
        }
        const std::vector<Tensor> own = contiguousSlots(operands, 5);
        return slot == DeformSlot::kWeight ? weightGradient(gradient, own) : sampleGradient(gradient, own, slot);
    }
    [[nodiscard]] double flops() const override
    {
        return 2.0 * static_cast<double>(m_grid.batch * m_filters) * static_cast<double>(m_grid.columnCount());
    }

private:
    [[nodiscard]] Tensor weightGradient(const Tensor& gradient, const std::vector<Tensor>& own) const
    {
        return accumulated(gradient.dtype(), m_operands[DeformSlot::kWeight], [&](auto* r) {
            for (std::int64_t n = 0; n < m_grid.batch; ++n) {
                addWeights(columnsOf(own, n, r), elements(gradient, r), n, r);
            }
        });
    }

    /// By the image, the mask or the offsets.
    [[nodiscard]] Tensor sampleGradient(const Tensor& gradient, const std::vector<Tensor>& own, std::size_t slot) const
    {
        const DeformOperand other = slot == DeformSlot::kMask ? DeformOperand::Mask : DeformOperand::Offsets;
        const DeformOperand by = slot == DeformSlot::kImage ? DeformOperand::Image : other;
        return accumulated(gradient.dtype(), m_operands[slot], [&](auto* r) {
            for (std::int64_t n = 0; n < m_grid.batch; ++n) {
                const auto columns = columnGradient(own, elements(gradient, r), n);
                m_sampler.addBack(dataOf(own, r), n, columns.data(), by, r);
            }
        });
    }

    /// Rows of the column matrix of one group.
    [[nodiscard]] std::int64_t depth() const { return m_grid.channels / m_groups * m_grid.taps(); }

    template <class T>
    static DeformData<T> dataOf(const std::vector<Tensor>& operands, const T* like)
    {
        return {elements(operands[DeformSlot::kImage], like), elements(operands[DeformSlot::kOffset], like),
                elements(operands[DeformSlot::kMask], like)};
    }
    template <class T>
    [[nodiscard]] std::vector<T> columnsOf(const std::vector<Tensor>& operands, std::int64_t n, const T* like) const
    {
        std::vector<T> columns(static_cast<std::size_t>(m_grid.columnCount()));
        m_sampler.read(dataOf(operands, like), n, columns.data());
        return columns;
    }

    template <class T>
    void multiplyGroups(const std::vector<Tensor>& operands, const std::vector<T>& columns, std::int64_t n, T* z) const
    {
        const std::int64_t windows = m_grid.windows();
        for (std::int64_t g = 0; g < m_groups; ++g) {
            const T* weights = elements(operands[DeformSlot::kWeight], z) + g * m_filters * depth();
            reference::multiply(MatrixView<T>{weights, m_filters, depth(), depth(), 1},
                                MatrixView<T>{columns.data() + g * depth() * windows, depth(), windows, windows, 1},
                                z + (n * m_groups + g) * m_filters * windows, windows);
        }
    }

    template <class T>
    void addWeights(const std::vector<T>& columns, const T* gradient, std::int64_t n, T* r) const
    {
        const std::int64_t windows = m_grid.windows();
        std::vector<T> product(static_cast<std::size_t>(m_filters * depth()));
        for (std::int64_t g = 0; g < m_groups; ++g) {
            const T* own = gradient + (n * m_groups + g) * m_filters * windows;
            reference::multiply(MatrixView<T>{own, m_filters, windows, windows, 1},
                                MatrixView<T>{columns.data() + g * depth() * windows, windows, depth(), 1, windows},
                                product.data(), depth());
            for (std::size_t i = 0; i < product.size(); ++i) {
                r[g * m_filters * depth() + static_cast<std::int64_t>(i)] += product[i];
            }
        }
    }

    template <class T>
    [[nodiscard]] std::vector<T> columnGradient(const std::vector<Tensor>& operands, const T* gradient,
                                                std::int64_t n) const
    {
        const std::int64_t windows = m_grid.windows();
        std::vector<T> columns(static_cast<std::size_t>(m_grid.columnCount()));
        for (std::int64_t g = 0; g < m_groups; ++g) {
            const T* weights = elements(operands[DeformSlot::kWeight], gradient) + g * m_filters * depth();
            const T* own = gradient + (n * m_groups + g) * m_filters * windows;
            reference::multiply(MatrixView<T>{weights, depth(), m_filters, 1, depth()},
                                MatrixView<T>{own, m_filters, windows, windows, 1},
                                columns.data() + g * depth() * windows, windows);
        }
        return columns;
    }

    DeformGrid m_grid;
    DeformSampler m_sampler;
    std::int64_t m_groups;
    std::int64_t m_filters;        // per group
    std::vector<Shape> m_operands; // per slot
};

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

/// Offsets and mask fit the grid.
base::Result<void> expectMoves(const BindContext& context, const DeformGrid& grid, std::size_t offsets,
                               std::size_t mask)
{
    const std::int64_t lines = grid.offsetGroups * grid.taps();
    RETRO_CHECK(expectShape(context, offsets, Shape{grid.batch, 2 * lines, grid.rows.windows, grid.columns.windows}));
    return expectShape(context, mask, Shape{grid.batch, lines, grid.rows.windows, grid.columns.windows});
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
    const std::int64_t filters = context.operandTypes[DeformSlot::kWeight].shape[0];
    RETRO_CHECK(expectMoves(context, grid, DeformSlot::kOffset, DeformSlot::kMask));
    RETRO_CHECK(expectShape(context, DeformSlot::kBias, Shape{filters}));
    Shape output{grid.batch, filters, grid.rows.windows, grid.columns.windows};
    RETRO_CHECK(expectSize(context, output));
    return bound<DeformConvolution>(TensorType{firstType(context).dtype, std::move(output)}, grid,
                                    context.intAttribute("group", 1), operandShapes(context));
}

BoundResult bindDeformSample(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const std::vector<std::int64_t> kernel = context.intsAttribute("kernel_shape", {});
    if (firstType(context).shape.size() != 4 || kernel.size() != 2) {
        return context.error("an image batch × channels × height × width and a kernel_shape of two are needed");
    }
    RETRO_TRY(const DeformGrid grid, gridOf(context, kernel));
    RETRO_CHECK(expectMoves(context, grid, 1, 2));
    Shape output{grid.batch, grid.channels * grid.taps(), grid.rows.windows, grid.columns.windows};
    RETRO_CHECK(expectSize(context, output));
    return bound<DeformSample>(TensorType{firstType(context).dtype, std::move(output)}, grid, operandShapes(context));
}

} // namespace

const OperatorFamily kDeformConvolutionOperators{
    {"", "DeformConv", 19, 0, "composed", true, bindDeformConv},
    {"retrograde", "DeformSample", 1, 0, "function", true, bindDeformSample},
};

} // namespace retro::ops
