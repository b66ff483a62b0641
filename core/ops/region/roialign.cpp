// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::Shape;

struct AlignMode
{
    double scale = 1;
    double offset = 0; ///< 0.5 for half_pixel
    std::int64_t sampling = 0;
    bool isMaximum = false;
};

struct Tap
{
    std::int64_t at = 0;
    double weight = 0;
};

/// The four elements that a sample at (y, x) reads; none outside the image.
void addTaps(double y, double x, std::int64_t height, std::int64_t width, std::vector<Tap>& taps)
{
    if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) {
        return;
    }
    const auto split = [](double v, std::int64_t extent) {
        const double inside = std::min(std::max(v, 0.0), static_cast<double>(extent - 1));
        const auto low = static_cast<std::int64_t>(inside);
        return std::tuple(low, std::min(low + 1, extent - 1), inside - static_cast<double>(low));
    };
    const auto [top, bottom, down] = split(y, height);
    const auto [left, right, across] = split(x, width);
    taps.push_back({top * width + left, (1 - down) * (1 - across)});
    taps.push_back({top * width + right, (1 - down) * across});
    taps.push_back({bottom * width + left, down * (1 - across)});
    taps.push_back({bottom * width + right, down * across});
}

/// Regions of an image, each sampled bilinearly on a regular grid; the mean or the largest weighted element per bin.
/// Linear in the image for the mean. The regions choose coefficients: they get no gradient, as in other frameworks.
class RoiAlign final : public Operator<Differentiable>
{
public:
    RoiAlign(TensorType output, Shape image, Shape rois, const AlignMode& mode)
        : Operator(std::move(output)), m_image(std::move(image)), m_rois(std::move(rois)), m_mode(mode)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = operands[0].contiguous();
        return {accumulated(x.dtype(), m_outputTypes[0].shape, [&](auto* y) {
            using T = std::decay_t<decltype(*y)>;
            const T* in = elements(x, y);
            forEachBin(operands, [&](std::int64_t plane, std::int64_t bin, const std::vector<Tap>& taps, double count) {
                y[bin] =
                    static_cast<T>(m_mode.isMaximum ? largest(in + plane, taps).second : mean(in + plane, taps, count));
            });
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor gradient = s[0].contiguous();
        if (slot != 0) {
            return Tensor::zeros(gradient.dtype(), m_rois);
        }
        const Tensor x = operands[0].contiguous();
        return accumulated(gradient.dtype(), m_image, [&](auto* r) {
            using T = std::decay_t<decltype(*r)>;
            const T* g = elements(gradient, r);
            const T* in = elements(x, r);
            forEachBin(operands, [&](std::int64_t plane, std::int64_t bin, const std::vector<Tap>& taps, double count) {
                if (m_mode.isMaximum) {
                    const Tap& tap = largest(in + plane, taps).first;
                    r[plane + tap.at] += static_cast<T>(tap.weight) * g[bin];
                    return;
                }
                for (const Tap& tap : taps) {
                    r[plane + tap.at] += static_cast<T>(tap.weight / count) * g[bin];
                }
            });
        });
    }
    [[nodiscard]] double share(std::span<const std::uint8_t>, std::size_t slot) const override
    {
        return slot == 0 ? 1 : 0;
    }

private:
    template <class T>
    static double mean(const T* plane, const std::vector<Tap>& taps, double count)
    {
        double sum = 0;
        for (const Tap& tap : taps) {
            sum += tap.weight * static_cast<double>(plane[tap.at]);
        }
        return sum / count;
    }

    /// The largest weighted element and which it is; 0 when there is none.
    template <class T>
    static std::pair<Tap, double> largest(const T* plane, const std::vector<Tap>& taps)
    {
        std::pair<Tap, double> best{{}, 0};
        for (std::size_t i = 0; i < taps.size(); ++i) {
            const double value = taps[i].weight * static_cast<double>(plane[taps[i].at]);
            if (i == 0 || value > best.second) {
                best = {taps[i], value};
            }
        }
        return best;
    }

    /// One region: corner and extent of a bin, samples per bin.
    struct Region
    {
        double top;
        double left;
        double height;
        double width;
        std::int64_t rows;
        std::int64_t columns;
    };
    [[nodiscard]] Region regionOf(const double* roi) const
    {
        const double least = m_mode.offset > 0 ? -INFINITY : 1; // only without half_pixel a region has at least 1
        const double left = roi[0] * m_mode.scale - m_mode.offset;
        const double top = roi[1] * m_mode.scale - m_mode.offset;
        const double width = std::max(roi[2] * m_mode.scale - m_mode.offset - left, least);
        const double height = std::max(roi[3] * m_mode.scale - m_mode.offset - top, least);
        const Shape& out = m_outputTypes[0].shape;
        const double binHeight = height / static_cast<double>(out[2]);
        const double binWidth = width / static_cast<double>(out[3]);
        const auto samples = [this](double bin) {
            constexpr double kMost = 4096; // a region far larger than any image
            return m_mode.sampling > 0 ? m_mode.sampling
                                       : static_cast<std::int64_t>(std::clamp(std::ceil(bin), 0.0, kMost));
        };
        return {top, left, binHeight, binWidth, samples(binHeight), samples(binWidth)};
    }

    void tapsOf(const Region& region, std::int64_t row, std::int64_t column, std::vector<Tap>& taps) const
    {
        taps.clear();
        for (std::int64_t i = 0; i < region.rows; ++i) {
            const double y = region.top + (static_cast<double>(row) +
                                           (static_cast<double>(i) + 0.5) / static_cast<double>(region.rows)) *
                                              region.height;
            for (std::int64_t j = 0; j < region.columns; ++j) {
                const double x = region.left + (static_cast<double>(column) +
                                                (static_cast<double>(j) + 0.5) / static_cast<double>(region.columns)) *
                                                   region.width;
                addTaps(y, x, m_image[2], m_image[3], taps);
            }
        }
    }

    /// Calls f(offset of the channel's image, element of the result, taps, samples) for every bin of every channel.
    template <class F>
    void forEachBin(std::span<const Tensor> operands, const F& f) const
    {
        const Tensor rois = operands[1].to(tensor::DType::Float64).contiguous();
        const Tensor batch = operands[2].to(tensor::DType::Int64).contiguous();
        const Shape& out = m_outputTypes[0].shape;
        const std::int64_t bins = out[2] * out[3];
        std::vector<Tap> taps;
        for (std::int64_t n = 0; n < out[0]; ++n) {
            const std::int64_t image = std::clamp<std::int64_t>(batch.data<std::int64_t>()[n], 0, m_image[0] - 1);
            const Region region = regionOf(rois.data<double>() + 4 * n);
            const double count = static_cast<double>(std::max<std::int64_t>(region.rows * region.columns, 1));
            for (std::int64_t bin = 0; bin < bins; ++bin) {
                tapsOf(region, bin / out[3], bin % out[3], taps);
                for (std::int64_t c = 0; c < out[1]; ++c) {
                    f((image * m_image[1] + c) * m_image[2] * m_image[3], (n * out[1] + c) * bins + bin, taps, count);
                }
            }
        }
    }

    Shape m_image;
    Shape m_rois;
    AlignMode m_mode;
};

base::Result<void> expectRegions(const BindContext& context)
{
    const TensorType& x = firstType(context);
    const TensorType& rois = context.operandTypes[1];
    const TensorType& batch = context.operandTypes[2];
    const bool isFloat = tensor::isFloating(x.dtype) && rois.dtype == x.dtype;
    if (!isFloat || x.shape.size() != 4 || rois.shape.size() != 2 || rois.shape[1] != 4 ||
        batch.shape != Shape{rois.shape[0]} || tensor::isFloating(batch.dtype)) {
        return context.error("a floating image batch × channels × height × width, regions n × 4 and n integer batch "
                             "indices are needed");
    }
    if (x.shape[0] * x.shape[2] * x.shape[3] == 0) {
        return context.error("an image without elements cannot be sampled");
    }
    return {};
}

BoundResult boundRoiAlign(const BindContext& context, std::string_view coordinates)
{
    RETRO_CHECK(expect(context, {.least = 3,
                                 .most = 3,
                                 .attributes = {{"mode", AttributeKind::Text},
                                                {"output_height", AttributeKind::Int},
                                                {"output_width", AttributeKind::Int},
                                                {"sampling_ratio", AttributeKind::Int},
                                                {"spatial_scale", AttributeKind::Float},
                                                {"coordinate_transformation_mode", AttributeKind::Text}}}));
    RETRO_CHECK(expectRegions(context));
    const std::string mode = context.textAttribute("mode", "avg");
    if (mode != "avg" && mode != "max") {
        return context.error(fmt::format("mode '{}' is unknown; it must be avg or max", mode));
    }
    if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
        return context.error(fmt::format("coordinate_transformation_mode '{}' is unknown", coordinates));
    }
    const AlignMode align{context.floatAttribute("spatial_scale", 1), coordinates == "half_pixel" ? 0.5 : 0,
                          context.intAttribute("sampling_ratio", 0), mode == "max"};
    if (align.sampling < 0 || align.sampling > 4096) {
        return context.error(fmt::format("sampling_ratio {} is not between 0 and 4096", align.sampling));
    }
    const Shape& x = firstType(context).shape;
    Shape shape{context.operandTypes[1].shape[0], x[1], context.intAttribute("output_height", 1),
                context.intAttribute("output_width", 1)};
    RETRO_CHECK(expectSize(context, shape));
    return bound<RoiAlign>(TensorType{firstType(context).dtype, std::move(shape)}, x, context.operandTypes[1].shape,
                           align);
}

BoundResult bindRoiAlign10(const BindContext& context) { return boundRoiAlign(context, "output_half_pixel"); }
BoundResult bindRoiAlign(const BindContext& context)
{
    return boundRoiAlign(context, context.textAttribute("coordinate_transformation_mode", "half_pixel"));
}

} // namespace

std::span<const OperatorDeclaration> roiAlignDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "RoiAlign", 10, 15, "function", true, bindRoiAlign10},
        OperatorDeclaration{"", "RoiAlign", 16, 0, "function", true, bindRoiAlign},
    };
    return kDeclarations;
}

} // namespace retro::ops
