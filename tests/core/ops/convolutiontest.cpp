// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose: values by hand, the definition, adjoints, and float against the reference over odd geometry.
#include "tests/core/ops/opcase.h"

#include "core/base/memoryaccount.h"
#include "core/ops/kernel/sparsetransposed.h"
#include "core/ops/onednn/convolutionslabs.h"
#include "core/ops/onednn/phasedtranspose.h"
#include "core/ops/onednn/samplesbeside.h"
#include "core/ops/samplewisemap.h"
#include "core/ops/stackedpullback.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <thread>

using namespace retro::tests;
using retro::ops::LinearMap;
using retro::ops::WeightPart;
using retro::ops::WeightVariant;
using Ints = std::vector<std::int64_t>;

namespace
{

struct Geometry
{
    const char* name;
    Shape x;
    Shape w;
    std::int64_t groups = 1;
    Ints strides = {};
    Ints pads = {};
    Ints dilations = {};
    Ints outputPadding = {};
    const char* autoPad = "NOTSET";
    Ints outputShape = {};
};

const std::vector<Geometry> kConvolutions{
    {"3x3", {2, 3, 7, 9}, {4, 3, 3, 3}},
    {"1x1", {1, 16, 5, 5}, {8, 16, 1, 1}},
    {"padded", {1, 3, 6, 5}, {5, 3, 3, 3}, 1, {1, 1}, {1, 1, 1, 1}},
    {"uneven pads and strides", {1, 2, 9, 8}, {3, 2, 3, 2}, 1, {2, 3}, {0, 1, 2, 0}},
    {"stride leaves a rest", {1, 2, 8, 8}, {3, 2, 3, 3}, 1, {2, 2}, {}},
    {"dilated", {1, 2, 11, 12}, {3, 2, 3, 3}, 1, {1, 2}, {2, 1, 2, 1}, {2, 3}},
    {"groups", {2, 6, 6, 6}, {9, 2, 3, 3}, 3, {1, 1}, {1, 1, 1, 1}},
    {"depthwise", {1, 8, 6, 7}, {8, 1, 3, 3}, 8, {2, 2}, {1, 1, 1, 1}},
    {"wide", {1, 17, 4, 4}, {33, 17, 3, 3}, 1, {}, {1, 1, 1, 1}},
    {"pads larger than the kernel", {1, 2, 4, 4}, {3, 2, 2, 2}, 1, {}, {3, 3, 3, 3}},
    {"same upper", {1, 2, 7, 8}, {3, 2, 4, 3}, 1, {2, 3}, {}, {}, {}, "SAME_UPPER"},
    {"same lower", {1, 2, 7, 8}, {3, 2, 4, 3}, 1, {2, 3}, {}, {}, {}, "SAME_LOWER"},
    {"valid", {1, 2, 7, 8}, {3, 2, 4, 3}, 1, {2, 1}, {}, {}, {}, "VALID"},
    {"one axis", {2, 3, 17}, {4, 3, 5}, 1, {2}, {2, 1}, {2}},
    {"three axes", {1, 2, 5, 6, 7}, {3, 2, 3, 2, 3}, 1, {1, 2, 1}, {1, 0, 1, 0, 1, 1}},
    {"more windows than a block", {1, 2, 40, 41}, {3, 2, 3, 3}},
    // Of stride 1 with many windows: the transposed map is computed as a convolution.
    {"turned, padded", {2, 3, 29, 30}, {18, 3, 3, 3}, 1, {}, {1, 1, 1, 1}},
    {"turned, uneven pads, dilated", {1, 2, 33, 31}, {3, 2, 3, 2}, 1, {}, {0, 1, 3, 0}, {2, 1}},
    {"turned, padding over the kernel", {1, 2, 33, 31}, {3, 2, 3, 3}, 1, {}, {3, 3, 3, 3}},
    {"turned, one axis", {1, 3, 900}, {4, 3, 5}, 1, {}, {4, 0}},
    {"turned, three axes", {1, 2, 10, 11, 10}, {3, 2, 3, 1, 2}, 1, {}, {1, 0, 0, 1, 0, 1}},
    // Strided, few channels: the transposed map is computed phase by phase.
    {"phases of a stem", {2, 3, 23, 22}, {19, 3, 7, 7}, 1, {2, 2}, {3, 3, 3, 3}},
    {"phases of patches", {2, 3, 16, 12}, {10, 3, 4, 4}, 1, {4, 4}},
    {"phases without a tap", {1, 1, 17, 19}, {6, 1, 2, 3}, 1, {3, 5}, {1, 0, 0, 2}},
    {"phases, begin beyond a block", {1, 2, 13, 14}, {5, 2, 7, 6}, 1, {2, 3}, {4, 5, 1, 0}},
    {"phases, padding over the kernel", {1, 2, 9, 9}, {5, 2, 3, 3}, 1, {2, 2}, {5, 5, 5, 5}},
    {"phases, one axis", {2, 1, 50}, {8, 1, 10}, 1, {4}, {3, 2}},
    {"phases, three axes", {2, 2, 7, 8, 9}, {4, 2, 3, 4, 3}, 1, {2, 3, 2}, {1, 0, 1, 1, 2, 0}},
};

// Whole planes of eight channels, which narrow registers compute in; those beyond some 400,000 numbers in slabs.
const std::vector<Geometry> kInEights{
    {"planes of eight", {2, 8, 9, 7}, {16, 8, 3, 3}, 1, {}, {1, 1, 1, 1}},
    {"planes of eight, strides", {3, 16, 9, 8}, {8, 16, 3, 2}, 1, {2, 1}, {0, 1, 2, 1}},
    {"planes of eight, one axis", {2, 8, 40}, {8, 8, 5}, 1, {2}, {2, 2}},
    {"planes of eight, three axes", {1, 8, 4, 5, 6}, {8, 8, 2, 3, 3}, 1, {}, {1, 0, 1, 0, 1, 1}},
    {"samples together", {5, 8, 90, 90}, {8, 8, 3, 3}, 1, {}, {1, 1, 1, 1}},
    {"samples beside each other", {8, 8, 7, 7}, {16, 8, 3, 3}, 1, {}, {1, 1, 1, 1}},
    {"samples beside each other, strides", {6, 16, 14, 14}, {8, 16, 3, 3}, 1, {2, 2}, {1, 1, 1, 1}},
    {"samples beside each other, uneven, dilated", {7, 8, 5, 4}, {8, 8, 2, 3}, 1, {1, 1}, {0, 3, 1, 1}, {1, 2}},
    {"samples beside each other, one axis", {9, 8, 10}, {8, 8, 5}, 1, {3}, {2, 2}},
    {"samples beside each other, three axes", {4, 8, 2, 3, 4}, {8, 8, 2, 2, 3}, 1, {}, {1, 0, 1, 0, 1, 1}},
    {"slabs", {2, 8, 171, 170}, {8, 8, 3, 3}, 1, {}, {1, 1, 1, 1}},
    {"slabs, uneven, dilated", {1, 8, 260, 200}, {8, 8, 3, 2}, 1, {2, 1}, {3, 1, 0, 2}, {2, 1}},
    {"slabs, padding over the kernel", {1, 8, 170, 170}, {8, 8, 2, 2}, 1, {}, {3, 3, 3, 3}},
    {"slabs, one axis", {1, 8, 30000}, {8, 8, 5}, 1, {3}, {2, 1}},
};

// Whole halves of the columns that lists are summed in.
const std::vector<Geometry> kSparse{
    {"sparse, 3x3", {2, 64, 20, 24}, {40, 64, 3, 3}, 1, {}, {1, 1, 1, 1}},
    {"sparse, half of the columns", {1, 96, 14, 15}, {33, 96, 3, 2}, 1, {}, {0, 1, 2, 0}},
    {"sparse, many filters", {1, 64, 8, 8}, {257, 64, 3, 3}, 1, {}, {1, 1, 1, 1}},
    {"sparse, strides and dilation", {2, 32, 31, 30}, {64, 32, 3, 4}, 1, {2, 3}, {3, 1, 2, 5}, {2, 3}},
    {"sparse, padding over the kernel", {1, 64, 15, 15}, {32, 64, 2, 2}, 1, {}, {3, 4, 3, 2}},
    {"sparse, stride leaves a rest", {1, 64, 30, 31}, {64, 64, 3, 3}, 1, {4, 4}},
    {"sparse, one axis", {2, 64, 300}, {32, 64, 5}, 1, {2}, {1, 2}},
};

const std::vector<Geometry> kTransposed{
    {"2x2 stride 2", {1, 4, 3, 3}, {4, 3, 2, 2}, 1, {2, 2}},
    {"3x3 padded", {2, 3, 5, 4}, {3, 5, 3, 3}, 1, {2, 1}, {1, 1, 1, 1}},
    {"output padding", {1, 3, 4, 4}, {3, 2, 3, 3}, 1, {2, 2}, {1, 1, 1, 1}, {}, {1, 1}},
    {"groups", {1, 6, 4, 4}, {6, 2, 3, 3}, 3, {1, 1}, {1, 0, 1, 0}},
    {"dilated", {1, 2, 4, 5}, {2, 3, 3, 2}, 1, {2, 1}, {}, {2, 3}},
    {"rim that no window reads", {1, 2, 3, 3}, {2, 2, 1, 1}, 1, {3, 3}, {}, {}, {2, 2}},
    {"output shape", {1, 2, 3, 3}, {2, 3, 3, 3}, 1, {3, 2}, {}, {}, {}, "NOTSET", {10, 8}},
    {"same upper", {1, 2, 4, 3}, {2, 3, 3, 3}, 1, {2, 2}, {}, {}, {}, "SAME_UPPER"},
    {"same lower", {1, 2, 4, 3}, {2, 3, 3, 3}, 1, {2, 2}, {}, {}, {}, "SAME_LOWER"},
    {"one axis", {2, 3, 6}, {3, 4, 4}, 1, {3}, {1, 2}},
    {"three axes", {1, 2, 3, 2, 3}, {2, 3, 2, 3, 2}, 1, {2, 1, 2}},
};

OpCase caseOf(const char* op, const Geometry& g, DType dtype, bool withBias = true)
{
    OpCase c(op);
    c.operand(randomTensor(g.x, DType::Float64, 3).to(dtype));
    c.constant(randomTensor(g.w, DType::Float64, 4).to(dtype));
    if (withBias) {
        const std::int64_t channels = std::string(op) == "Conv" ? g.w[0] : g.w[1] * g.groups;
        c.constant(randomTensor({channels}, DType::Float64, 5).to(dtype));
    }
    c.with("group", g.groups).with("auto_pad", std::string(g.autoPad));
    const std::array lists{std::pair{"strides", g.strides}, std::pair{"pads", g.pads},
                           std::pair{"dilations", g.dilations}, std::pair{"output_padding", g.outputPadding},
                           std::pair{"output_shape", g.outputShape}};
    for (const auto& [name, list] : lists) {
        if (!list.empty()) {
            c.with(name, list);
        }
    }
    return c;
}

void compareFloatWithReference(const char* op, const Geometry& g,
                               const std::vector<WeightVariant>& variants = allVariants())
{
    OpCase wide = caseOf(op, g, DType::Float64);
    OpCase narrow = caseOf(op, g, DType::Float32);
    QVERIFY2(wide.bind() && narrow.bind(), (g.name + (": " + wide.error())).c_str());
    QVERIFY2(distance(narrow.forward()[0].to(DType::Float64), wide.forward()[0]) < 1e-5, g.name);
    const Tensor s = randomTensor(wide.op().outputTypes()[0].shape, DType::Float64, 9);
    for (const WeightVariant variant : variants) {
        const LinearMap& reference = wide.structure<LinearMap>();
        const LinearMap& fast = narrow.structure<LinearMap>();
        const Tensor applied = fast.apply(narrow.operands()[0], variant);
        const Tensor pulled = fast.pullback(s.to(DType::Float32), variant);
        QVERIFY2(distance(applied.to(DType::Float64), reference.apply(wide.operands()[0], variant)) < 1e-5, g.name);
        QVERIFY2(distance(pulled.to(DType::Float64), reference.pullback(s, variant)) < 1e-5, g.name);
        QVERIFY2(adjointGap(reference, wide.operands()[0], s, variant) < 1e-13, g.name);
    }
}

/// Three elements of four and the whole first sample, row and filter are 0.
Tensor sparseTensor(const Shape& shape)
{
    const Tensor dense = randomTensor(shape, DType::Float64, 5);
    std::vector<double> values;
    for (std::int64_t i = 0; i < dense.size(); ++i) {
        values.push_back(i % 4 == i / 7 % 4 && i > 64 ? dense.at(i) : 0);
    }
    return Tensor::of<double>(shape, values);
}

/// What is pulled back of a result that is 0 almost everywhere, of the whole and by lists, against the reference.
void compareSparse(const Geometry& g)
{
    OpCase wide = caseOf("Conv", g, DType::Float64);
    OpCase narrow = caseOf("Conv", g, DType::Float32);
    QVERIFY2(wide.bind() && narrow.bind(), (g.name + (": " + wide.error())).c_str());
    const Tensor s = sparseTensor(wide.op().outputTypes()[0].shape);
    for (const WeightVariant variant : allVariants()) {
        const Tensor pulled = narrow.structure<LinearMap>().pullback(s.to(DType::Float32), variant);
        const Tensor expected = wide.structure<LinearMap>().pullback(s, variant);
        QVERIFY2(distance(pulled.to(DType::Float64), expected) < 1e-5, g.name);
    }
}

/// Sums over boxes against the convolution whose weights are all 1.
void compareOnes(const char* op, const Geometry& g, DType dtype)
{
    OpCase c = caseOf(op, g, dtype, false);
    OpCase ones(op);
    ones.operand(c.operands()[0]).constant(Tensor::full(dtype, g.w, 1));
    c.copyAttributesTo(ones);
    QVERIFY2(c.bind() && ones.bind(), g.name);
    const LinearMap& map = c.structure<LinearMap>();
    const LinearMap& ofOnes = ones.structure<LinearMap>();
    const Tensor s = randomTensor(c.op().outputTypes()[0].shape, DType::Float64, 9).to(dtype);
    const WeightVariant variant{WeightPart::Ones, 0};
    const double tolerance = dtype == DType::Float32 ? 1e-5 : 1e-13;
    QVERIFY2(distance(map.apply(c.operands()[0], variant), ofOnes.apply(c.operands()[0], {})) < tolerance, g.name);
    QVERIFY2(distance(map.pullback(s, variant), ofOnes.pullback(s, {})) < tolerance, g.name);
}

/// One call for several variants against one call for each.
void compareStackedPullback(const char* op, const Geometry& g, DType dtype)
{
    OpCase c = caseOf(op, g, dtype);
    QVERIFY2(c.bind(), g.name);
    const LinearMap& map = c.structure<LinearMap>();
    RETRO_MADE(stacked, dynamic_cast<const retro::ops::StackedPullback*>(&map));
    const Tensor s = randomTensor(c.op().outputTypes()[0].shape, DType::Float64, 9).to(dtype);
    const std::vector<WeightVariant> variants{{}, {WeightPart::Positive, 0}, {WeightPart::GammaNegative, 0.5}};
    for (int again = 0; again < 2; ++again) {
        const std::vector<Tensor> parts = stacked->pullbackAll(s, variants);
        QCOMPARE(parts.size(), variants.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const Tensor alone = map.pullback(s, variants[i]);
            QVERIFY2(dtype == DType::Float64 ? parts[i].bitEqual(alone) : distance(parts[i], alone) < 1e-5, g.name);
        }
    }
}

/// The map of numbers that are the same everywhere against that of a whole batch of them; asked again, and with others.
void compareConstantSample(const char* op, const Geometry& g, DType dtype)
{
    OpCase c = caseOf(op, g, dtype);
    QVERIFY2(c.bind(), g.name);
    const LinearMap& map = c.structure<LinearMap>();
    RETRO_MADE(sampleWise, dynamic_cast<const retro::ops::SampleWiseMap*>(&map));
    for (const std::int64_t count : {g.x[1], std::int64_t{1}, g.x[1]}) {
        Shape column(g.x.size(), 1);
        column[1] = count;
        const Tensor values = randomTensor(column, DType::Float64, 6).to(dtype);
        const Tensor everywhere = retro::ops::algebra::broadcastTo(values, g.x).contiguous();
        const Tensor inDouble = values.to(DType::Float64);
        const std::span<const double> perChannel(inDouble.data<double>(), static_cast<std::size_t>(count));
        for (const WeightVariant variant : allVariants()) {
            const Tensor alone = sampleWise->applyToConstant(perChannel, variant);
            QVERIFY(alone.bitEqual(sampleWise->applyToConstant(perChannel, variant)));
            const Tensor together = map.apply(everywhere, variant);
            QCOMPARE(alone.shape()[0], 1);
            const Tensor repeated = retro::ops::algebra::broadcastTo(alone, together.shape());
            QVERIFY2(distance(repeated, together) < (dtype == DType::Float32 ? 1e-5 : 1e-13), g.name);
        }
    }
}

/// A two-dimensional convolution by its definition, without padding, groups or dilation.
Tensor naive(const Tensor& x, const Tensor& w, std::int64_t stride)
{
    const Shape& xs = x.shape();
    const Shape& ws = w.shape();
    const Shape zs{xs[0], ws[0], (xs[2] - ws[2]) / stride + 1, (xs[3] - ws[3]) / stride + 1};
    std::vector<double> z;
    for (std::int64_t i = 0; i < retro::tensor::elementCount(zs); ++i) {
        const std::int64_t column = i % zs[3];
        const std::int64_t row = i / zs[3] % zs[2];
        const std::int64_t filter = i / zs[3] / zs[2] % zs[1];
        const std::int64_t n = i / zs[3] / zs[2] / zs[1];
        double sum = 0;
        for (std::int64_t k = 0; k < ws[1] * ws[2] * ws[3]; ++k) {
            const std::int64_t kx = k % ws[3];
            const std::int64_t ky = k / ws[3] % ws[2];
            const std::int64_t c = k / ws[3] / ws[2];
            const std::int64_t at = ((n * xs[1] + c) * xs[2] + row * stride + ky) * xs[3] + column * stride + kx;
            sum += x.at(at) * w.at(filter * ws[1] * ws[2] * ws[3] + k);
        }
        z.push_back(sum);
    }
    return doubles(zs, z);
}

} // namespace

