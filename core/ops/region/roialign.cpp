// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"

#include <fmt/format.h>

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
    double byY = 0;    ///< derivative of the weight by the sample's position
    double byX = 0;    ///< likewise
    double alongY = 0; ///< where the sample lies between the region's corners, from 0 to 1
    double alongX = 0; ///< likewise
};

/// A position between two elements of an axis.
struct Between
{
    std::int64_t low;
    std::int64_t high;
    double part;  ///< weight of `high`
    double slope; ///< derivative of `part`; 0 where the position is held at an end of the axis
};

Between between(double position, std::int64_t extent)
{
    const double last = static_cast<double>(extent - 1);
    const double inside = std::min(std::max(position, 0.0), last);
    const auto low = static_cast<std::int64_t>(inside);
    return {low, std::min(low + 1, extent - 1), inside - static_cast<double>(low),
            position > 0 && position < last ? 1.0 : 0.0};
}

bool isInside(float position, std::int64_t extent) { return position >= -1 && position <= static_cast<float>(extent); }

/// The four elements that a sample at (y, x) reads.
void addTaps(double y, double x, std::int64_t height, std::int64_t width, const Tap& sample, std::vector<Tap>& taps)
{
    const Between v = between(y, height);
    const Between h = between(x, width);
    const auto add = [&](std::int64_t row, double down, double byDown, std::int64_t column, double across,
                         double byAcross) {
        Tap tap = sample;
        tap.at = row * width + column;
        tap.weight = down * across;
        tap.byY = byDown * across;
        tap.byX = down * byAcross;
        taps.push_back(tap);
    };
    add(v.low, 1 - v.part, -v.slope, h.low, 1 - h.part, -h.slope);
    add(v.low, 1 - v.part, -v.slope, h.high, h.part, h.slope);
    add(v.high, v.part, v.slope, h.low, 1 - h.part, -h.slope);
    add(v.high, v.part, v.slope, h.high, h.part, h.slope);
}

/// Most samples of a bin along one axis, and of all bins together.
constexpr double kMostSamplesOfAxis = 4096;
constexpr double kMostSamples = 1LL << 28;

/// Regions of an image, each sampled bilinearly on a regular grid; the mean or the largest weighted element per bin.
/// Linear in the image for the mean. The regions choose coefficients: they have a gradient, and take no relevance.
class RoiAlign final : public Operator<Differentiable>
{
public:
    RoiAlign(TensorType output, Shape image, Shape rois, const AlignMode& mode)
        : Operator(std::move(output)), m_image(std::move(image)), m_rois(std::move(rois)), m_mode(mode)
    {}

