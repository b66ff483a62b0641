// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm: values, linear maps with every weight variant, bilinear products, float against the reference.
#include "core/base/memoryaccount.h"
#include "core/base/memorylimit.h"
#include "core/ops/kernel/fewrows.h"
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <cmath>
#include <numeric>

using namespace retro::tests;
using retro::ops::Bilinear;
using retro::ops::FewRows;
using retro::ops::LinearMap;
using retro::ops::WeightPart;
using retro::ops::WeightVariant;

namespace
{

/// Shapes of a product, and which operand is constant.
struct Shapes
{
    const char* name;
    Shape a;
    Shape b;
    bool isLeftConstant = false;
};

const std::vector<Shapes> kShapes{
    {"matrix", {5, 7}, {7, 3}},
    {"one row", {1, 300}, {300, 17}},
    {"vector on the left", {7}, {7, 3}},
    {"vector on the right", {5, 7}, {7}},
    {"two vectors", {7}, {7}},
    {"batch by matrix", {2, 3, 5, 7}, {7, 4}},
    {"batch by batch", {2, 3, 5, 7}, {2, 3, 7, 4}},
    {"broadcast batch", {2, 1, 5, 7}, {3, 7, 4}},
    {"matrix by batch", {5, 7}, {3, 7, 4}},
    {"constant on the left", {5, 7}, {7, 3}, true},
    {"constant matrix, batch on the right", {5, 7}, {2, 3, 7, 4}, true},
    {"constant batch on the left", {3, 5, 7}, {7, 4}, true},
    {"odd extents", {33, 130}, {130, 65}},
    {"rows 2 KiB apart", {40, 130}, {130, 512}},
    {"rows 2 KiB apart, deeper than a panel", {33, 1030}, {1030, 512}},
};

OpCase matMul(const Shapes& shapes, DType dtype, bool isLinear)
{
    OpCase c("MatMul");
    const Tensor a = randomTensor(shapes.a, DType::Float64, 3).to(dtype);
    const Tensor b = randomTensor(shapes.b, DType::Float64, 4).to(dtype);
    isLinear&& shapes.isLeftConstant ? c.constant(a) : c.operand(a);
    isLinear && !shapes.isLeftConstant ? c.constant(b) : c.operand(b);
    return c;
}

/// Σ over the inner extent by the definition.
Tensor naiveProduct(const Tensor& a, const Tensor& b)
{
    const std::int64_t rows = a.shape()[0];
    const std::int64_t depth = a.shape()[1];
    const std::int64_t columns = b.shape()[1];
    std::vector<double> z(static_cast<std::size_t>(rows * columns), 0);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
            for (std::int64_t k = 0; k < depth; ++k) {
                z[static_cast<std::size_t>(i * columns + j)] += a.at(i * depth + k) * b.at(k * columns + j);
            }
        }
    }
    return doubles({rows, columns}, z);
}

} // namespace

class ProductTest : public QObject
{
    Q_OBJECT
private slots:
    /// What takes long to pack is kept packed from the second product on, with the same bits; what does not is not.
    void packsAreKeptFromTheSecondProduct()
    {
        retro::base::MemoryAccount& account = retro::base::MemoryAccount::tensors();
        const Tensor weight = randomTensor({300, 200}, DType::Float32, 4);
        for (const auto& [rows, isKept] : {std::pair(40, true), std::pair(1, false), std::pair(400, false)}) {
            OpCase c("MatMul");
            c.operand(randomTensor({rows, 300}, DType::Float32, 3)).constant(weight);
            QVERIFY(c.bind());
            const Tensor first = c.forward()[0];
            const std::int64_t before = account.live();
            for (int again = 0; again < 2; ++again) {
                QVERIFY(c.forward()[0].bitEqual(first));
                QCOMPARE(account.live() - before >= 300 * 200 * 4, isKept);
            }
        }
    }