class ConvolutionTest : public QObject
{
    Q_OBJECT
private slots:
    void byHand()
    {
        const Tensor x = doubles({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
        const Tensor w = doubles({1, 1, 2, 2}, {1, 0, 0, -1});
        QCOMPARE(q(OpCase("Conv").operand(x).constant(w).run()), "[1 × 1 × 2 × 2] -4 -4 -4 -4");
        QCOMPARE(q(OpCase("Conv").operand(x).constant(w).constant(doubles({1}, {10})).run()),
                 "[1 × 1 × 2 × 2] 6 6 6 6");
        QCOMPARE(
            q(OpCase("Conv").with("pads", Ints{1, 1, 0, 0}).with("strides", Ints{2, 2}).operand(x).constant(w).run()),
            "[1 × 1 × 2 × 2] -1 -3 -7 -4");
        const Tensor small = doubles({1, 1, 2, 2}, {1, 2, 3, 4});
        QCOMPARE(q(OpCase("ConvTranspose").operand(small).constant(w).run()), "[1 × 1 × 3 × 3] 1 2 0 3 3 -2 0 -3 -4");
        QCOMPARE(q(OpCase("ConvTranspose").with("strides", Ints{2, 2}).operand(small).constant(w).run()),
                 "[1 × 1 × 4 × 4] 1 0 2 0 0 -1 0 -2 3 0 4 0 0 -3 0 -4");
    }

    void referenceIsTheDefinition()
    {
        const Tensor x = randomTensor({2, 3, 8, 9});
        const Tensor w = randomTensor({4, 3, 3, 2}, DType::Float64, 2);
        for (const std::int64_t stride : {1, 2}) {
            OpCase c("Conv");
            QVERIFY(c.with("strides", Ints{stride, stride}).operand(x).constant(w).bind());
            QVERIFY(distance(c.forward()[0], naive(x, w, stride)) < 1e-14);
        }
    }

    void floatAgreesWithTheReference()
    {
        for (const Geometry& g : kConvolutions) {
            compareFloatWithReference("Conv", g);
        }
        for (const Geometry& g : kInEights) {
            compareFloatWithReference("Conv", g, {{WeightPart::Positive, 0}});
        }
        for (const Geometry& g : kTransposed) {
            compareFloatWithReference("ConvTranspose", g);
        }
    }

    // The library's own scratch memory belongs to the thread that made the primitive.
    void anotherThreadMayRunIt()
    {
        for (const Geometry& g : kConvolutions) {
            OpCase c = caseOf("Conv", g, DType::Float32, false);
            QVERIFY(c.bind());
            const LinearMap& map = c.structure<LinearMap>();
            const Tensor s = randomTensor(c.op().outputTypes()[0].shape, DType::Float64, 9).to(DType::Float32);
            const WeightVariant positive{WeightPart::Positive, 0};
            const Tensor applied = map.apply(c.operands()[0], positive);
            const Tensor pulled = map.pullback(s, positive);
            std::thread([&] {
                QVERIFY2(distance(map.apply(c.operands()[0], positive), applied) == 0, g.name);
                QVERIFY2(distance(map.pullback(s, positive), pulled) == 0, g.name);
            }).join();
        }
    }

    void mostlyZeroIsPulledBackByLists()
    {
        for (const Geometry& g : kSparse) {
            compareSparse(g);
        }
    }

    // What the lists sum is seen by itself: whether the map takes this way depends on how much is 0.
    void listsAreForFewNumbers()
    {
        using retro::ops::SparseTransposed;
        using retro::ops::reference::ConvolutionShape;
        const ConvolutionShape shape{1, 1, 64, 64, {{16, 16, 3, 1, 1, 1, 1}, {16, 16, 3, 1, 1, 1, 1}}};
        QVERIFY(SparseTransposed::fits(shape));
        const SparseTransposed sparse(shape);
        std::vector<float> result(16 * 16 * 64, 0.0F);
        for (std::size_t i = 0; i < result.size(); i += 4) {
            result[i] = 1;
        }
        QVERIFY(sparse.isWorthIt(result.data()));
        const std::vector<float> weight(64 * 64 * 9, 1.0F);
        std::vector<float> image(16 * 16 * 64, 7.0F);
        sparse.run(result.data(), sparse.pack(weight.data()), image.data());
        QCOMPARE(image[(5 * 16 + 5) * 64], 9.0F * 16); // nine taps of sixteen filters
        QCOMPARE(image[0], 4.0F * 16);
        result[3] = std::numeric_limits<float>::quiet_NaN(); // is not 0
        sparse.run(result.data(), sparse.pack(weight.data()), image.data());
        QVERIFY(std::isnan(image[0]));
        QVERIFY(!sparse.isWorthIt(std::vector<float>(result.size(), 1.0F).data()));
        ConvolutionShape grouped = shape;
        grouped.groups = 2;
        ConvolutionShape narrow = shape;
        narrow.channels = 48;
        ConvolutionShape deep = shape;
        deep.axes.push_back(shape.axes[0]);
        ConvolutionShape small = shape;
        small.axes = {{4, 4, 3, 1, 1, 1, 1}, {4, 4, 3, 1, 1, 1, 1}};
        for (const ConvolutionShape& other : {grouped, narrow, deep, small}) {
            QVERIFY(!SparseTransposed::fits(other));
        }
    }

    void slabsAreTheWhole()
    {
        using retro::ops::onednn::slabsOf;
        using retro::ops::reference::ConvolutionShape;
        const ConvolutionShape shape{2, 1, 64, 64, {{224, 112, 3, 2, 1, 1, 0}, {224, 224, 3, 1, 1, 1, 1}}};
        const auto slabs = slabsOf(shape);
        QVERIFY(slabs.size() > 2);
        std::int64_t resultAt = 0;
        for (const auto& slab : slabs) {
            const auto& axis = slab.shape.axes[0];
            QCOMPARE(slab.resultAt, resultAt); // one after the other, and nothing twice
            const std::int64_t firstWindow = resultAt / (64 * 224) % 112;
            const std::int64_t firstRow = slab.imageAt / (64 * 224) % 224;
            QCOMPARE(firstRow - axis.padBegin, 2 * firstWindow - 1); // reads what the whole reads
            QCOMPARE((axis.image + axis.padBegin + axis.padEnd - axis.span()) / 2 + 1, axis.windows);
            QVERIFY(slab.shape.channels * slab.shape.imageSize() + slab.shape.filters * slab.shape.windowCount() <
                    500000);
            resultAt += slab.shape.batch * 64 * slab.shape.windowCount();
        }
        QCOMPARE(resultAt, 2 * 64 * shape.windowCount());
        ConvolutionShape heavy = shape;
        heavy.channels = heavy.filters = 512;
        QCOMPARE(slabsOf(heavy).size(), std::size_t(1));
        const ConvolutionShape small{64, 1, 64, 64, {{14, 14, 3, 1, 1, 1, 1}, {14, 14, 3, 1, 1, 1, 1}}};
        QCOMPARE(slabsOf(small).size(), std::size_t(4)); // of 16 samples each
    }

    void samplesAreLaidBesideEachOther()
    {
        using retro::ops::onednn::samplesBeside;
        using retro::ops::reference::ConvolutionShape;
        const ConvolutionShape sevens{8, 1, 64, 32, {{7, 7, 3, 1, 1, 1, 1}, {7, 7, 3, 1, 1, 1, 1}}};
        const auto beside = samplesBeside(sevens, false);
        QVERIFY(beside && samplesBeside(sevens, true));
        QCOMPARE(beside->shape.batch, 1);
        QVERIFY(beside->shape.axes[0] == sevens.axes[0]);
        QCOMPARE(beside->shape.axes[1].image, 7 * 8 + 7);
        QCOMPARE(beside->shape.axes[1].windows, 7 * 8 + 7);
        const ConvolutionShape strided{8, 1, 64, 32, {{14, 7, 3, 2, 1, 1, 0}, {14, 7, 3, 2, 1, 1, 0}}};
        const auto wide = samplesBeside(strided, false);
        QVERIFY(wide && !samplesBeside(strided, true));
        QCOMPARE(wide->imageStep, 16);
        QCOMPARE(wide->windowStep, 8);
        // Nothing is saved by one sample, by rows that are whole steps, and little by long ones.
        for (const auto& [batch, columns] : {std::pair{1, 7}, std::pair{8, 6}, std::pair{8, 14}, std::pair{8, 28}}) {
            const retro::ops::reference::WindowAxis axis{columns, columns, 3, 1, 1, 1, 1};
            QVERIFY(!samplesBeside({batch, 1, 64, 64, {axis, axis}}, false));
        }
    }

    void onesCountTheTapsInsideTheImage()
    {
        OpCase c("Conv");
        c.with("pads", Ints{1, 1, 1, 1}).operand(Tensor::full(DType::Float32, {1, 1, 3, 3}, 1));
        QVERIFY(c.constant(randomTensor({1, 1, 3, 3}, DType::Float32)).bind());
        const LinearMap& map = c.structure<LinearMap>();
        QCOMPARE(q(textOf(map.apply(c.operands()[0], {WeightPart::Ones, 0}))), "[1 × 1 × 3 × 3] 4 6 4 6 9 6 4 6 4");
        QCOMPARE(q(textOf(map.pullback(c.operands()[0], {WeightPart::Ones, 0}))), "[1 × 1 × 3 × 3] 4 6 4 6 9 6 4 6 4");
    }

    void biasBroadcastsToTheResult()
    {
        OpCase c = caseOf("Conv", kConvolutions[0], DType::Float64);
        QVERIFY(c.bind());
        const LinearMap& map = c.structure<LinearMap>();
        QVERIFY(map.hasBias());
        QVERIFY((map.bias({}).shape() == Shape{1, 4, 1, 1}));
        const Tensor rebuilt = retro::ops::algebra::addBroadcast(map.apply(c.operands()[0], {}), map.bias({}));
        QVERIFY(rebuilt.bitEqual(c.forward()[0]));
        OpCase without = caseOf("Conv", kConvolutions[0], DType::Float64, false);
        QVERIFY(without.bind());
        QVERIFY(!without.structure<LinearMap>().hasBias());
        QVERIFY(!without.structure<LinearMap>().bias({}).isValid());
    }

    void floatResultsAreChannelsLast()
    {
        OpCase c = caseOf("Conv", kConvolutions[0], DType::Float32);
        QVERIFY(c.bind());
        const Tensor z = c.forward()[0];
        QVERIFY(z.strides() == retro::tensor::channelsLastStrides(z.shape()));
    }

    void onesAreSumsOverBoxes()
    {
        for (const DType dtype : {DType::Float32, DType::Float64}) {
            for (const Geometry& g : kConvolutions) {
                compareOnes("Conv", g, dtype);
            }
            for (const Geometry& g : kTransposed) {
                compareOnes("ConvTranspose", g, dtype);
            }
        }
    }

    void variantsArePulledBackTogether()
    {
        for (const DType dtype : {DType::Float32, DType::Float64}) {
            for (const Geometry& g : kConvolutions) {
                compareStackedPullback("Conv", g, dtype);
            }
            for (const Geometry& g : kTransposed) {
                compareStackedPullback("ConvTranspose", g, dtype);
            }
        }
    }

    void oneSampleIsComputedAlone()
    {
        for (const DType dtype : {DType::Float32, DType::Float64}) {
            for (const Geometry& g : kConvolutions) {
                compareConstantSample("Conv", g, dtype);
            }
            for (const Geometry& g : kTransposed) {
                compareConstantSample("ConvTranspose", g, dtype);
            }
        }
    }

    void phasesAreForStridesAndFewChannels()
    {
        using retro::ops::onednn::PhasedTranspose;
        using retro::ops::reference::ConvolutionShape;
        ConvolutionShape stem{8, 1, 3, 64, {{224, 112, 7, 2, 1, 3, 3}, {224, 112, 7, 2, 1, 3, 3}}};
        RETRO_MADE(phased, PhasedTranspose::of(stem));
        QCOMPARE(phased->blocks().filters, 12);
        QCOMPARE(phased->blocks().taps(), 16);
        QCOMPARE(phased->blocks().axes[0].windows, 113);
        ConvolutionShape many = stem;
        many.channels = 64;
        ConvolutionShape dense = stem;
        dense.axes = {{224, 224, 7, 1, 1, 3, 3}, {224, 224, 7, 1, 1, 3, 3}};
        ConvolutionShape dilated = stem;
        dilated.axes = {{224, 109, 7, 2, 2, 3, 3}, {224, 109, 7, 2, 2, 3, 3}};
        ConvolutionShape grouped = stem;
        grouped.groups = 2;
        for (const ConvolutionShape& other : {many, dense, dilated, grouped}) {
            QVERIFY(!PhasedTranspose::of(other));
        }
    }

    // The first use of a variant makes a tensor of the size of the weights; later ones only their result, and what the
    // library computes in.
    void variantsOfWeightsAreMadeOnce()
    {
        OpCase c("Conv");
        c.operand(randomTensor({1, 64, 3, 3}, DType::Float32)).constant(randomTensor({64, 64, 3, 3}, DType::Float32));
        QVERIFY(c.bind());
        const LinearMap& map = c.structure<LinearMap>();
        const Tensor s = map.apply(c.operands()[0], {});
        retro::base::MemoryAccount& account = retro::base::MemoryAccount::tensors();
        const auto bytesOf = [&](WeightVariant variant) {
            const std::int64_t before = account.live();
            account.resetPeak();
            static_cast<void>(map.apply(c.operands()[0], variant));
            static_cast<void>(map.pullback(s, variant));
            return account.peak() - before;
        };
        const std::int64_t weights = c.operands()[1].bytes();
        for (const WeightPart part : {WeightPart::Positive, WeightPart::GammaPositive, WeightPart::Square}) {
            QVERIFY(bytesOf({part, 0.25}) >= weights);
            QVERIFY(bytesOf({part, 0.25}) < weights);
        }
        QVERIFY(bytesOf({WeightPart::GammaPositive, 0.5}) >= weights); // another variant
    }

    void emptyBatch()
    {
        for (const DType dtype : {DType::Float32, DType::Float64}) {
            OpCase c("Conv");
            c.operand(Tensor::zeros(dtype, {0, 3, 5, 5})).constant(Tensor::zeros(dtype, {2, 3, 3, 3}));
            QCOMPARE(q(c.run()), "[0 × 2 × 3 × 3]");
        }
    }

    void keepsOperandAndWeights()
    {
        OpCase c = caseOf("Conv", kConvolutions[0], DType::Float64);
        QVERIFY(c.bind());
        QCOMPARE(c.op().savedForGradient().operands, 3U);
        QCOMPARE(c.op().flops(), 2.0 * 2 * 4 * 3 * 9 * 5 * 7);
    }

    void computedWeightsTakeAsManyOperations()
    {
        OpCase c("Conv");
        const auto numbers = [](const Shape& shape) { return Tensor::full(DType::Float64, shape, 0.5); };
        c.operand(numbers({2, 3, 7, 8})).operand(numbers({4, 3, 3, 2}));
        QVERIFY(c.bind());
        QCOMPARE(c.op().flops(), 2.0 * 2 * 4 * 3 * 3 * 2 * 5 * 7);
    }
};

QTEST_GUILESS_MAIN(ConvolutionTest)
#include "convolutiontest.moc"