    /// Batch indices are those of images; the samples of all bins can be counted through.
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        const Tensor batch = operands[2].to(tensor::DType::Int64).contiguous();
        for (const std::int64_t image : batch.span<std::int64_t>()) {
            if (image < 0 || image >= m_image[0]) {
                return base::inputError(
                    fmt::format("batch index {} is outside a batch of {} images", image, m_image[0]));
            }
        }
        if (binsOfRegion() == 0) {
            return {}; // output_height or output_width is 0: nothing is sampled
        }
        const Tensor rois = operands[1].to(tensor::DType::Float64).contiguous();
        if (!algebra::allFinite(rois)) {
            return base::inputError("a region (operand 1) has a number that is not finite");
        }
        double samples = 0;
        for (std::int64_t n = 0; n < m_rois[0]; ++n) {
            const Region region = regionOf(rois.data<double>() + 4 * n);
            if (region.rows * region.columns < 0) {
                return base::inputError(fmt::format("region {} has its corners in reverse", n));
            }
            samples += std::abs(region.rows * region.columns) * static_cast<double>(binsOfRegion());
            if (!(std::max(region.rows, region.columns) <= kMostSamplesOfAxis && samples <= kMostSamples)) {
                return base::inputError(fmt::format("region {} and those before it need {} samples; give a "
                                                    "sampling_ratio, or regions of the size of the image",
                                                    n, samples));
            }
        }
        return {};
    }
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
        const Tensor x = operands[0].contiguous();
        if (slot != 0) {
            return regionGradient(gradient, x, operands);
        }
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
    /// One axis of a region.
    template <class T>
    struct Line
    {
        T from;
        T bin;       ///< extent of a bin
        bool isFree; ///< it follows from the corners, and is not the least one

        /// Of a sample of a bin, step by step as onnxruntime computes it.
        [[nodiscard]] T positionOf(std::int64_t at, double sample, double count) const
        {
            return from + static_cast<T>(at) * bin + static_cast<T>(sample + 0.5) * bin / static_cast<T>(count);
        }
    };
    struct Region
    {
        Line<double> y;
        Line<double> x;
        Line<float> roundedY; ///< decides what lies inside, and how many samples there are
        Line<float> roundedX;
        double rows; ///< samples per bin: a whole number
        double columns;
    };

    /// By the corners of each region: left, top, right, bottom.
    [[nodiscard]] Tensor regionGradient(const Tensor& gradient, const Tensor& x, std::span<const Tensor> operands) const
    {
        const Tensor rois = operands[1].to(tensor::DType::Float64).contiguous();
        return accumulated(gradient.dtype(), m_rois, [&](auto* r) {
            using T = std::decay_t<decltype(*r)>;
            const T* g = elements(gradient, r);
            const T* in = elements(x, r);
            forEachBin(operands, [&](std::int64_t plane, std::int64_t bin, const std::vector<Tap>& taps, double count) {
                const std::int64_t n = bin / (m_outputTypes[0].shape[1] * binsOfRegion());
                const Region region = regionOf(rois.data<double>() + 4 * n);
                if (m_mode.isMaximum) {
                    const Tap winner = largest(in + plane, taps).first;
                    addCorners(region, {&winner, 1}, in + plane, static_cast<double>(g[bin]), r + 4 * n);
                } else {
                    addCorners(region, taps, in + plane, static_cast<double>(g[bin]) / count, r + 4 * n);
                }
            });
        });
    }

    /// Adds `factor` times the derivative of Σ weight·element by the four corners of a region.
    template <class T>
    void addCorners(const Region& region, std::span<const Tap> taps, const T* plane, double factor, T* corners) const
    {
        for (const Tap& tap : taps) {
            const double value = factor * m_mode.scale * static_cast<double>(plane[tap.at]);
            const double farX = region.x.isFree ? tap.alongX : 0;
            const double farY = region.y.isFree ? tap.alongY : 0;
            corners[0] += static_cast<T>(value * tap.byX * (1 - farX));
            corners[1] += static_cast<T>(value * tap.byY * (1 - farY));
            corners[2] += static_cast<T>(value * tap.byX * farX);
            corners[3] += static_cast<T>(value * tap.byY * farY);
        }
    }

    [[nodiscard]] std::int64_t binsOfRegion() const { return m_outputTypes[0].shape[2] * m_outputTypes[0].shape[3]; }

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

    template <class T>
    [[nodiscard]] Line<T> lineOf(double from, double to, std::int64_t bins) const
    {
        const auto corner = [this](double at) {
            return static_cast<T>(at) * static_cast<T>(m_mode.scale) - static_cast<T>(m_mode.offset);
        };
        const T given = corner(to) - corner(from);
        const T extent = m_mode.offset > 0 ? given : std::max(given, T{1}); // without half_pixel it is at least 1
        return {corner(from), extent / static_cast<T>(bins), extent == given};
    }

    [[nodiscard]] Region regionOf(const double* roi) const
    {
        const Shape& out = m_outputTypes[0].shape;
        const auto roundedY = lineOf<float>(roi[1], roi[3], out[2]);
        const auto roundedX = lineOf<float>(roi[0], roi[2], out[3]);
        return {lineOf<double>(roi[1], roi[3], out[2]),
                lineOf<double>(roi[0], roi[2], out[3]),
                roundedY,
                roundedX,
                samplesOf(roundedY.bin),
                samplesOf(roundedX.bin)};
    }

    /// Samples of a bin along one axis: as many as elements. Below 0 where corners are in reverse.
    [[nodiscard]] double samplesOf(float bin) const
    {
        return m_mode.sampling > 0 ? static_cast<double>(m_mode.sampling) : static_cast<double>(std::ceil(bin));
    }

    void tapsOf(const Region& region, std::int64_t row, std::int64_t column, std::vector<Tap>& taps) const
    {
        taps.clear();
        const double rows = std::min(region.rows, kMostSamplesOfAxis); // check() refuses more
        const double columns = std::min(region.columns, kMostSamplesOfAxis);
        for (double i = 0; i < rows; ++i) {
            const bool isRowInside = isInside(region.roundedY.positionOf(row, i, region.rows), m_image[2]);
            for (double j = 0; j < columns; ++j) {
                Tap sample;
                if (!isRowInside || !isInside(region.roundedX.positionOf(column, j, region.columns), m_image[3])) {
                    if (m_mode.isMaximum) {
                        taps.emplace_back(); // a 0 among the elements
                    }
                    continue;
                }
                const double down = static_cast<double>(row) + (i + 0.5) / region.rows;
                const double across = static_cast<double>(column) + (j + 0.5) / region.columns;
                sample.alongY = down / static_cast<double>(m_outputTypes[0].shape[2]);
                sample.alongX = across / static_cast<double>(m_outputTypes[0].shape[3]);
                addTaps(region.y.positionOf(row, i, region.rows), region.x.positionOf(column, j, region.columns),
                        m_image[2], m_image[3], sample, taps);
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
            const double count = std::max(region.rows * region.columns, 1.0);
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

const OperatorFamily kRoiAlignOperators{
    {"", "RoiAlign", 10, 15, "function", true, bindRoiAlign10},
    {"", "RoiAlign", 16, 0, "function", true, bindRoiAlign},
};

} // namespace retro::ops
