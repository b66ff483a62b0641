// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/bind/windows.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/reference/matrix.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace retro::ops
{

namespace
{

using reference::MatrixView;
using reference::WindowAxis;
using tensor::Shape;

enum Slot : std::size_t { kImage, kWeight, kOffset, kBias, kMask };

/// A DeformConv with all extents known.
struct DeformForm
{
    std::int64_t batch = 1;
    std::int64_t groups = 1;
    std::int64_t channels = 1; ///< of the image, per group
    std::int64_t filters = 1;  ///< per group
    std::int64_t offsetGroups = 1;
    WindowAxis rows;
    WindowAxis columns;

    [[nodiscard]] std::int64_t taps() const { return rows.kernel * columns.kernel; }
    [[nodiscard]] std::int64_t windows() const { return rows.windows * columns.windows; }
    [[nodiscard]] std::int64_t imageSize() const { return rows.image * columns.image; }
    [[nodiscard]] std::int64_t allChannels() const { return groups * channels; }
    [[nodiscard]] std::int64_t channelsPerOffset() const { return allChannels() / offsetGroups; }
};

/// Where one tap of one window reads: its element of the offsets (y; x is `windows` behind), of the mask, the row of
/// the column matrix of its first channel, and the four elements around the position.
struct Sample
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
};

void placeSample(const DeformForm& form, double y, double x, Sample& sample)
{
    const bool isNear =
        y > -1 && x > -1 && y < static_cast<double>(form.rows.image) && x < static_cast<double>(form.columns.image);
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
        const bool isInside = form.rows.contains(row) && form.columns.contains(column);
        sample.at[corner] = isInside ? row * form.columns.image + column : -1;
        sample.weights[corner] = down * across;
        sample.slopesY[corner] = static_cast<double>(2 * isBottom - 1) * across;
        sample.slopesX[corner] = static_cast<double>(2 * isRight - 1) * down;
    }
}

/// Σ coefficient · element over the corners that lie in the image.
template <class T>
double blended(const T* image, const Sample& sample, const std::array<double, 4>& coefficients)
{
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        sum += sample.at[i] < 0 ? 0 : coefficients[i] * static_cast<double>(image[sample.at[i]]);
    }
    return sum;
}

/// Convolution whose taps read where offsets (operand 2) move them, each weighted by a mask (operand 4).
class DeformConvolution final : public Operator<Composed>
{
public:
    DeformConvolution(TensorType output, const DeformForm& form, std::vector<Shape> operands)
        : Operator(std::move(output)), m_form(form), m_operands(std::move(operands))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const std::vector<Tensor> own = contiguousAll(operands);
        const Tensor z = filled(m_outputTypes[0].dtype, m_outputTypes[0].shape, [&](auto* out) {
            for (std::int64_t n = 0; n < m_form.batch; ++n) {
                multiplyGroups(own, columnsOf(own, n, out), n, out);
            }
        });
        return {own[kBias].isValid() ? algebra::addBroadcast(z, own[kBias].reshaped({1, own[kBias].size(), 1, 1})) : z};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor gradient = s[0].contiguous();
        if (slot == kBias) {
            const std::int64_t channels = gradient.shape()[1];
            return algebra::reduceTo(gradient, {1, channels, 1, 1}).contiguous().reshaped({channels});
        }
        const std::vector<Tensor> own = contiguousAll(operands);
        return accumulated(gradient.dtype(), m_operands[slot], [&](auto* r) {
            for (std::int64_t n = 0; n < m_form.batch; ++n) {
                if (slot == kWeight) {
                    addWeights(columnsOf(own, n, r), elements(gradient, r), n, r);
                } else {
                    addThroughColumns(own, columnGradient(own, elements(gradient, r), n), n, slot, r);
                }
            }
        });
    }
    [[nodiscard]] double flops() const override
    {
        return 2.0 * static_cast<double>(m_form.batch * m_form.groups * m_form.filters) *
               static_cast<double>(m_form.channels * m_form.taps() * m_form.windows());
    }