    /// Where the most that was in memory leaves no room beside it, nothing is kept.
    void packsLeaveRoom()
    {
        retro::base::MemoryAccount& account = retro::base::MemoryAccount::tensors();
        OpCase c("MatMul");
        c.operand(randomTensor({40, 300}, DType::Float32, 3)).constant(randomTensor({300, 200}, DType::Float32, 4));
        QVERIFY(c.bind());
        const Tensor first = c.forward()[0];
        account.resetPeak();
        const std::int64_t before = account.live();
        retro::base::MemoryLimit::choose(static_cast<std::uint64_t>(before) + 300 * 200 * 4 - 1);
        const bool isSame = c.forward()[0].bitEqual(first);
        retro::base::MemoryLimit::choose(std::nullopt);
        QVERIFY(isSame);
        QCOMPARE(account.live(), before);
    }

    void matMulByHand()
    {
        const Tensor a = doubles({2, 3}, {1, 2, 3, 4, 5, 6});
        const Tensor b = doubles({3, 2}, {1, 0, -1, 2, 0.5, 1});
        QCOMPARE(q(OpCase("MatMul").operand(a).operand(b).run()), "[2 × 2] 0.5 7 2 16");
        QCOMPARE(q(OpCase("MatMul").operand(a).constant(b).run()), "[2 × 2] 0.5 7 2 16");
        QCOMPARE(q(OpCase("MatMul").constant(a).operand(b).run()), "[2 × 2] 0.5 7 2 16");
        QCOMPARE(q(OpCase("MatMul").operand(doubles({3}, {1, 1, 1})).constant(b).run()), "[2] 0.5 3");
        QCOMPARE(q(OpCase("MatMul").operand(a).constant(doubles({3}, {1, 1, 1})).run()), "[2] 6 15");
        QCOMPARE(q(OpCase("MatMul").operand(doubles({2}, {1, 2})).operand(doubles({2}, {3, 4})).run()), "[scalar] 11");
        QCOMPARE(q(OpCase("MatMul")
                       .operand(Tensor::zeros(DType::Float64, {2, 0}))
                       .operand(Tensor::zeros(DType::Float64, {0, 2}))
                       .run()),
                 "[2 × 2] 0 0 0 0");
    }

    void gemmByHand()
    {
        const Tensor a = doubles({2, 3}, {1, 2, 3, 4, 5, 6});
        const Tensor b = doubles({3, 2}, {1, 0, -1, 2, 0.5, 1});
        const auto gemm = [] {
            OpCase c("Gemm");
            c.with("alpha", 2.0).with("beta", 0.5);
            return c;
        };
        QCOMPARE(q(gemm().operand(a).constant(b).constant(doubles({2}, {10, -10})).run()), "[2 × 2] 6 9 9 27");
        QCOMPARE(q(gemm().operand(a).constant(b).run()), "[2 × 2] 1 14 4 32");
        QCOMPARE(q(gemm().operand(a).operand(b).run()), "[2 × 2] 1 14 4 32");
        QCOMPARE(q(gemm().with("transA", std::int64_t{1}).with("transB", std::int64_t{1}).operand(b).constant(a).run()),
                 "[2 × 2] 1 4 14 32");
        QCOMPARE(q(gemm().with("transA", std::int64_t{1}).with("transB", std::int64_t{1}).constant(b).operand(a).run()),
                 "[2 × 2] 1 4 14 32");
        QCOMPARE(q(gemm().with("transA", std::int64_t{1}).with("transB", std::int64_t{1}).operand(b).operand(a).run()),
                 "[2 × 2] 1 4 14 32");
    }

    void referenceIsTheDefinition()
    {
        for (const auto& [rows, depth, columns] :
             {std::array<std::int64_t, 3>{3, 5, 2}, {1, 600, 9}, {70, 300, 1}, {67, 259, 33}, {4, 8, 1100}}) {
            const Tensor a = randomTensor({rows, depth});
            const Tensor b = randomTensor({depth, columns}, DType::Float64, 2);
            OpCase c("MatMul");
            QVERIFY(c.operand(a).operand(b).bind());
            QVERIFY(distance(c.forward()[0], naiveProduct(a, b)) < 1e-13);
            QVERIFY(c.forward({inOtherOrder(a), inOtherOrder(b)})[0].bitEqual(c.forward()[0]));
        }
    }

