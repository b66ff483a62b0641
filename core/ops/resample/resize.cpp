// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/choice.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/linearoperands.h"
#include "core/ops/resample/axisresampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

constexpr std::size_t kNoSlot = std::numeric_limits<std::size_t>::max();

/// What positions depend on, for derivatives by roi and scales.
struct ResizePlaces
{
    std::vector<ResampledAxis> axes; ///< all of the operand
    std::vector<std::size_t> named;  ///< that roi and scales speak of, in their order
    ResampleMode mode;
    std::size_t scaleSlot = kNoSlot; ///< kNoSlot where positions do not depend on it
    std::size_t roiSlot = kNoSlot;
    bool isFixed = true; ///< both are constants

    /// Operand `slot` moves positions, and results change with them.
    [[nodiscard]] bool isMovedBy(std::size_t slot) const
    {
        return mode.interpolation != Interpolation::Nearest && (slot == scaleSlot || slot == roiSlot);
    }
};

/// Resampling axis by axis: linear in operand 0.
class Resize final : public Operator<Differentiable>, public ResamplesAxes, public LinearOperands
{
public:
    /// `operands`: their types by slot.
    Resize(TensorType output, std::span<const TensorType> operands, std::vector<AxisWeights> weights,
           double outsideValue, ResizePlaces places)
        : Operator(std::move(output)), m_operands(operands.begin(), operands.end()), m_weights(std::move(weights)),
          m_outsideValue(outsideValue), m_places(std::move(places))
    {
        m_hasOutside = hasOutside(m_weights);
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const std::vector<AxisWeights> moved = movedWeights(operands);
        const std::vector<AxisWeights>& weights = moved.empty() ? m_weights : moved;
        const DType type = m_outputTypes[0].dtype;
        Tensor t = type == DType::Float32 ? operands[0] : operands[0].to(DType::Float64);
        for (std::size_t axis = 0; axis < weights.size(); ++axis) {
            t = weights[axis].isIdentity() ? t : resample(t, axis, weights[axis]);
        }
        return {(hasOutside(weights) ? replacedOutside(t, weights, m_outsideValue) : t).to(type)};
    }
    [[nodiscard]] double share(std::span<const std::uint8_t>, std::size_t slot) const override
    {
        return slot == 0 ? 1 : 0;
    }
    [[nodiscard]] const std::vector<AxisWeights>& axisWeights() const override { return m_weights; }
    [[nodiscard]] bool isLinearIn(std::size_t slot) const override
    {
        return slot == 0 && (!m_hasOutside || m_outsideValue == 0);
    }
    [[nodiscard]] Reads savedForGradient() const override
    {
        const bool isMoved = m_places.isMovedBy(m_places.scaleSlot) || m_places.isMovedBy(m_places.roiSlot);
        return isMoved && !m_places.isFixed ? Reads::firstOperand() : Reads::nothing();
    }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        if (slot != 0 && m_places.isMovedBy(slot) && !m_places.isFixed) {
            return movedBack(s[0], operands[0], slot);
        }
        if (slot != 0) {
            return Tensor::zeros(m_operands[slot].dtype, m_operands[slot].shape);
        }
        Tensor t = m_hasOutside ? replacedOutside(s[0], m_weights, 0) : s[0];
        for (std::size_t axis = m_weights.size(); axis-- > 0;) {
            t = m_weights[axis].isIdentity() ? t : resampleBack(t, axis, m_weights[axis]);
        }
        return t;
    }

