// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <vector>

namespace retro::ops
{

/// How coordinates of the result become coordinates of the operand (names of the standard).
enum class CoordinateMode : std::uint8_t {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    TfHalfPixelForNn,
    TfCropAndResize
};
enum class Interpolation : std::uint8_t { Nearest, Linear, Cubic };
/// Which neighbour nearest takes. Simple: opset 10 and before, down when growing, up when shrinking.
enum class NearestMode : std::uint8_t { RoundPreferFloor, RoundPreferCeil, Floor, Ceil, Simple };

/// What all axes of a Resize share.
struct ResampleMode
{
    CoordinateMode coordinates = CoordinateMode::HalfPixel;
    Interpolation interpolation = Interpolation::Nearest;
    NearestMode nearest = NearestMode::RoundPreferFloor;
    double cubicCoefficient = -0.75;
    bool excludesOutside = false; ///< neighbours outside get weight 0 instead of the border's value
    bool isAntialiased = false;
    bool isRounded = false; ///< positions are float32, as in onnxruntime, for data that is no float64
};

/// One axis of a Resize.
struct ResampledAxis
{
    std::int64_t from = 1; ///< extent of the operand
    std::int64_t to = 1;   ///< extent of the result
    double scale = 1;
    double begin = 0; ///< region of TfCropAndResize, normalised
    double end = 1;
    bool isKept = false; ///< every element is that of the operand, whatever scale and region say
};

/// Weights of one axis: element o of the result is the sum of weight · element index over [starts[o], starts[o + 1]).
struct AxisWeights
{
    std::int64_t from = 1;
    std::vector<std::int64_t> starts{0};
    std::vector<std::int64_t> indices;
    std::vector<double> weights;
    std::vector<bool> isOutside; ///< per element of the result: TfCropAndResize reads outside the operand

    [[nodiscard]] std::int64_t to() const { return static_cast<std::int64_t>(starts.size()) - 1; }
    /// True when the result is the operand.
    [[nodiscard]] bool isIdentity() const;
};

/// An operator whose result is its operand 0, resampled axis by axis. Elements that lie outside along any axis have no
/// part in the operand.
class ResamplesAxes
{
public:
    virtual ~ResamplesAxes() = default;
    /// One entry per axis.
    [[nodiscard]] virtual const std::vector<AxisWeights>& axisWeights() const = 0;
};

/// Weights of one axis, by the standard's reference for Resize.
[[nodiscard]] AxisWeights weightsOf(const ResampledAxis& axis, const ResampleMode& mode);

/// A number that the positions of an axis depend on.
enum class AxisNumber : std::uint8_t { Scale, Begin, End };

/// The derivatives of the weights by that number, where the extent of the result stays; none for nearest.
[[nodiscard]] AxisWeights weightSlopesOf(const ResampledAxis& axis, const ResampleMode& mode, AxisNumber by);

/// The operand with `axis` resampled; row-major. float32 or float64.
[[nodiscard]] tensor::Tensor resample(const tensor::Tensor& t, std::size_t axis, const AxisWeights& weights);
/// The transposed map: from the result's extent along `axis` back to the operand's.
[[nodiscard]] tensor::Tensor resampleBack(const tensor::Tensor& t, std::size_t axis, const AxisWeights& weights);

} // namespace retro::ops