private:
    static std::vector<Tensor> contiguousAll(std::span<const Tensor> operands)
    {
        std::vector<Tensor> result;
        for (const Tensor& t : operands) {
            result.push_back(t.isValid() ? t.contiguous() : t);
        }
        result.resize(5);
        return result;
    }
    [[nodiscard]] std::size_t columnCount() const
    {
        return static_cast<std::size_t>(m_form.allChannels() * m_form.taps() * m_form.windows());
    }
    /// Element of the column matrix of a sample's channel number `c`.
    [[nodiscard]] std::size_t columnAt(const Sample& sample, std::int64_t c) const
    {
        return static_cast<std::size_t>(((sample.firstChannel + c) * m_form.taps() + sample.tap) * m_form.windows() +
                                        sample.window);
    }

    /// Calls f(sample) for every tap of every window and offset group of image n.
    template <class T, class F>
    void forEachSample(const T* offsets, std::int64_t n, const F& f) const
    {
        const std::int64_t windows = m_form.windows();
        Sample sample;
        for (std::int64_t line = 0; line < m_form.offsetGroups * m_form.taps(); ++line) {
            sample.tap = line % m_form.taps();
            sample.firstChannel = line / m_form.taps() * m_form.channelsPerOffset();
            for (sample.window = 0; sample.window < windows; ++sample.window) {
                const std::int64_t whole = n * m_form.offsetGroups * m_form.taps() + line;
                sample.offsetAt = 2 * whole * windows + sample.window;
                sample.maskAt = whole * windows + sample.window;
                const std::int64_t row =
                    m_form.rows.position(sample.window / m_form.columns.windows, sample.tap / m_form.columns.kernel);
                const std::int64_t column =
                    m_form.columns.position(sample.window % m_form.columns.windows, sample.tap % m_form.columns.kernel);
                placeSample(m_form, static_cast<double>(row) + static_cast<double>(offsets[sample.offsetAt]),
                            static_cast<double>(column) + static_cast<double>(offsets[sample.offsetAt + windows]),
                            sample);
                f(sample);
            }
        }
    }

    /// What every tap reads, times the mask: channels·taps × windows.
    template <class T>
    [[nodiscard]] std::vector<T> columnsOf(const std::vector<Tensor>& operands, std::int64_t n, const T* like) const
    {
        const T* image = elements(operands[kImage], like) + n * m_form.allChannels() * m_form.imageSize();
        const T* mask = elements(operands[kMask], like);
        std::vector<T> columns(columnCount());
        forEachSample(elements(operands[kOffset], like), n, [&](const Sample& sample) {
            const double factor = mask == nullptr ? 1 : static_cast<double>(mask[sample.maskAt]);
            for (std::int64_t c = 0; c < m_form.channelsPerOffset(); ++c) {
                const T* plane = image + (sample.firstChannel + c) * m_form.imageSize();
                columns[columnAt(sample, c)] = static_cast<T>(factor * blended(plane, sample, sample.weights));
            }
        });
        return columns;
    }

    template <class T>
    void multiplyGroups(const std::vector<Tensor>& operands, const std::vector<T>& columns, std::int64_t n, T* z) const
    {
        const std::int64_t depth = m_form.channels * m_form.taps();
        const std::int64_t windows = m_form.windows();
        for (std::int64_t g = 0; g < m_form.groups; ++g) {
            const T* weights = elements(operands[kWeight], z) + g * m_form.filters * depth;
            reference::multiply(MatrixView<T>{weights, m_form.filters, depth, depth, 1},
                                MatrixView<T>{columns.data() + g * depth * windows, depth, windows, windows, 1},
                                z + (n * m_form.groups + g) * m_form.filters * windows, windows);
        }
    }

    template <class T>
    void addWeights(const std::vector<T>& columns, const T* gradient, std::int64_t n, T* r) const
    {
        const std::int64_t depth = m_form.channels * m_form.taps();
        const std::int64_t windows = m_form.windows();
        std::vector<T> product(static_cast<std::size_t>(m_form.filters * depth));
        for (std::int64_t g = 0; g < m_form.groups; ++g) {
            const T* own = gradient + (n * m_form.groups + g) * m_form.filters * windows;
            reference::multiply(MatrixView<T>{own, m_form.filters, windows, windows, 1},
                                MatrixView<T>{columns.data() + g * depth * windows, windows, depth, 1, windows},
                                product.data(), depth);
            for (std::size_t i = 0; i < product.size(); ++i) {
                r[g * m_form.filters * depth + static_cast<std::int64_t>(i)] += product[i];
            }
        }
    }

    template <class T>
    [[nodiscard]] std::vector<T> columnGradient(const std::vector<Tensor>& operands, const T* gradient,
                                                std::int64_t n) const
    {
        const std::int64_t depth = m_form.channels * m_form.taps();
        const std::int64_t windows = m_form.windows();
        std::vector<T> columns(columnCount());
        for (std::int64_t g = 0; g < m_form.groups; ++g) {
            const T* weights = elements(operands[kWeight], gradient) + g * m_form.filters * depth;
            const T* own = gradient + (n * m_form.groups + g) * m_form.filters * windows;
            reference::multiply(MatrixView<T>{weights, depth, m_form.filters, 1, depth},
                                MatrixView<T>{own, m_form.filters, windows, windows, 1},
                                columns.data() + g * depth * windows, windows);
        }
        return columns;
    }

    /// Adds to the gradient of the image, the offsets or the mask.
    template <class T>
    void addThroughColumns(const std::vector<Tensor>& operands, const std::vector<T>& columns, std::int64_t n,
                           std::size_t slot, T* r) const
    {
        const T* like = r;
        const std::int64_t imageAt = n * m_form.allChannels() * m_form.imageSize();
        const T* image = elements(operands[kImage], like) + imageAt;
        const T* mask = elements(operands[kMask], like);
        forEachSample(elements(operands[kOffset], like), n, [&](const Sample& sample) {
            const double factor = mask == nullptr ? 1 : static_cast<double>(mask[sample.maskAt]);
            for (std::int64_t c = 0; c < m_form.channelsPerOffset(); ++c) {
                const std::int64_t plane = (sample.firstChannel + c) * m_form.imageSize();
                const auto given = static_cast<double>(columns[columnAt(sample, c)]);
                if (slot == kImage) {
                    scatter(sample, given * factor, r + imageAt + plane);
                } else if (slot == kMask) {
                    r[sample.maskAt] += static_cast<T>(given * blended(image + plane, sample, sample.weights));
                } else {
                    r[sample.offsetAt] +=
                        static_cast<T>(given * factor * blended(image + plane, sample, sample.slopesY));
                    r[sample.offsetAt + m_form.windows()] +=
                        static_cast<T>(given * factor * blended(image + plane, sample, sample.slopesX));
                }
            }
        });
    }

    template <class T>
    static void scatter(const Sample& sample, double value, T* plane)
    {
        for (std::size_t i = 0; i < 4; ++i) {
            if (sample.at[i] >= 0) {
                plane[sample.at[i]] += static_cast<T>(sample.weights[i] * value);
            }
        }
    }

    DeformForm m_form;
    std::vector<Shape> m_operands; // per slot
};