private:
    static bool hasOutside(const std::vector<AxisWeights>& weights)
    {
        return std::ranges::any_of(weights, [](const AxisWeights& axis) {
            return std::ranges::find(axis.isOutside, true) != axis.isOutside.end();
        });
    }
    /// Weights by other scales or another region than those that were known when the node was bound, for differences;
    /// the extents stay. None where the numbers are the same.
    [[nodiscard]] std::vector<AxisWeights> movedWeights(std::span<const Tensor> operands) const
    {
        if (m_places.isFixed || m_places.mode.interpolation == Interpolation::Nearest) {
            return {};
        }
        std::vector<ResampledAxis> axes = m_places.axes;
        const std::size_t count = m_places.named.size();
        const auto numberAt = [&](std::size_t slot, std::size_t i, double known) {
            const bool isThere = slot < operands.size() && operands[slot].isValid();
            const double given = isThere ? operands[slot].at(static_cast<std::int64_t>(i)) : known;
            return std::isfinite(given) ? given : known;
        };
        bool isMoved = false;
        for (std::size_t i = 0; i < count; ++i) {
            ResampledAxis& axis = axes[m_places.named[i]];
            const ResampledAxis known = axis;
            const double scale = numberAt(m_places.scaleSlot, i, known.scale);
            axis.scale = scale > 0 ? scale : known.scale;
            axis.begin = numberAt(m_places.roiSlot, i, known.begin);
            axis.end = numberAt(m_places.roiSlot, count + i, known.end);
            isMoved = isMoved || axis.scale != known.scale || axis.begin != known.begin || axis.end != known.end;
        }
        std::vector<AxisWeights> weights;
        for (std::size_t axis = 0; isMoved && axis < axes.size(); ++axis) {
            weights.push_back(weightsOf(axes[axis], m_places.mode));
        }
        return weights;
    }
    /// The part of roi or scales.
    [[nodiscard]] Tensor movedBack(const Tensor& arrived, const Tensor& operand, std::size_t slot) const
    {
        const Tensor wide = arrived.to(DType::Float64);
        const Tensor s = m_hasOutside ? replacedOutside(wide, m_weights, 0) : wide;
        std::vector<double> part(static_cast<std::size_t>(tensor::elementCount(m_operands[slot].shape)));
        const std::size_t count = m_places.named.size();
        for (std::size_t i = 0; i < part.size(); ++i) { // all first numbers of a region, then all last ones
            const AxisNumber by = slot == m_places.scaleSlot ? AxisNumber::Scale
                                  : i < count                ? AxisNumber::Begin
                                                             : AxisNumber::End;
            const std::size_t axis = m_places.named[i % count];
            part[i] = algebra::dot(s, sloped(operand.to(DType::Float64), axis, by));
        }
        return Tensor::of<double>(m_operands[slot].shape, part).to(m_operands[slot].dtype);
    }
    /// How the result changes with a number of an axis.
    [[nodiscard]] Tensor sloped(Tensor t, std::size_t of, AxisNumber by) const
    {
        for (std::size_t axis = 0; axis < m_weights.size(); ++axis) {
            if (axis == of) {
                t = resample(t, axis, weightSlopesOf(m_places.axes[axis], m_places.mode, by));
            } else if (!m_weights[axis].isIdentity()) {
                t = resample(t, axis, m_weights[axis]);
            }
        }
        return t;
    }
    /// Elements that lie outside the operand along any axis replaced by `value`.
    static Tensor replacedOutside(const Tensor& t, const std::vector<AxisWeights>& weights, double value)
    {
        const Tensor x = t.contiguous();
        const Shape strides = tensor::rowMajorStrides(x.shape());
        return filled(x.dtype(), x.shape(), [&](auto* y) {
            using T = std::decay_t<decltype(*y)>;
            const auto in = x.span<T>();
            for (std::size_t i = 0; i < in.size(); ++i) {
                y[i] = isOutside(static_cast<std::int64_t>(i), weights, strides) ? static_cast<T>(value) : in[i];
            }
        });
    }
    static bool isOutside(std::int64_t element, const std::vector<AxisWeights>& weights, const Shape& strides)
    {
        bool outside = false;
        for (std::size_t axis = 0; axis < strides.size(); ++axis) {
            outside = outside || weights[axis].isOutside[static_cast<std::size_t>(element / strides[axis])];
            element %= strides[axis];
        }
        return outside;
    }

    std::vector<TensorType> m_operands;
    std::vector<AxisWeights> m_weights; // per axis
    double m_outsideValue;
    ResizePlaces m_places;
    bool m_hasOutside = false;
};

