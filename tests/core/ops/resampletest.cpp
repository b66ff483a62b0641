// SPDX-License-Identifier: Apache-2.0
// Resize, GridSample, RoiAlign and what else reads between elements: values and transposed maps by hand.
#include "core/lrp/rules/rules.h"
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <cmath>
#include <numeric>
#include <set>

using namespace retro::tests;
using Ints = std::vector<std::int64_t>;
namespace lrp = retro::lrp;
namespace ops = retro::ops;

namespace
{

/// [1 2] or longer rows resized to `size` elements.
OpCase resized(const std::vector<double>& x, std::int64_t size, const std::string& mode, const std::string& coordinates)
{
    OpCase c("Resize", 19);
    c.operand(doubles({static_cast<std::int64_t>(x.size())}, x)).absent().absent().constant(ints({size}));
    return c.with("mode", mode).with("coordinate_transformation_mode", coordinates);
}

/// 1, 2, 3 … of this shape, resized by scales (float32) or to sizes: one of them is empty.
OpCase counted(const Shape& shape, const char* mode, const char* coordinates, const std::vector<float>& scales,
               const Ints& sizes = {}, std::int64_t opset = 19)
{
    std::vector<double> values(static_cast<std::size_t>(retro::tensor::elementCount(shape)));
    std::iota(values.begin(), values.end(), 1.0);
    OpCase c("Resize", opset);
    c.operand(doubles(shape, values));
    const Tensor factors = Tensor::of<float>({static_cast<std::int64_t>(scales.size())}, scales);
    if (opset < 11) {
        return c.constant(factors).with("mode", std::string(mode));
    }
    c.absent();
    sizes.empty() ? c.constant(factors) : c.absent().constant(ints(sizes));
    return c.with("mode", std::string(mode)).with("coordinate_transformation_mode", std::string(coordinates));
}

/// The region of a crop; 9 lies outside.
OpCase cropped(OpCase c, const std::vector<double>& region)
{
    c.replaceOperand(1, doubles({static_cast<std::int64_t>(region.size())}, region));
    c.setConstant(1, true);
    return c.with("extrapolation_value", 9.0);
}

/// Gradient or relevance of the only output carried to operand 0.
std::string carried(OpCase& c, const lrp::RulePointer& rule, const Tensor& r)
{
    const std::vector<Tensor> outputs = c.forward();
    std::vector<std::uint8_t> tracked(c.operands().size(), 0);
    tracked[0] = 1;
    std::vector<ops::TensorType> types;
    for (const Tensor& t : c.operands()) {
        types.push_back({t.dtype(), t.shape()});
    }
    return textOf(rule->apply({c.op(), c.operands(), outputs, {&r, 1}, tracked, types}).front());
}

} // namespace

class ResampleTest : public QObject
{
    Q_OBJECT
private slots:
    void linear()
    {
        QCOMPARE(q(resized({1, 2}, 4, "linear", "asymmetric").run()), "[4] 1 1.5 2 2");
        QCOMPARE(q(resized({1, 2}, 4, "linear", "half_pixel").run()), "[4] 1 1.25 1.75 2");
        QCOMPARE(q(resized({1, 2}, 3, "linear", "align_corners").run()), "[3] 1 1.5 2");
        QCOMPARE(q(resized({1, 2, 6}, 1, "linear", "half_pixel").run()), "[1] 2");
        QCOMPARE(q(resized({1, 2, 6}, 1, "linear", "pytorch_half_pixel").run()), "[1] 1");
    }

    void nearest()
    {
        const auto rounded = [](const char* how) {
            return q(resized({1, 2}, 4, "nearest", "align_corners").with("nearest_mode", std::string(how)).run());
        };
        QCOMPARE(rounded("round_prefer_floor"), "[4] 1 1 2 2");
        QCOMPARE(rounded("floor"), "[4] 1 1 1 2");
        QCOMPARE(rounded("ceil"), "[4] 1 2 2 2");
        const auto tie = [](const char* how) {
            return q(resized({1, 2}, 4, "nearest", "asymmetric").with("nearest_mode", std::string(how)).run());
        };
        QCOMPARE(tie("round_prefer_floor"), "[4] 1 1 2 2");
        QCOMPARE(tie("round_prefer_ceil"), "[4] 1 2 2 2");
    }