    void floatAgreesWithTheReference()
    {
        for (const Shapes& shapes : kShapes) {
            for (const bool isLinear : {false, true}) {
                OpCase wide = matMul(shapes, DType::Float64, isLinear);
                OpCase narrow = matMul(shapes, DType::Float32, isLinear);
                QVERIFY2(wide.bind() && narrow.bind(), shapes.name);
                QVERIFY2(distance(narrow.forward()[0].to(DType::Float64), wide.forward()[0]) < 1e-5, shapes.name);
            }
        }
    }

    void linearMapsHaveTheirAdjoints()
    {
        for (const Shapes& shapes : kShapes) {
            for (const DType dtype : {DType::Float64, DType::Float32}) {
                OpCase c = matMul(shapes, dtype, true);
                QVERIFY2(c.bind(), shapes.name);
                const LinearMap& map = c.structure<LinearMap>();
                const Tensor& x = c.operands()[map.operandSlot()];
                const Tensor s = randomTensor(c.op().outputTypes()[0].shape, dtype, 9);
                for (const WeightVariant variant : allVariants()) {
                    const double gap = adjointGap(map, x, s, variant);
                    QVERIFY2(gap < (dtype == DType::Float64 ? 1e-13 : 1e-5), shapes.name);
                }
            }
        }
    }

    void floatPullbackAgreesWithTheReference()
    {
        for (const Shapes& shapes : kShapes) {
            OpCase wide = matMul(shapes, DType::Float64, true);
            OpCase narrow = matMul(shapes, DType::Float32, true);
            QVERIFY2(wide.bind() && narrow.bind(), shapes.name);
            const Tensor s = randomTensor(wide.op().outputTypes()[0].shape, DType::Float64, 9);
            for (const WeightVariant variant : allVariants()) {
                const Tensor expected = wide.structure<LinearMap>().pullback(s, variant);
                const Tensor found = narrow.structure<LinearMap>().pullback(s.to(DType::Float32), variant);
                QVERIFY2(distance(found.to(DType::Float64), expected) < 1e-5, shapes.name);
            }
        }
    }