base::Result<Interpolation> interpolationOf(const BindContext& context)
{
    return choice<Interpolation>(
        context, "mode", "nearest",
        {{"nearest", Interpolation::Nearest}, {"linear", Interpolation::Linear}, {"cubic", Interpolation::Cubic}});
}

base::Result<ResampleMode> modeOf(const BindContext& context)
{
    ResampleMode mode;
    RETRO_TRY(mode.interpolation, interpolationOf(context));
    RETRO_TRY(mode.coordinates, choice<CoordinateMode>(context, "coordinate_transformation_mode", "half_pixel",
                                                       {{"half_pixel", CoordinateMode::HalfPixel},
                                                        {"half_pixel_symmetric", CoordinateMode::HalfPixelSymmetric},
                                                        {"pytorch_half_pixel", CoordinateMode::PytorchHalfPixel},
                                                        {"align_corners", CoordinateMode::AlignCorners},
                                                        {"asymmetric", CoordinateMode::Asymmetric},
                                                        {"tf_half_pixel_for_nn", CoordinateMode::TfHalfPixelForNn},
                                                        {"tf_crop_and_resize", CoordinateMode::TfCropAndResize}}));
    const bool isNearest = mode.interpolation == Interpolation::Nearest;
    if (isNearest) { // nobody reads it otherwise
        RETRO_TRY(mode.nearest, choice<NearestMode>(context, "nearest_mode", "round_prefer_floor",
                                                    {{"round_prefer_floor", NearestMode::RoundPreferFloor},
                                                     {"round_prefer_ceil", NearestMode::RoundPreferCeil},
                                                     {"floor", NearestMode::Floor},
                                                     {"ceil", NearestMode::Ceil}}));
    }
    mode.cubicCoefficient = context.floatAttribute("cubic_coeff_a", -0.75);
    mode.excludesOutside = context.intAttribute("exclude_outside", 0) != 0;
    mode.isAntialiased = context.intAttribute("antialias", 0) != 0;
    return mode.isAntialiased && isNearest ? context.error("antialias needs mode linear or cubic")
                                           : base::Result<ResampleMode>(mode);
}

/// Floats of an operand that must be known before the run; empty when it is absent or empty.
base::Result<std::vector<double>> knownFloats(const BindContext& context, std::size_t slot)
{
    if (!context.present(slot)) {
        return std::vector<double>{};
    }
    if (context.operandTypes[slot].shape.size() > 1) {
        return context.error(fmt::format("operand {} must be a list of numbers", slot));
    }
    RETRO_TRY(const Tensor data, context.known(slot));
    const Tensor wide = data.to(DType::Float64).contiguous();
    const auto values = wide.span<double>();
    return std::vector<double>(values.begin(), values.end());
}

/// Which axes scales, sizes and roi speak of.
base::Result<std::vector<std::size_t>> namedAxes(const BindContext& context)
{
    std::vector<std::size_t> axes;
    const std::size_t rank = firstType(context).shape.size();
    RETRO_CHECK(axesWithin(context, context.intsAttribute("axes", {}), rank));
    for (const std::int64_t axis : context.intsAttribute("axes", {})) {
        RETRO_TRY(const std::size_t plain, axisWithin(context, axis, rank));
        axes.push_back(plain);
    }
    if (axes.empty()) {
        axes.resize(rank);
        std::iota(axes.begin(), axes.end(), std::size_t{0});
    }
    return axes;
}

/// scales and sizes: one of them, an entry per named axis.
struct Extents
{
    std::vector<double> scales;
    std::vector<std::int64_t> sizes;
};

base::Result<void> expectEntries(const BindContext& context, const Extents& extents, std::size_t count)
{
    if (extents.scales.empty() == extents.sizes.empty()) {
        return context.error("one of scales and sizes must be given");
    }
    if (extents.scales.size() + extents.sizes.size() != count) {
        return context.error(
            fmt::format("{} scales or sizes, but {} are needed", extents.scales.size() + extents.sizes.size(), count));
    }
    for (const double scale : extents.scales) {
        if (!(scale > 0) || scale > 1e6) {
            return context.error(fmt::format("the scale {} is not between 0 and 1e6", scale));
        }
    }
    return {};
}