    /// Values of onnxruntime 1.32, which multiplies and divides in float32.
    void factorsThatAreNoBinaryFraction()
    {
        QCOMPARE(q(counted({6}, "linear", "half_pixel", {5.0F / 3}).run()), "[10] 1 1.4 2 2.6 3.2 3.8 4.4 5 5.6 6");
        const auto nearest = [](float scale, const char* how) {
            OpCase c = counted({6}, "nearest", "asymmetric", {scale});
            return q(c.with("nearest_mode", std::string(how)).run());
        };
        QCOMPARE(nearest(5.0F / 3, "floor"), "[10] 1 1 2 2 3 4 4 5 5 6");
        QCOMPARE(nearest(0.7F, "ceil"), "[4] 1 3 4 6");
        OpCase older("Upsample", 9);
        older.operand(doubles({6}, {1, 2, 3, 4, 5, 6}));
        QCOMPARE(q(older.constant(Tensor::of<float>({1}, std::vector<float>{5.0F / 3})).run()),
                 "[10] 1 1 2 2 3 4 4 5 5 6");
    }

    void cubicKeepsAConstantAndHitsElements()
    {
        QCOMPARE(q(resized({3, 3, 3}, 7, "cubic", "half_pixel").run()), "[7] 3 3 3 3 3 3 3");
        QCOMPARE(q(resized({1, 5, 2}, 5, "cubic", "align_corners").with("cubic_coeff_a", -0.5).run()),
                 "[5] 1 3.1875 5 3.75 2");
    }

    void shrinkingWithAntialias()
    {
        QCOMPARE(q(resized({4, 8, 0, 4}, 2, "linear", "half_pixel").run()), "[2] 6 2");
        QCOMPARE(q(resized({4, 8, 0, 4}, 2, "linear", "half_pixel").with("antialias", std::int64_t{1}).run()),
                 "[2] 5 3");
    }

    /// Values of onnxruntime 1.32.
    void anAxisOfScaleOneIsKept()
    {
        const char* const shifted = "tf_half_pixel_for_nn";
        OpCase nearest = counted({2, 3}, "nearest", shifted, {1, 1.5F}).with("nearest_mode", std::string("ceil"));
        QCOMPARE(q(nearest.run()), "[2 × 4] 2 2 3 3 5 5 6 6");
        OpCase named = counted({2, 3}, "nearest", shifted, {1.5F}).with("nearest_mode", std::string("ceil"));
        QCOMPARE(q(named.with("axes", Ints{1}).run()), "[2 × 4] 2 2 3 3 5 5 6 6");
        QCOMPARE(q(counted({2, 3}, "linear", shifted, {1, 1.5F}).run()),
                 "[2 × 4] 1.333333 2 2.666667 3 4.333333 5 5.666667 6");
        QCOMPARE(q(cropped(counted({2, 3}, "linear", "tf_crop_and_resize", {}, {2, 4}), {0.5, 0, 1.5, 1.25}).run()),
                 "[2 × 4] 1 1.833333 2.666667 9 4 4.833333 5.666667 9");
    }

    /// Values of onnxruntime 1.32, which copies the operand.
    void nothingMovesWhereNoExtentChanges()
    {
        QCOMPARE(q(counted({1, 4}, "linear", "half_pixel", {1, 1.1F}).run()), "[1 × 4] 1 2 3 4");
        QCOMPARE(q(counted({1, 4}, "cubic", "half_pixel", {1, 1.1F}).run()), "[1 × 4] 1 2 3 4");
        QCOMPARE(q(counted({2}, "nearest", "", {1.001F}, {}, 10).run()), "[2] 1 2");
        QCOMPARE(q(cropped(counted({2, 2}, "linear", "tf_crop_and_resize", {}, {2, 2}), {0, 0.5, 1, 1.5}).run()),
                 "[2 × 2] 1 2 3 4");
    }

    /// Values of onnxruntime 1.32.
    void positionsFollowTheExtentOfTheResult()
    {
        QCOMPARE(q(cropped(counted({1, 4}, "linear", "tf_crop_and_resize", {1, 0.7F}), {0, 0.2, 1, 0.9}).run()),
                 "[1 × 2] 1.6 3.7");
        OpCase ratio = counted({2, 3}, "linear", "align_corners", {}, {3, 4});
        QCOMPARE(q(ratio.with("keep_aspect_ratio_policy", std::string("not_larger")).run()),
                 "[3 × 4] 1 1.666667 2.333333 3 2.5 3.166667 3.833333 4.5 4 4.666667 5.333333 6");
    }

