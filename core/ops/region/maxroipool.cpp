// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/pickedplaces.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Elements [begin, end) of an axis.
struct Cells
{
    std::int64_t begin;
    std::int64_t end;
};

/// Bin `i` of `bins` between two corners, cut to the image. In float32, as onnxruntime computes it: corners and bins
/// are rounded to whole elements.
Cells cellsOf(double from, double to, double scale, std::int64_t i, std::int64_t bins, std::int64_t extent)
{
    const auto corner = [scale](double at) { return std::round(static_cast<float>(at) * static_cast<float>(scale)); };
    const float first = corner(from);
    const float length = std::max(corner(to) - first + 1, 1.0F) / static_cast<float>(bins);
    const auto cut = [extent](float v) {
        return v >= 0 ? static_cast<std::int64_t>(std::min(v, static_cast<float>(extent))) : 0; // NaN: 0
    };
    return {cut(first + std::floor(static_cast<float>(i) * length)),
            cut(first + std::ceil(static_cast<float>(i + 1) * length))};
}

/// The largest element of each bin of each region; 0 for a bin outside the image. Each result element is one operand
/// element, which the regions (operand 1) and the values decide.
class MaxRoiPool final : public Operator<ShapeMap>, public PickedPlaces
{
public:
    MaxRoiPool(TensorType output, Shape image, Shape rois, double scale)
        : Operator(std::move(output)), m_image(std::move(image)), m_rois(std::move(rois)), m_scale(scale)
    {}

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        for (std::int64_t n = 0; n < m_rois[0]; ++n) {
            const double image = operands[1].at(5 * n);
            if (!(image >= 0 && image < static_cast<double>(m_image[0]))) {
                return base::inputError(
                    fmt::format("batch index {} is outside a batch of {} images", image, m_image[0]));
            }
        }
        return algebra::allFinite(operands[1])
                   ? base::Result<void>()
                   : base::inputError("a region (operand 1) has a number that is not finite");
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = operands[0].contiguous();
        return {accumulated(x.dtype(), m_outputTypes[0].shape, [&](auto* y) {
            const auto* in = elements(x, y);
            forEachWinner(in, operands[1], [&](std::int64_t bin, std::int64_t winner) { y[bin] = in[winner]; });
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] bool isSteered() const override { return true; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor>, std::size_t slot) const override
    {
        return Tensor::zeros(m_outputTypes[0].dtype, slot == 0 ? m_image : m_rois); // never asked: it is steered
    }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override
    {
        const Tensor relevance = perOutput[0].contiguous();
        if (slot != 0) {
            return Tensor::zeros(relevance.dtype(), m_rois);
        }
        const Tensor x = operands[0].contiguous();
        return accumulated(relevance.dtype(), m_image, [&](auto* r) {
            const auto* from = elements(relevance, r);
            forEachWinner(elements(x, r), operands[1],
                          [&](std::int64_t bin, std::int64_t winner) { r[winner] += from[bin]; });
        });
    }

    [[nodiscard]] Tensor pick(const Tensor& t, std::span<const Tensor> operands) const override
    {
        const Tensor from = t.contiguous();
        const Tensor x = operands[0].contiguous();
        return accumulated(t.dtype(), m_outputTypes[0].shape, [&](auto* y) {
            const auto* in = elements(from, y);
            forEachWinner(elements(x, y), operands[1],
                          [&](std::int64_t bin, std::int64_t winner) { y[bin] = in[winner]; });
        });
    }

private:
    /// Calls f(element of the result, element of the operand) for every bin that is not empty.
    template <class T, class F>
    void forEachWinner(const T* x, const Tensor& regions, const F& f) const
    {
        const Tensor rois = regions.to(tensor::DType::Float64).contiguous();
        const Shape& out = m_outputTypes[0].shape;
        for (std::int64_t bin = 0; bin < tensor::elementCount(out); ++bin) {
            const std::int64_t n = bin / (out[1] * out[2] * out[3]);
            const double* roi = rois.data<double>() + 5 * n;
            const auto image = static_cast<std::int64_t>(std::clamp(roi[0], 0.0, static_cast<double>(m_image[0] - 1)));
            const std::int64_t plane =
                (image * m_image[1] + bin / (out[2] * out[3]) % out[1]) * m_image[2] * m_image[3];
            const Cells rows = cellsOf(roi[2], roi[4], m_scale, bin / out[3] % out[2], out[2], m_image[2]);
            const Cells columns = cellsOf(roi[1], roi[3], m_scale, bin % out[3], out[3], m_image[3]);
            const std::int64_t winner = winnerIn(x, plane, rows, columns);
            if (winner >= 0) {
                f(bin, winner);
            }
        }
    }

    /// The first largest element of a bin; −1 when it is empty.
    template <class T>
    [[nodiscard]] std::int64_t winnerIn(const T* x, std::int64_t plane, const Cells& rows, const Cells& columns) const
    {
        std::int64_t winner = -1;
        for (std::int64_t i = rows.begin; i < rows.end; ++i) {
            for (std::int64_t j = columns.begin; j < columns.end; ++j) {
                const std::int64_t at = plane + i * m_image[3] + j;
                winner = winner < 0 || x[at] > x[winner] ? at : winner;
            }
        }
        return winner;
    }

    Shape m_image;
    Shape m_rois;
    double m_scale;
};

BoundResult bindMaxRoiPool(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const Shape& x = firstType(context).shape;
    const Shape& rois = context.operandTypes[1].shape;
    const auto pooled = context.intsAttribute("pooled_shape", {});
    if (x.size() != 4 || x[0] == 0 || rois.size() != 2 || rois[1] != 5 || pooled.size() != 2 || pooled[0] < 1 ||
        pooled[1] < 1) {
        return context.error("an image batch × channels × height × width, regions n × 5 and a pooled_shape of two "
                             "positive entries are needed");
    }
    const double scale = context.floatAttribute("spatial_scale", 1);
    if (!(scale > 0)) {
        return context.error(fmt::format("spatial_scale {} is not above 0", scale));
    }
    Shape shape{rois[0], x[1], pooled[0], pooled[1]};
    RETRO_CHECK(expectSize(context, shape));
    return bound<MaxRoiPool>(TensorType{firstType(context).dtype, std::move(shape)}, x, rois, scale);
}

} // namespace

const OperatorFamily kMaxRoiPoolOperators{
    {"", "MaxRoiPool", 1, 0, "shape map", true, bindMaxRoiPool},
};

} // namespace retro::ops
