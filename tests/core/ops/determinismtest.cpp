// SPDX-License-Identifier: Apache-2.0
// The same operand values give the same bits: again, in another memory order, and with other threads.
#include "tests/core/ops/opcase.h"

#include "core/ops/onednn/onednnconvolution.h"
#include "core/ops/threads.h"

#include <QtTest>

#include <filesystem>
#include <functional>
#include <random>

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

    /// Of float32 as well, and back: padding, strides, groups and channels that fill no register.
    void convolutionsDoNotDependOnThreads()
    {
        const int before = retro::ops::threads();
        std::mt19937 generator(3);
        const auto whole = [&generator](std::int64_t low, std::int64_t high) {
            return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
        };
        for (int i = 0; i < 40; ++i) {
            const std::int64_t groups = whole(0, 3) == 0 ? whole(2, 5) : 1;
            const Shape kernel{groups * whole(1, 9), whole(1, 20), whole(1, 4), whole(1, 4)};
            const Tensor x =
                randomTensor({whole(1, 2), groups * kernel[1], whole(4, 18), whole(4, 18)}, DType::Float32);
            const Ints pads{whole(0, kernel[2] - 1), whole(0, kernel[3] - 1), whole(0, kernel[2] - 1),
                            whole(0, kernel[3] - 1)};
            const auto run = [&, strides = Ints{whole(1, 3), whole(1, 3)}](int threads) {
                retro::ops::setThreads(threads);
                OpCase c("Conv");
                c.with("pads", pads).with("strides", strides).with("group", groups);
                c.operand(x).constant(randomTensor(kernel, DType::Float32, 2));
                if (!c.bind()) {
                    return std::vector<Tensor>();
                }
                std::vector<Tensor> both = c.forward();
                const auto& map = c.structure<retro::ops::LinearMap>();
                both.push_back(map.pullback(randomTensor(both[0].shape(), DType::Float32, 5), {}));
                return both;
            };
            const std::vector<Tensor> one = run(1);
            QCOMPARE(one.size(), std::size_t{2});
            for (const int threads : {2, 5, 6, 11, 40}) {
                const std::vector<Tensor> more = run(threads);
                const std::string text =
                    fmt::format("case {}: {} by {}, {} threads", i, retro::tensor::toText(x.shape()),
                                retro::tensor::toText(kernel), threads);
                QVERIFY2(more[0].bitEqual(one[0]), text.c_str());
                QVERIFY2(more[1].bitEqual(one[1]), text.c_str());
            }
        }
        retro::ops::setThreads(before);
    }

    /// What is made for more threads than there are is carried out by those that there are: others would be started for
    /// each call and ended by the next one.
    void packingStartsNoThreadsOfItsOwn()
    {
        const auto running = [] {
            return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/task"));
        };
        const int before = retro::ops::threads();
        retro::ops::setThreads(2);
        for (const auto direction :
             {retro::ops::onednn::Direction::Forward, retro::ops::onednn::Direction::Transposed}) {
            const retro::ops::reference::WindowAxis axis{.image = 16, .windows = 14, .kernel = 3};
            const retro::ops::onednn::PackedConvolution made(
                {.batch = 1, .groups = 1, .channels = 64, .filters = 64, .axes = {axis, axis}}, direction);
            QVERIFY(made.isValid());
            const auto threads = running();
            const Tensor weights = randomTensor({64, 64, 3, 3}, DType::Float32);
            QVERIFY(made.pack(weights.data<float>()).size() >= weights.size());
            QVERIFY(running() <= threads + 1);
        }
        retro::ops::setThreads(before);
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