    /// Values of onnxruntime 1.32, which computes positions in float32 in this order.
    void positionsBesideABoundAreThoseOfFloat32()
    {
        OpCase crop = cropped(counted({7}, "nearest", "tf_crop_and_resize", {0.8F}), {0.4, 0.5});
        QCOMPARE(q(crop.with("nearest_mode", std::string("floor")).run()), "[5] 3 3 3 3 4");
        OpCase symmetric = counted({3}, "nearest", "half_pixel_symmetric", {}, {13});
        QCOMPARE(q(symmetric.with("nearest_mode", std::string("floor")).run()), "[13] 1 1 1 1 1 1 1 2 2 2 2 3 3");
    }

    /// Of data that is no float64, as onnxruntime 1.32 has them: their last bits count here.
    void positionsOfFloat32()
    {
        std::vector<double> values(256, 1000);
        for (std::size_t i = 1; i < values.size(); i += 2) {
            values[i] = -1000;
        }
        const auto at = [&](DType type, std::int64_t i) {
            OpCase c("Resize", 19);
            c.operand(doubles({1, 256}, values).to(type)).absent().absent().constant(ints({1, 299}));
            return c.with("mode", std::string("linear")).bind() ? c.forward()[0].at(i) : std::nan("");
        };
        QVERIFY(std::abs(at(DType::Float32, 221) - -709.0149) < 1e-3);
        QVERIFY(std::abs(at(DType::Float32, 210) - 454.8645) < 1e-3);
        QVERIFY(std::abs(at(DType::Float64, 221) - -709.0301) < 1e-3);
    }

    /// Values of onnxruntime 1.32: 3.4999998, 6.4999995 and 10.5000005 in float32.
    void positionsBesideTheMiddleLieInIt()
    {
        const auto nearest = [](std::int64_t from, std::int64_t to, const char* coordinates, const char* how) {
            return q(counted({from}, "nearest", coordinates, {}, {to}).with("nearest_mode", std::string(how)).run());
        };
        QCOMPARE(nearest(7, 2, "asymmetric", "round_prefer_ceil"), "[2] 1 5");
        QCOMPARE(nearest(14, 1, "half_pixel", "round_prefer_ceil"), "[1] 8");
        QCOMPARE(nearest(22, 13, "half_pixel", "round_prefer_floor"), "[13] 1 3 5 6 8 10 11 13 15 17 18 20 22");
    }

    /// Values of onnxruntime 1.32: an axis that keeps its extent is not resampled.
    void antialiasOfAnAxisThatKeepsItsExtent()
    {
        const auto smoothed = [](OpCase c) { return q(c.with("antialias", std::int64_t{1}).run()); };
        QCOMPARE(smoothed(counted({2, 6}, "linear", "half_pixel", {1.2F, 0.5F})),
                 "[2 × 3] 1.625 3.5 5.375 7.625 9.5 11.375");
        OpCase cubic = counted({2, 6}, "cubic", "asymmetric", {1.2F, 0.5F}).with("cubic_coeff_a", -0.5);
        QCOMPARE(smoothed(cubic), "[2 × 3] 1.1875 2.96875 5.0625 7.1875 8.96875 11.0625");
        OpCase crop = cropped(counted({2, 4}, "linear", "tf_crop_and_resize", {1.2F, 0.5F}), {0.5, 0, 1.5, 0.75});
        QCOMPARE(smoothed(crop), "[2 × 2] 1.25 3.1875 9 9");
    }

    void aCropWithoutRegionIsTheWhole()
    {
        QCOMPARE(q(counted({3}, "linear", "tf_crop_and_resize", {}, {5}).run()), "[5] 1 1.5 2 2.5 3");
    }

    void nearestModeIsReadByNearestAlone()
    {
        OpCase c = counted({2}, "linear", "half_pixel", {2});
        QCOMPARE(q(c.with("nearest_mode", std::string("simple")).run()), "[4] 1 1.25 1.75 2");
    }