base::Result<DeformForm> formOf(const BindContext& context)
{
    const Shape& x = firstType(context).shape;
    const Shape& w = context.operandTypes[kWeight].shape;
    if (x.size() != 4 || w.size() != 4) {
        return context.error("an image batch × channels × height × width and weights of rank 4 are needed; other ranks "
                             "are not supported");
    }
    const std::vector<std::int64_t> kernel = context.intsAttribute("kernel_shape", {w[2], w[3]});
    if (kernel != std::vector<std::int64_t>{w[2], w[3]}) {
        return context.error("kernel_shape does not agree with the shape of the weights");
    }
    RETRO_TRY(const auto axes, windowsOver(context, kernel));
    DeformForm form;
    form.batch = x[0];
    form.groups = context.intAttribute("group", 1);
    form.offsetGroups = context.intAttribute("offset_group", 1);
    form.channels = w[1];
    form.rows = axes[0];
    form.columns = axes[1];
    if (form.groups < 1 || form.offsetGroups < 1 || w[0] % form.groups != 0 || x[1] != w[1] * form.groups ||
        x[1] % form.offsetGroups != 0) {
        return context.error(fmt::format("{} channels, weights for {} × {}, {} groups and {} offset groups do not fit "
                                         "together",
                                         x[1], w[0], w[1], form.groups, form.offsetGroups));
    }
    form.filters = w[0] / form.groups;
    return form;
}

base::Result<void> expectShapes(const BindContext& context, const DeformForm& form)
{
    const std::int64_t lines = form.offsetGroups * form.taps();
    const std::array<Shape, 5> wanted{firstType(context).shape, context.operandTypes[kWeight].shape,
                                      Shape{form.batch, 2 * lines, form.rows.windows, form.columns.windows},
                                      Shape{form.groups * form.filters},
                                      Shape{form.batch, lines, form.rows.windows, form.columns.windows}};
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        if (context.present(slot) && context.operandTypes[slot].shape != wanted[slot]) {
            return context.error(
                fmt::format("operand {} must have the shape [{}]", slot, tensor::toText(wanted[slot])));
        }
    }
    return {};
}

BoundResult bindDeformConv(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = 3,
                                 .most = 5,
                                 .types = OperandTypes::Floats,
                                 .attributes = {{"kernel_shape", AttributeKind::Ints},
                                                {"group", AttributeKind::Int},
                                                {"offset_group", AttributeKind::Int}}}));
    RETRO_TRY(const DeformForm form, formOf(context));
    RETRO_CHECK(expectShapes(context, form));
    std::vector<Shape> shapes;
    for (const TensorType& type : context.operandTypes) {
        shapes.push_back(type.shape);
    }
    Shape output{form.batch, form.groups * form.filters, form.rows.windows, form.columns.windows};
    RETRO_CHECK(expectSize(context, output));
    return bound<DeformConvolution>(TensorType{firstType(context).dtype, std::move(output)}, form, std::move(shapes));
}

} // namespace

std::span<const OperatorDeclaration> deformConvolutionDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "DeformConv", 19, 0, "composed", true, bindDeformConv},
    };
    return kDeclarations;
}

} // namespace retro::ops
