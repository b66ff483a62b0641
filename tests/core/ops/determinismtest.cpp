// SPDX-License-Identifier: Apache-2.0
// The same operand values give the same bits: again, in another memory order, and (without oneDNN) with other threads.
#include "tests/core/ops/opcase.h"

#include "core/ops/threads.h"

#include <QtTest>

#include <functional>

using namespace retro::tests;
using Ints = std::vector<std::int64_t>;

namespace
{

const Ints kPads{1, 1, 1, 1};

std::vector<std::pair<const char*, std::function<OpCase(DType)>>> cases()
{
    const auto x = [](DType d) { return randomTensor({2, 8, 9, 7}, d); };
    const auto constantOf = [](Shape shape, DType d, std::uint32_t seed) {
        return randomTensor(std::move(shape), DType::Float64, seed).to(d);
    };
    return {
        {"Conv",
         [=](DType d) {
             return OpCase("Conv").with("pads", kPads).operand(x(d)).constant(constantOf({16, 8, 3, 3}, d, 2));
         }},
        {"ConvTranspose",
         [=](DType d) {
             return OpCase("ConvTranspose")
                 .with("strides", Ints{2, 2})
                 .operand(x(d))
                 .constant(constantOf({8, 5, 3, 3}, d, 2));
         }},
        {"MatMul by a constant",
         [=](DType d) {
             return OpCase("MatMul").operand(x(d)).constant(constantOf({7, 33}, d, 2));
         }},
        {"MatMul",
         [=](DType d) {
             return OpCase("MatMul").operand(x(d)).operand(constantOf({8, 7, 11}, d, 2));
         }},
        {"Gemm",
         [=](DType d) {
             return OpCase("Gemm")
                 .with("transA", std::int64_t{1})
                 .operand(constantOf({40, 30}, d, 3))
                 .constant(constantOf({40, 20}, d, 2));
         }},
        {"Add",
         [=](DType d) {
             return OpCase("Add").operand(x(d)).operand(constantOf({9, 1}, d, 2));
         }},
        {"Div",
         [=](DType d) {
             return OpCase("Div").operand(x(d)).operand(constantOf({2, 8, 9, 7}, d, 2));
         }},
        {"ReduceMean",
         [=](DType d) {
             return OpCase("ReduceMean").with("axes", Ints{1, 3}).operand(x(d));
         }},
        {"Softmax", [=](DType d) { return OpCase("Softmax").with("axis", std::int64_t{1}).operand(x(d)); }},
        {"AveragePool",
         [=](DType d) {
             return OpCase("AveragePool").with("kernel_shape", Ints{3, 2}).operand(x(d));
         }},
        {"MaxPool",
         [=](DType d) {
             return OpCase("MaxPool").with("kernel_shape", Ints{3, 2}).operand(x(d));
         }},
        {"GlobalAveragePool", [=](DType d) { return OpCase("GlobalAveragePool").operand(x(d)); }},
        {"Concat", [=](DType d) { return OpCase("Concat").with("axis", std::int64_t{1}).operand(x(d)).operand(x(d)); }},
        {"Pad",
         [=](DType d) {
             return OpCase("Pad").operand(x(d)).constant(ints({0, 0, 1, 2, 0, 0, 1, 0}));
         }},
        {"Tanh", [=](DType d) { return OpCase("Tanh").operand(x(d)); }},
    };
}

} // namespace

class DeterminismTest : public QObject
{
    Q_OBJECT
private slots:
    void otherMemoryOrdersGiveTheSameBits()
    {
        for (const auto& [name, make] : cases()) {
            for (const DType dtype : {DType::Float32, DType::Float64}) {
                OpCase c = make(dtype);
                QVERIFY2(c.bind(), c.error().c_str());
                const Tensor first = c.forward()[0];
                std::vector<Tensor> turned = c.operands();
                for (Tensor& t : turned) {
                    t = inOtherOrder(t);
                }
                QVERIFY2(c.forward()[0].bitEqual(first), name);
                QVERIFY2(c.forward(turned)[0].bitEqual(first), name);
                OpCase again = make(dtype);
                QVERIFY2(again.bind() && again.forward()[0].bitEqual(first), name);
            }
        }
    }

    void referencePathsDoNotDependOnThreads()
    {
        const int before = retro::ops::threads();
        for (const auto& [name, make] : cases()) {
            OpCase c = make(DType::Float64);
            QVERIFY(c.bind());
            retro::ops::setThreads(1);
            const Tensor one = c.forward()[0];
            retro::ops::setThreads(7);
            QVERIFY2(c.forward()[0].bitEqual(one), name);
        }
        retro::ops::setThreads(before);
        QCOMPARE(retro::ops::threads(), before);
    }

    void pullbacksDoNotDependOnMemoryOrder()
    {
        for (const auto& [name, make] : cases()) {
            for (const DType dtype : {DType::Float32, DType::Float64}) {
                OpCase c = make(dtype);
                QVERIFY(c.bind());
                const auto* map = dynamic_cast<const retro::ops::LinearMap*>(&c.op().structure());
                if (map == nullptr) {
                    continue;
                }
                const Tensor s = randomTensor(c.op().outputTypes()[0].shape, dtype, 9);
                for (const auto variant : allVariants()) {
                    QVERIFY2(map->pullback(s, variant).bitEqual(map->pullback(inOtherOrder(s), variant)), name);
                }
            }
        }
    }
};

QTEST_GUILESS_MAIN(DeterminismTest)
#include "determinismtest.moc"