    /// By scales, too, the last element of the result is the last one of the operand (PyTorch, onnxruntime).
    void alignedCornersOfScalesAreTheCorners()
    {
        QCOMPARE(q(counted({1, 4}, "linear", "align_corners", {1, 0.7F}).run()), "[1 × 2] 1 4");
        QCOMPARE(q(counted({1, 4}, "linear", "align_corners", {1, 1.75F}).run()), "[1 × 7] 1 1.5 2 2.5 3 3.5 4");
        QCOMPARE(q(counted({1, 3}, "linear", "align_corners", {1, 1.7F}).run()), "[1 × 5] 1 1.5 2 2.5 3");
    }

    void cropReadsNothingOutside()
    {
        QCOMPARE(q(cropped(counted({3}, "linear", "tf_crop_and_resize", {}, {4}), {0.5, 1.5}).run()),
                 "[4] 2 2.666667 9 9");
    }

    void aCropFarOutsideIsOutsideAndOneWithoutEndIsRefused()
    {
        const auto between = [](double begin, double end) {
            return cropped(counted({3}, "linear", "tf_crop_and_resize", {}, {5}), {begin, end});
        };
        QCOMPARE(q(between(-1e300, 1e300).run()), "[5] 9 9 1 9 9");
        QCOMPARE(q(between(1e300, 1e301).run()), "[5] 9 9 9 9 9");
        for (const double bound : {std::nan(""), HUGE_VAL}) {
            QVERIFY(q(between(0, bound).refusal()).contains("not finite"));
        }
    }

    void sizesThatKeepTheRatio()
    {
        const auto shaped = [](const char* policy) {
            OpCase c("Resize", 19);
            c.operand(doubles({2, 4}, {1, 1, 1, 1, 1, 1, 1, 1})).absent().absent().constant(ints({6, 8}));
            c.with("keep_aspect_ratio_policy", std::string(policy));
            return c.bind() ? q(retro::tensor::toText(c.op().outputTypes()[0].shape)) : q(c.error());
        };
        QCOMPARE(shaped("stretch"), "6 × 8");
        QCOMPARE(shaped("not_larger"), "4 × 8");
        QCOMPARE(shaped("not_smaller"), "6 × 12");
    }

    void upsampleByScales()
    {
        OpCase c = OpCase("Upsample", 9).operand(doubles({1, 2}, {1, 2})).constant(doubles({2}, {1, 2}));
        QCOMPARE(q(c.run()), "[1 × 4] 1 1 2 2");
        OpCase attribute = OpCase("Upsample", 7).operand(doubles({1, 2}, {1, 2}));
        QCOMPARE(q(attribute.with("scales", std::vector<double>{2, 1}).run()), "[2 × 2] 1 2 1 2");
        QVERIFY(q(OpCase("Upsample", 10).operand(doubles({1}, {1})).refusal()).contains("not implemented at opset 10"));
    }