double roundHalfUp(double v) { return std::floor(v + 0.5); }

/// An extent that was computed; what is beyond every limit (NaN, too) becomes one that is refused.
std::int64_t checkedExtent(double v) { return v < 0x1p62 ? static_cast<std::int64_t>(std::max(v, -1.0)) : 1LL << 62; }

/// A scale times an extent in float32, as onnxruntime and PyTorch multiply: 6 times float32(5/3) is 10.
double scaledExtent(double scale, std::int64_t extent)
{
    return static_cast<double>(static_cast<float>(scale) * static_cast<float>(extent));
}

/// Sizes made to keep the ratio of the named axes: one scale for all of them.
void keepRatio(const std::vector<std::size_t>& axes, bool isLarger, std::vector<ResampledAxis>& result)
{
    double scale = result[axes[0]].scale;
    for (const std::size_t axis : axes) {
        scale = isLarger ? std::max(scale, result[axis].scale) : std::min(scale, result[axis].scale);
    }
    for (const std::size_t axis : axes) {
        result[axis].scale = scale;
        result[axis].to = checkedExtent(roundHalfUp(scaledExtent(scale, result[axis].from)));
    }
}

/// Extents of all axes from scales or sizes.
base::Result<std::vector<ResampledAxis>> resampledAxes(const BindContext& context, const std::vector<std::size_t>& axes,
                                                       const Extents& extents)
{
    enum class Policy : std::uint8_t { Stretch, NotLarger, NotSmaller };
    RETRO_CHECK(expectEntries(context, extents, axes.size()));
    RETRO_TRY(const Policy policy, choice<Policy>(context, "keep_aspect_ratio_policy", "stretch",
                                                  {{"stretch", Policy::Stretch},
                                                   {"not_larger", Policy::NotLarger},
                                                   {"not_smaller", Policy::NotSmaller}}));
    const bool isScaled = extents.sizes.empty();
    if (isScaled && policy != Policy::Stretch) {
        return context.error("keep_aspect_ratio_policy is for sizes, but scales are given");
    }
    std::vector<ResampledAxis> result;
    for (const std::int64_t extent : firstType(context).shape) {
        result.push_back({extent, extent});
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
        ResampledAxis& axis = result[axes[i]];
        axis.scale =
            isScaled ? extents.scales[i] : static_cast<double>(extents.sizes[i]) / static_cast<double>(axis.from);
        axis.to = isScaled ? checkedExtent(std::floor(scaledExtent(axis.scale, axis.from))) : extents.sizes[i];
    }
    if (policy != Policy::Stretch) {
        keepRatio(axes, policy == Policy::NotSmaller, result);
    }
    const bool isEmptied =
        std::ranges::any_of(result, [](const auto& axis) { return axis.from > 0 && !(axis.scale > 0); });
    return isEmptied ? context.error("a size is not above 0") : base::Result<std::vector<ResampledAxis>>(result);
}

/// Of a crop; without roi it is the whole operand.
base::Result<void> takeRegion(const BindContext& context, const std::vector<std::size_t>& axes,
                              std::vector<ResampledAxis>& result)
{
    if (!context.present(1)) {
        return {};
    }
    RETRO_TRY(const auto roi, knownFloats(context, 1));
    if (roi.size() != 2 * axes.size()) {
        return context.error(fmt::format("roi has {} entries, but {} are needed", roi.size(), 2 * axes.size()));
    }
    if (!std::ranges::all_of(roi, [](double bound) { return std::isfinite(bound); })) {
        return context.error("roi (operand 1) has a number that is not finite");
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
        result[axes[i]].begin = roi[i];
        result[axes[i]].end = roi[axes.size() + i];
    }
    return {};
}

bool isFixedOperand(const BindContext& context, std::size_t slot)
{
    return slot >= context.constants.size() || !context.present(slot) || context.constants[slot].isValid();
}