    /// Rows that are all 0 are left out of the product; a NaN is not.
    void fewRowsGiveWhatAllRowsGive()
    {
        OpCase c = matMul({"batch by matrix", {2, 3, 5, 7}, {7, 4}}, DType::Float64, true);
        QVERIFY(c.bind());
        const auto& map = c.structure<LinearMap>();
        const Tensor full = randomTensor({2, 3, 5, 4}, DType::Float64, 9);
        const Tensor whole = map.pullback(full, {});
        std::vector<std::int64_t> most(27); // of 30: as many as are packed
        std::iota(most.begin(), most.end(), 2);
        for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{}, {0}, {29}, {3, 4, 17}, most}) {
            std::vector<double> few(120, 0);
            std::vector<double> expected(210, 0);
            for (const std::int64_t row : rows) {
                for (std::int64_t i = 0; i < 4; ++i) {
                    few[static_cast<std::size_t>(row * 4 + i)] = full.at(row * 4 + i);
                }
                for (std::int64_t i = 0; i < 7; ++i) {
                    expected[static_cast<std::size_t>(row * 7 + i)] = whole.at(row * 7 + i);
                }
            }
            const Tensor found = map.pullback(doubles({2, 3, 5, 4}, few), {});
            QCOMPARE(found.shape(), whole.shape());
            QVERIFY(distance(found, doubles({2, 3, 5, 7}, expected)) < 1e-14);
        }
        std::vector<double> broken(120, 0);
        broken[50] = std::nan("");
        const Tensor found = map.pullback(doubles({2, 3, 5, 4}, broken), {});
        QVERIFY(std::isnan(found.at(12 * 7)));
        QCOMPARE(found.at(11 * 7), 0.0);
    }

    /// An eighth of the rows must be 0, or copying the others costs more than it saves.
    void fewRowsAreSevenEighthsAtMost()
    {
        std::vector<double> numbers(32, 1);
        QVERIFY(!FewRows::of(doubles({16, 2}, numbers)));
        numbers[6] = numbers[7] = 0;
        QVERIFY(!FewRows::of(doubles({16, 2}, numbers))); // one row of sixteen
        numbers[30] = numbers[31] = numbers[0] = 0;       // another one, and half of a third
        RETRO_MADE(few, FewRows::of(doubles({16, 2}, numbers)));
        QCOMPARE(few->packed().shape(), (Shape{14, 2}));
    }

    /// Of one row, what is 0 is left out element by element; a NaN is not.
    void zerosOfOneRowAreLeftOut()
    {
        const Shape zs{1, 256};
        const auto gemm = [](DType dtype) {
            OpCase c("Gemm");
            c.with("transB", 1).operand(randomTensor({1, 300}, DType::Float64, 3).to(dtype));
            c.constant(randomTensor({256, 300}, DType::Float64, 4).to(dtype));
            return c;
        };
        OpCase wide = gemm(DType::Float64);
        OpCase narrow = gemm(DType::Float32);
        QVERIFY(wide.bind() && narrow.bind());
        const Tensor full = randomTensor(zs, DType::Float64, 9);
        for (const std::int64_t every : {1, 2, 3, 100, 256}) {
            std::vector<double> some(256, 0);
            for (std::int64_t i = 0; i < 256; i += every) {
                some[static_cast<std::size_t>(i)] = full.at(i);
            }
            const Tensor s = doubles(zs, some);
            for (const WeightVariant variant : allVariants()) {
                const Tensor expected = wide.structure<LinearMap>().pullback(s, variant);
                const Tensor found = narrow.structure<LinearMap>().pullback(s.to(DType::Float32), variant);
                QCOMPARE(found.shape(), expected.shape());
                QVERIFY(distance(found.to(DType::Float64), expected) < 1e-5);
            }
        }
        std::vector<double> none(256, 0);
        QVERIFY(narrow.structure<LinearMap>()
                    .pullback(doubles(zs, none).to(DType::Float32), {})
                    .bitEqual(Tensor::zeros(DType::Float32, {1, 300})));
        none[77] = std::nan("");
        const Tensor broken = narrow.structure<LinearMap>().pullback(doubles(zs, none).to(DType::Float32), {});
        QVERIFY(std::isnan(broken.at(0)) && std::isnan(broken.at(299)));
    }

    void weightVariantsByHand()
    {
        const Tensor w = doubles({2, 2}, {1, -2, -3, 4});
        OpCase c("Gemm");
        QVERIFY(c.operand(doubles({1, 2}, {1, 10})).constant(w).constant(doubles({2}, {5, -5})).bind());
        const LinearMap& map = c.structure<LinearMap>();
        const auto applied = [&](WeightPart part, double gamma = 0) {
            return q(textOf(map.apply(c.operands()[0], {part, gamma})) + " | " + textOf(map.bias({part, gamma})));
        };
        QVERIFY(map.hasBias());
        QCOMPARE(applied(WeightPart::All), "[1 × 2] -29 38 | [2] 5 -5");
        QCOMPARE(applied(WeightPart::Positive), "[1 × 2] 1 40 | [2] 5 0");
        QCOMPARE(applied(WeightPart::Negative), "[1 × 2] -30 -2 | [2] 0 -5");
        QCOMPARE(applied(WeightPart::GammaPositive, 0.5), "[1 × 2] -28.5 58 | [2] 7.5 -5");
        QCOMPARE(applied(WeightPart::GammaNegative, 0.5), "[1 × 2] -44 37 | [2] 5 -7.5");
        QCOMPARE(applied(WeightPart::GammaPositive, 1), "[1 × 2] -28 78 | [2] 10 -5");
        QCOMPARE(applied(WeightPart::Square), "[1 × 2] 91 164 | [2] 25 25");
        QCOMPARE(applied(WeightPart::Ones), "[1 × 2] 11 11 | [2] 1 1");
        QCOMPARE(q(textOf(c.forward()[0])), "[1 × 2] -24 33");
    }

    void bilinearGradients()
    {
        for (const Shapes& shapes : kShapes) {
            for (const DType dtype : {DType::Float64, DType::Float32}) {
                OpCase c = matMul(shapes, dtype, false);
                QVERIFY2(c.bind(), shapes.name);
                const Bilinear& product = c.structure<Bilinear>();
                const Tensor& a = c.operands()[0];
                const Tensor& b = c.operands()[1];
                const Tensor s = randomTensor(c.op().outputTypes()[0].shape, dtype, 9);
                const double whole = retro::ops::algebra::dot(product.apply(a, b), s);
                for (const std::size_t slot : {0U, 1U}) {
                    const Tensor gradient = product.pullback(s, a, b, slot);
                    const Tensor& operand = slot == 0 ? a : b;
                    QVERIFY2(gradient.shape() == operand.shape(), shapes.name);
                    const double part = retro::ops::algebra::dot(gradient, operand);
                    QVERIFY2(std::abs(part - whole) < (dtype == DType::Float64 ? 1e-11 : 2e-3), shapes.name);
                }
            }
        }
    }

    void gemmGradientsFollowTheTransposes()
    {
        OpCase c("Gemm");
        c.with("transA", std::int64_t{1}).with("transB", std::int64_t{1}).with("alpha", 0.5);
        QVERIFY(c.operand(randomTensor({4, 3})).operand(randomTensor({5, 4}, DType::Float64, 2)).bind());
        const Tensor s = randomTensor({3, 5}, DType::Float64, 7);
        const Bilinear& product = c.structure<Bilinear>();
        const double whole = retro::ops::algebra::dot(c.forward()[0], s);
        for (const std::size_t slot : {0U, 1U}) {
            const Tensor gradient = product.pullback(s, c.operands()[0], c.operands()[1], slot);
            QVERIFY(gradient.shape() == c.operands()[slot].shape());
            QVERIFY(std::abs(retro::ops::algebra::dot(gradient, c.operands()[slot]) - whole) < 1e-12);
        }
    }

    void gemmOfIntegersIsExactAndCarriesNoRelevance()
    {
        const auto matrix = [](const std::vector<std::int64_t>& values) { return ints(values).reshaped({2, 2}); };
        for (const DType type : {DType::Int32, DType::Int64, DType::UInt8, DType::UInt64}) {
            OpCase c("Gemm", 13);
            c.operand(matrix({1, 2, 3, 4}).to(type)).constant(matrix({5, 6, 7, 8}).to(type));
            c.operand(ints({1, 2}).to(type)).with("alpha", 2.0).with("beta", 3.0).with("transB", std::int64_t{1});
            QVERIFY2(c.bind(), c.error().c_str());
            QVERIFY(c.op().structure().kind() == retro::ops::StructureKind::NoRelevance);
            const Tensor y = c.forward()[0];
            QVERIFY(y.dtype() == type);
            // 2·[17 23; 39 53] + 3·[1 2]
            QVERIFY(y.to(DType::Int64).bitEqual(matrix({37, 52, 81, 112})));
        }
        OpCase half("Gemm", 13);
        half.operand(matrix({1, 2, 3, 4})).operand(matrix({1, 2, 3, 4})).with("alpha", 0.5);
        QVERIFY(!half.bind());
        QVERIFY(half.error().find("must be whole numbers") != std::string::npos);
    }

    void keepsBothOperands()
    {
        OpCase c = matMul(kShapes[0], DType::Float64, true);
        QVERIFY(c.bind());
        QCOMPARE(c.op().savedForGradient().operands, 3U);
        QCOMPARE(c.op().flops(), 2.0 * 5 * 7 * 3);
    }
};

QTEST_GUILESS_MAIN(ProductTest)
#include "producttest.moc"