    /// Against central differences of the node bound anew, where the extent stays.
    void slopesByScalesAndRegion()
    {
        const Tensor x = randomTensor({3, 7}, DType::Float64, 3);
        for (const std::string mode : {"linear", "cubic", "nearest"}) {
            for (const std::string coordinates : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                                  "align_corners", "asymmetric", "tf_crop_and_resize"}) {
                for (const std::int64_t option : {0, 1, 2}) {
                    const bool isCrop = coordinates == "tf_crop_and_resize";
                    OpCase c("Resize", 19);
                    c.operand(x);
                    isCrop ? c.operand(doubles({4}, {0.11, 0.23, 0.9, 1.07})) : c.absent();
                    c.operand(doubles({2}, {1.57, 0.63})).known();
                    c.with("mode", mode).with("coordinate_transformation_mode", coordinates);
                    c.with("antialias", std::int64_t{option == 1 && mode != "nearest"})
                        .with("exclude_outside", std::int64_t{option == 2});
                    QVERIFY2(c.bind(), c.error().c_str());
                    const Tensor s = randomTensor(c.op().outputTypes()[0].shape, DType::Float64, 4);
                    for (const std::size_t slot : {std::size_t{1}, std::size_t{2}}) {
                        if (!c.operands()[slot].isValid()) {
                            continue;
                        }
                        const Tensor given = c.operands()[slot];
                        const Tensor part =
                            c.structure<ops::Differentiable>().pullback({&s, 1}, c.operands(), {}, slot);
                        const auto product = [&](std::int64_t i, double by) {
                            std::vector<double> moved;
                            for (std::int64_t k = 0; k < given.size(); ++k) {
                                moved.push_back(given.at(k) + (k == i ? by : 0));
                            }
                            OpCase other = c;
                            other.replaceOperand(slot, doubles(given.shape(), moved));
                            const Tensor asBound = c.forward(other.operands())[0];
                            const bool isBound = other.bind() && asBound.bitEqual(other.forward()[0]);
                            return isBound ? ops::algebra::dot(s, asBound) : std::nan("");
                        };
                        for (std::int64_t i = 0; i < given.size(); ++i) {
                            const double slope = (product(i, 1e-6) - product(i, -1e-6)) / 2e-6;
                            QVERIFY2(std::abs(part.at(i) - slope) < 1e-6 * (1 + std::abs(slope)),
                                     qPrintable(q(fmt::format("{} {} option {} operand {} number {}: {} but {}", mode,
                                                              coordinates, option, slot, i, part.at(i), slope))));
                        }
                    }
                }
            }
        }
    }

    void integersAreResized()
    {
        OpCase c("Resize", 19);
        c.operand(ints({1, 2})).absent().absent().constant(ints({4}));
        QCOMPARE(q(c.run()), "[4] 1 1 2 2");
    }

    void relevanceOfARepeatedElement()
    {
        OpCase c = resized({4, -2}, 4, "nearest", "half_pixel");
        QVERIFY(c.bind());
        QCOMPARE(q(carried(c, lrp::normRule({lrp::StabiliserKind::Add, 0, true}), doubles({4}, {1, 2, 3, 4}))),
                 "[2] 3 7");
        QCOMPARE(q(carried(c, lrp::gradientRule(), doubles({4}, {1, 2, 3, 4}))), "[2] 3 7");
    }

    void relevanceBetweenElements()
    {
        OpCase c = resized({1, 3}, 3, "linear", "align_corners"); // 1 2 3
        QVERIFY(c.bind());
        QCOMPARE(q(carried(c, lrp::normRule({lrp::StabiliserKind::Add, 0, true}), doubles({3}, {0, 8, 0}))), "[2] 2 6");
        QCOMPARE(q(carried(c, lrp::gradientRule(), doubles({3}, {0, 8, 0}))), "[2] 4 4");
    }

    void sampledImage()
    {
        const Tensor image = doubles({1, 1, 2, 2}, {1, 2, 3, 4});
        OpCase c = OpCase("GridSample", 20).operand(image).operand(doubles({1, 1, 2, 2}, {0, 0, 0.5, -0.5}));
        QCOMPARE(q(c.run()), "[1 × 1 × 1 × 2] 2.5 2");
        QCOMPARE(q(carried(c, lrp::normRule({lrp::StabiliserKind::Add, 0, true}), doubles({1, 1, 1, 2}, {5, 0}))),
                 "[1 × 1 × 2 × 2] 0.5 1 1.5 2");
        OpCase outside = OpCase("GridSample", 20).operand(image).operand(doubles({1, 1, 1, 2}, {-3, -0.5}));
        QCOMPARE(q(outside.run()), "[1 × 1 × 1 × 1] 0");
        QCOMPARE(q(outside.with("padding_mode", std::string("border")).run()), "[1 × 1 × 1 × 1] 1");
        QCOMPARE(q(outside.with("padding_mode", std::string("reflection")).run()), "[1 × 1 × 1 × 1] 2");
    }

    /// Each of the neighbours is moved into the image, the point is not (PyTorch, onnxruntime 1.32).
    void cubicSamplesBesideTheImage()
    {
        std::vector<double> squares;
        for (int i = 0; i < 9; ++i) {
            squares.push_back(i * i / 10.0);
        }
        const auto sampled = [&](const char* padding, std::int64_t alignsCorners) {
            OpCase c = OpCase("GridSample", 16).operand(doubles({1, 1, 3, 3}, squares));
            c.operand(doubles({1, 1, 2, 2}, {-1.5, 0.3, 0.2, 1.7})).with("padding_mode", std::string(padding));
            c.with("mode", std::string("bicubic")).with("align_corners", alignsCorners);
            return c.bind() ? c.forward()[0] : Tensor();
        };
        const auto want = [](double a, double b) { return doubles({1, 1, 1, 2}, {a, b}); };
        QVERIFY(distance(sampled("border", 0), want(2.1901791, 5.4618220)) < 1e-6);
        QVERIFY(distance(sampled("border", 1), want(1.6650044, 5.4524403)) < 1e-6);
        QVERIFY(distance(sampled("reflection", 0), want(2.3798261, 3.6734903)) < 1e-6);
        QVERIFY(distance(sampled("reflection", 1), want(2.1619432, 3.1667235)) < 1e-6);
        QVERIFY(distance(sampled("zeros", 0), want(-0.2627111, -0.4814924)) < 1e-5);
    }

    void affineGrid()
    {
        OpCase c = OpCase("AffineGrid", 20).operand(doubles({1, 2, 3}, {1, 0, 0, 0, 2, 0.5}));
        QCOMPARE(q(c.constant(ints({1, 1, 1, 2})).run()), "[1 × 1 × 2 × 2] -0.5 0.5 0.5 0.5");
    }

    void overlappingColumnsAdd()
    {
        OpCase c = OpCase("Col2Im", 18).operand(doubles({1, 2, 2}, {1, 2, 10, 20}));
        QCOMPARE(q(c.constant(ints({3})).constant(ints({2})).run()), "[1 × 1 × 3] 1 12 20");
        QCOMPARE(q(carried(c, lrp::normRule({lrp::StabiliserKind::Add, 0, true}), doubles({1, 1, 3}, {1, 6, 3}))),
                 "[1 × 2 × 2] 1 1 5 3");
    }

    void centre()
    {
        OpCase c = OpCase("CenterCropPad", 18).operand(doubles({1, 4}, {1, 2, 3, 4})).constant(ints({3, 2}));
        QCOMPARE(q(c.run()), "[3 × 2] 0 0 2 3 0 0");
        QCOMPARE(q(textOf(c.structure<ops::ShapeMap>().carryBack(
                     std::vector<Tensor>{doubles({3, 2}, {1, 2, 3, 4, 5, 6})}, 0))),
                 "[1 × 4] 0 3 4 0");
    }

    void regions()
    {
        const Tensor image = doubles({1, 1, 2, 2}, {1, 2, 3, 4});
        const Tensor whole = doubles({1, 4}, {0, 0, 2, 2});
        OpCase c = OpCase("RoiAlign", 16).operand(image).constant(whole).constant(ints({0}));
        QCOMPARE(q(c.with("sampling_ratio", std::int64_t{1}).run()), "[1 × 1 × 1 × 1] 2.5");
        OpCase most = OpCase("MaxRoiPool").operand(image).constant(doubles({1, 5}, {0, 0, 0, 1, 1}));
        QCOMPARE(q(most.with("pooled_shape", Ints{1, 2}).run()), "[1 × 1 × 1 × 2] 3 4");
    }

    /// Values of onnxruntime 1.32: a sample outside is 0, and where the image ends is decided in float32.
    void regionsBesideTheImage()
    {
        const auto aligned = [](const Tensor& image, const std::vector<double>& region, std::int64_t samples) {
            OpCase c = OpCase("RoiAlign", 16).operand(image).constant(doubles({1, 4}, region)).constant(ints({0}));
            c.with("coordinate_transformation_mode", std::string("output_half_pixel"));
            return c.with("sampling_ratio", samples);
        };
        const Tensor negative = doubles({1, 1, 2, 2}, {-1, -2, -3, -4});
        OpCase most = aligned(negative, {-3.5, 0.1, 1.4, 1.1}, 2).with("mode", std::string("max"));
        QVERIFY(most.bind());
        QCOMPARE(most.forward()[0].at(0), 0.0);
        OpCase last = aligned(doubles({1, 1, 1, 2}, {1, 2}), {2.25, 0.75, 3.75, 1}, 1);
        last.with("spatial_scale", static_cast<double>(1.0F / 3)).with("output_height", std::int64_t{2});
        QCOMPARE(q(last.run()), "[1 × 1 × 2 × 1] 2 2");
    }

    /// As onnxruntime 1.32 refuses them.
    void regionsThatAreNoneAreRefused()
    {
        const auto checked = [](OpCase c) {
            const bool isBound = c.bind();
            const auto result = c.op().check(c.operands());
            return q(!isBound ? c.error() : result.ok() ? "taken" : result.error().message);
        };
        const Tensor image = doubles({1, 1, 1, 4}, {1, 2, 3, 4});
        const auto aligned = [&](const std::vector<double>& region) {
            return checked(OpCase("RoiAlign", 16).operand(image).operand(doubles({1, 4}, region)).operand(ints({0})));
        };
        QVERIFY(aligned({0, 0, std::nan(""), 1}).contains("not finite"));
        QVERIFY(aligned({3, 0, 1, 1}).contains("has its corners in reverse"));
        QCOMPARE(aligned({3, 3, 1, 0}), "taken"); // along both axes: no samples, 0
        const auto pooled = [&](double right, double scale) {
            OpCase c = OpCase("MaxRoiPool").operand(image).operand(doubles({1, 5}, {0, 0, 0, right, 1}));
            return c.with("pooled_shape", Ints{1, 2}).with("spatial_scale", scale);
        };
        QVERIFY(checked(pooled(HUGE_VAL, 1)).contains("not finite"));
        QVERIFY(q(pooled(1, 0).refusal()).contains("spatial_scale 0 is not above 0"));
    }

    void boxesThatOverlapAreDropped()
    {
        OpCase c("NonMaxSuppression", 11);
        c.constant(doubles({1, 3, 4}, {0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 10, 1, 11}));
        c.constant(doubles({1, 1, 3}, {0.8, 0.9, 0.3})).constant(ints({3})).constant(doubles({1}, {0.5}));
        QCOMPARE(q(c.run()), "[2 × 3] 0 0 1 0 0 2");
        c.constant(doubles({1}, {0.4}));
        QCOMPARE(q(c.run()), "[1 × 3] 0 0 1");
        QVERIFY(c.op().structure().kind() == ops::StructureKind::NoRelevance);
        // Boxes without extent suppress nothing: every pair is compared, of which there are more than half a billion.
        constexpr std::int64_t kMany = 33'000;
        OpCase many("NonMaxSuppression", 11);
        many.constant(doubles({1, kMany, 4}, std::vector<double>(4 * kMany, 1)));
        many.constant(doubles({1, 1, kMany}, std::vector<double>(kMany, 0.5))).constant(ints({kMany}));
        QVERIFY(q(many.refusal()).contains("pairs of boxes"));
    }

    void rulesOfComposedOperators()
    {
        OpCase c = OpCase("Attention", 23).operand(doubles({1, 1, 1, 1}, {1})).operand(doubles({1, 1, 1, 1}, {1}));
        c.operand(doubles({1, 1, 1, 1}, {1}));
        QVERIFY(c.bind());
        std::set<std::string> accepted;
        for (const std::string_view name : lrp::ruleNames()) {
            const auto rule = lrp::makeRule(name, {});
            if (rule.ok() && (*rule)->accepts(c.op().structure())) {
                accepted.emplace(name);
            }
        }
        QCOMPARE(accepted, (std::set<std::string>{"decomposed", "gradient", "stop"}));
    }

    void relevancePassesANormalisation()
    {
        OpCase c =
            OpCase("LayerNormalization", 17).operand(doubles({1, 3}, {1, 2, 6})).constant(doubles({3}, {1, 1, 1}));
        QVERIFY(c.bind());
        QCOMPARE(q(carried(c, lrp::passRule(), doubles({1, 3}, {5, 0, -1}))), "[1 × 3] 5 0 -1");
    }

    /// Mean and 1/deviation, too: what arrives at them is handed on in full where epsilon is 0.
    void relevanceOfTheStatisticsOfANormalisation()
    {
        OpCase c =
            OpCase("LayerNormalization", 17).operand(doubles({1, 3}, {1, 2, 6})).constant(doubles({3}, {1, 1, 1}));
        QVERIFY(c.with("epsilon", 0.0).outputs(3).bind());
        const std::vector<Tensor> outputs = c.forward();
        const std::vector<ops::TensorType> types{{DType::Float64, {1, 3}}, {DType::Float64, {3}}};
        const std::vector<std::uint8_t> tracked{1, 0};
        const lrp::RulePointer exact = lrp::detachedDeviationRule({lrp::StabiliserKind::Add, 0, true});
        for (const std::size_t k : {1, 2}) {
            std::vector<Tensor> relevance(3);
            relevance[k] = doubles({1, 1}, {7});
            const auto share = [&](const lrp::RulePointer& rule) {
                return rule->apply({c.op(), c.operands(), outputs, relevance, tracked, types}).front();
            };
            // The mean is 3, the variance 14/3: x/9 of it, x·(x − 3)/14 of 1/deviation.
            const Tensor want = k == 1 ? doubles({1, 3}, {7.0 / 9, 14.0 / 9, 42.0 / 9}) : doubles({1, 3}, {-1, -1, 9});
            QVERIFY(distance(share(exact), want) < 1e-12);
            QVERIFY(distance(share(lrp::passRule()), want) < 1e-5); // its stabiliser is 1e-6
            QVERIFY(lrp::passRule()->reads(c.op(), tracked).operand(0));
        }
    }

    void transforms()
    {
        OpCase c = OpCase("DFT", 17).operand(doubles({1, 4, 1}, {1, 0, 0, -1}));
        QCOMPARE(q(c.run()), "[1 × 4 × 2] 0 0 1 -1 2 0 1 1");
        QCOMPARE(
            q(OpCase("DFT", 17).with("onesided", std::int64_t{1}).operand(doubles({1, 4, 1}, {1, 0, 0, -1})).run()),
            "[1 × 3 × 2] 0 0 1 -1 2 0");
        OpCase back = OpCase("DFT", 20).operand(doubles({1, 2, 2}, {3, 0, 1, 0}));
        QCOMPARE(q(back.with("inverse", std::int64_t{1}).run()), "[1 × 2 × 2] 2 0 1 0");
        const auto half = [](std::int64_t length, std::int64_t opset) {
            OpCase inverse("DFT", opset);
            inverse.operand(doubles({1, 3, 2}, {1, 0, 2, -1, 0.5, 3})).with("inverse", std::int64_t{1});
            inverse.with("onesided", std::int64_t{1});
            return q((length == 0 ? inverse : inverse.constant(ints({length}).reshaped({}))).run());
        };
        for (const std::int64_t opset : {17, 20}) { // numpy.fft.irfft
            QCOMPARE(half(0, opset), "[1 × 4 × 1] 1.375 0.625 -0.625 -0.375");
            QCOMPARE(half(5, opset), "[1 × 5 × 1] 1.2 -0.039509 0.990972 -1.761792 0.61033");
            QCOMPARE(half(3, opset), "[1 × 3 × 1] 1.666667 0.244017 -0.910684");
        }
        OpCase real = OpCase("DFT", 20).with("inverse", std::int64_t{1}).with("onesided", std::int64_t{1});
        QVERIFY(q(real.operand(doubles({1, 4, 1}, {1, 0, 0, -1})).refusal()).contains("where inverse is 1"));
        OpCase frames = OpCase("STFT", 17).operand(doubles({1, 4}, {1, 2, 3, 4})).constant(ints({2}).reshaped({}));
        QCOMPARE(q(frames.constant(doubles({2}, {1, 1})).run()), "[1 × 2 × 2 × 2] 3 0 -1 0 7 0 -1 0");
        QVERIFY(q(OpCase("DFT", 17).operand(doubles({1, 2, 3}, {1, 2, 3, 4, 5, 6})).refusal()).contains("last axis"));
    }

    void windowFunctions()
    {
        const auto table = [](const char* op) {
            return q(OpCase(op, 17).with("periodic", std::int64_t{0}).constant(ints({3}).reshaped({})).run());
        };
        QCOMPARE(table("HannWindow"), "[3] 0 1 0");
        QCOMPARE(table("HammingWindow"), "[3] 0.086957 1 0.086957");
        OpCase third = OpCase("BlackmanWindow", 17).constant(ints({4}).reshaped({}));
        QVERIFY(third.bind() &&
                distance(third.forward()[0].to(DType::Float64), doubles({4}, {0, 0.34, 1, 0.34})) < 1e-6);
        QCOMPARE(q(OpCase("HannWindow", 17).constant(ints({4}).reshaped({})).run()), "[4] 0 0.5 1 0.5");
    }
};

QTEST_GUILESS_MAIN(ResampleTest)
#include "resampletest.moc"