/// Elements are taken as they are where no extent changes, and along an axis of scale 1 (onnxruntime).
void keepElements(ResizePlaces& places)
{
    const bool isCopy = std::ranges::all_of(places.axes, [](const auto& axis) { return axis.to == axis.from; });
    const bool movesAtScaleOne = places.mode.coordinates == CoordinateMode::TfHalfPixelForNn ||
                                 places.mode.coordinates == CoordinateMode::TfCropAndResize;
    for (ResampledAxis& axis : places.axes) {
        axis.isKept = isCopy || (movesAtScaleOne && static_cast<float>(axis.scale) == 1);
    }
}

BoundResult boundResize(const BindContext& context, ResizePlaces places)
{
    keepElements(places);
    places.mode.isRounded = firstType(context).dtype != DType::Float64;
    places.isFixed = isFixedOperand(context, places.scaleSlot) && isFixedOperand(context, places.roiSlot);
    Shape shape;
    for (const ResampledAxis& axis : places.axes) {
        shape.push_back(axis.to);
    }
    RETRO_CHECK(expectSize(context, shape));
    if (std::ranges::any_of(places.axes, [](const auto& axis) { return axis.from == 0 && axis.to > 0; })) {
        return context.error("an operand without elements cannot be resized");
    }
    std::vector<AxisWeights> weights;
    for (const ResampledAxis& axis : places.axes) {
        weights.push_back(weightsOf(axis, places.mode));
    }
    return bound<Resize>(TensorType{firstType(context).dtype, std::move(shape)}, context.operandTypes,
                         std::move(weights), context.floatAttribute("extrapolation_value", 0), std::move(places));
}

BoundResult bindResize(const BindContext& context)
{
    RETRO_TRY(const ResampleMode mode, modeOf(context));
    RETRO_TRY(const auto axes, namedAxes(context));
    Extents extents;
    RETRO_TRY(extents.scales, knownFloats(context, 2));
    RETRO_TRY(extents.sizes, context.constantInts(3));
    RETRO_TRY(auto resampled, resampledAxes(context, axes, extents));
    if (mode.coordinates == CoordinateMode::TfCropAndResize) {
        RETRO_CHECK(takeRegion(context, axes, resampled));
    }
    const std::size_t scaleSlot = extents.scales.empty() ? kNoSlot : 2;
    const std::size_t roiSlot = mode.coordinates == CoordinateMode::TfCropAndResize ? 1 : kNoSlot;
    return boundResize(context, {std::move(resampled), axes, mode, scaleSlot, roiSlot});
}

/// Upsample, and Resize of opset 10: scales alone, an attribute at first; coordinates are divided by them.
BoundResult bindByScales(const BindContext& context)
{
    const std::size_t operands = context.node.opset < 9 ? 1 : 2;
    const auto attribute = context.node.attributes.find("scales");
    Extents extents;
    if (operands == 2) {
        RETRO_TRY(extents.scales, knownFloats(context, 1));
    } else if (attribute != context.node.attributes.end()) {
        extents.scales = std::get<std::vector<double>>(attribute->second);
    }
    const auto below = std::ranges::find_if(extents.scales, [](double scale) { return !(scale >= 1); });
    if (context.node.op == "Upsample" && below != extents.scales.end()) {
        return context.error(fmt::format("the scale {} is below 1; Upsample only makes tensors larger", *below));
    }
    ResampleMode mode;
    RETRO_TRY(mode.interpolation, interpolationOf(context));
    mode.coordinates = CoordinateMode::Asymmetric;
    mode.nearest = NearestMode::Simple;
    RETRO_TRY(const auto axes, namedAxes(context));
    RETRO_TRY(auto resampled, resampledAxes(context, axes, extents));
    return boundResize(context, {std::move(resampled), axes, mode, operands == 2 ? 1 : kNoSlot});
}

} // namespace

const OperatorFamily kResizeOperators{
    {"", "Resize", 10, 10, "function", true, bindByScales},
    {"", "Resize", 11, 0, "function", true, bindResize},
    {"", "Upsample", 7, 9, "function", true, bindByScales},
};

} // namespace retro::ops
