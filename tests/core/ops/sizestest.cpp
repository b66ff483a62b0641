// SPDX-License-Identifier: Apache-2.0
// Shapes that no machine has room for: refused when an operator is bound, or bound without taking memory.
#include "core/base/failure.h"
#include "core/base/memoryaccount.h"
#include "core/base/memorylimit.h"
#include "core/base/sanitized.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/runoperator.h"
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
namespace ops = retro::ops;
namespace base = retro::base;
namespace graph = retro::graph;

namespace
{

constexpr std::int64_t kBeyond = (1LL << 62) + 1; // times 4 it is 4 in 64 bits

/// Binds an operator to operands of these types, none of which has data.
base::Result<std::unique_ptr<ops::BoundOperator>>
boundTo(const std::string& op, std::int64_t opset, const std::string& domain, const std::vector<ops::TensorType>& types)
{
    graph::GraphBuilder builder("case");
    builder.setOpset(domain, opset);
    graph::Node node;
    node.op = op;
    node.domain = domain;
    node.opset = opset;
    node.name = std::string("n");
    for (std::size_t i = 0; i < types.size(); ++i) {
        node.inputs.push_back(builder.addInput(fmt::format("x{}", i), types[i].dtype, types[i].shape));
    }
    node.outputs.push_back(builder.addResult("y"));
    builder.addOutput(node.outputs.front());
    builder.addNode(std::move(node));
    const graph::Graph made = std::move(builder).build().value();
    const std::vector<Tensor> constants(types.size());
    return ops::bind({made, graph::NodeId(std::uint32_t{0}), made.nodes()[0], types, constants});
}

/// Bytes that tensors took at most while f ran, beyond what there was.
template <class F>
std::int64_t peakOf(const F& f)
{
    base::MemoryAccount& account = base::MemoryAccount::tensors();
    const std::int64_t before = account.live();
    account.resetPeak();
    f();
    return account.peak() - before;
}

} // namespace

class SizesTest : public QObject
{
    Q_OBJECT

private slots:
    void cleanup() { base::MemoryLimit::choose(std::nullopt); }

    void noOperatorTakesAnOperandThatCannotBeCounted()
    {
        for (const ops::OperatorDeclaration& declaration : ops::declarations()) {
            for (std::size_t operands = 1; operands <= 3; ++operands) {
                const std::vector<ops::TensorType> types(operands, {DType::Float32, {kBeyond, 4}});
                const auto bound = boundTo(std::string(declaration.op), declaration.sinceOpset,
                                           std::string(declaration.domain), types);
                QVERIFY2(!bound.ok(), std::string(declaration.op).c_str());
                QVERIFY(bound.error().code == base::ErrorCode::Input);
                RETRO_SAYS(bound.error().text(), "operand 0 would have the shape");
            }
        }
    }

    void operandsOfManyAxesAndOfNegativeExtentsAreRefused()
    {
        QVERIFY(!boundTo("Relu", 14, "", {{DType::Float32, Shape(17, 1)}}).ok());
        QVERIFY(!boundTo("Relu", 14, "", {{DType::Float32, {2, -1}}}).ok());
        QVERIFY(boundTo("Relu", 14, "", {{DType::Float32, {2, 1}}}).ok());
    }

    void whatIsMadeOfShapesIsNotMadeWhenBound()
    {
        constexpr std::int64_t kMany = 1LL << 33; // 32 GiB of float32
        OpCase filled("ConstantOfShape", 9);
        filled.constant(ints({kMany}));
        OpCase range("Range", 11);
        for (const std::int64_t number : {std::int64_t{0}, kMany, std::int64_t{1}}) {
            range.constant(Tensor::scalar(number));
        }
        const auto take = [&] {
            QVERIFY2(filled.bind(), filled.error().c_str());
            QVERIFY2(range.bind(), range.error().c_str());
            QVERIFY(boundTo("EyeLike", 9, "", {{DType::Float32, {1 << 16, 1 << 16}}}).ok());
            QVERIFY(filled.op().knownResults().empty());
            QVERIFY(range.op().knownResults().empty());
        };
        QVERIFY(peakOf(take) < (1 << 20));
    }

    void smallOnesAreKnownBeforeTheRun()
    {
        OpCase range("Range", 11);
        for (const std::int64_t number : {3, 9, 2}) {
            range.constant(Tensor::scalar(number));
        }
        QCOMPARE(range.run(), std::string("[3] 3 5 7"));
        QCOMPARE(textOf(range.op().knownResults().at(0)), std::string("[3] 3 5 7"));
    }

    void diagonals()
    {
        const auto eye = [](std::int64_t k) {
            OpCase c("EyeLike", 9);
            c.operand(randomTensor({2, 3})).with("k", k);
            return c.run();
        };
        QCOMPARE(eye(0), std::string("[2 × 3] 1 0 0 0 1 0"));
        QCOMPARE(eye(1), std::string("[2 × 3] 0 1 0 0 0 1"));
        QCOMPARE(eye(-1), std::string("[2 × 3] 0 0 0 1 0 0"));
        QCOMPARE(eye(3), std::string("[2 × 3] 0 0 0 0 0 0"));
        QCOMPARE(eye(-2), std::string("[2 × 3] 0 0 0 0 0 0"));
        QCOMPARE(eye(std::numeric_limits<std::int64_t>::min()), std::string("[2 × 3] 0 0 0 0 0 0"));
        QCOMPARE(eye(std::numeric_limits<std::int64_t>::max()), std::string("[2 × 3] 0 0 0 0 0 0"));
    }

    void theLimitStopsAForwardPassByNode()
    {
        OpCase filled("ConstantOfShape", 9);
        filled.constant(ints({1 << 20}));
        QVERIFY(filled.bind());
        base::MemoryLimit::choose(static_cast<std::uint64_t>(base::MemoryAccount::tensors().live()) + 1024);
        graph::Node node;
        node.op = "ConstantOfShape";
        node.name = "zeros";
        const auto results = ops::runForward(filled.op(), node, filled.operands());
        RETRO_REFUSED(results, base::ErrorCode::Memory);
        QCOMPARE(results.error().where, std::string("node 'zeros' (ConstantOfShape)"));
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(ops::forwardOrFail(filled.op(), node, filled.operands())),
                                 base::Failure);
    }

    void tablesOfAnAxisAreBounded()
    {
#if !RETRO_SANITIZED
        OpCase resize("Resize", 13);
        resize.operand(randomTensor({1, 1, 1, 2}, DType::Float32));
        resize.absent().absent().constant(ints({1, 1, 1, 1LL << 33}));
        const base::MemoryAllowance allowance(64ULL << 20U);
        QVERIFY(!resize.bind());
        QVERIFY2(resize.error().find("are needed") != std::string::npos, resize.error().c_str());
#endif
    }

    /// A number per window is as much as a channel of the result.
    void tablesOfPoolsCountAsMemory()
    {
        OpCase pool("AveragePool", 19);
        pool.operand(randomTensor({1, 1, 65, 65}, DType::Float32))
            .with("kernel_shape", std::vector<std::int64_t>{2, 2});
        const std::int64_t before = base::MemoryAccount::tensors().live();
        QVERIFY(pool.bind());
        QVERIFY(base::MemoryAccount::tensors().live() - before >= 64 * 64 * 4);
    }

    void mapsOfElementsAreBounded()
    {
        constexpr std::int64_t kWide = 1LL << 16; // 32 GiB of positions
        const base::MemoryAllowance allowance(64ULL << 20U);
        QVERIFY(boundTo("Trilu", 14, "", {{DType::Float32, {kWide, kWide}}}).ok()); // none are made yet
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(ops::roomForPositions(kWide * kWide)), base::Failure);
        QVERIFY(ops::roomForPositions(8).empty());
    }

    void anExceptionLeavesAParallelLoop()
    {
        ops::setThreads(4);
        std::atomic<int> parts = 0;
        const auto loop = [&parts](int thrower) {
            ops::parallelFor(4, 1, [&](std::int64_t begin, std::int64_t) {
                ++parts;
                if (begin >= thrower) {
                    throw std::bad_alloc();
                }
            });
        };
        const auto place = [] { return std::string("loop"); };
        const auto one = base::caughtAt(place, [&] { loop(3); });
        const auto all = base::caughtAt(place, [&] { loop(0); });
        const auto none = base::caughtAt(place, [&] { loop(4); });
        ops::setThreads(1);
        const auto serial = base::caughtAt(place, [&] { loop(0); });
        QVERIFY(!one.ok() && one.error().code == base::ErrorCode::Memory);
        QVERIFY(!all.ok() && all.error().code == base::ErrorCode::Memory);
        QVERIFY(none.ok());
        QVERIFY(!serial.ok());
        QVERIFY(parts >= 9);
    }

    void wrongShapesAreRefusedByTheLoops()
    {
        const Tensor a = randomTensor({2, 3});
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(ops::broadcastStrides(a, {3})), base::Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(ops::broadcastStrides(a, {2, 4})), base::Failure);
        QVERIFY_EXCEPTION_THROWN(ops::ElementLoop({2, 3}, {{3, 1}, {1}}), base::Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(ops::algebra::add(a, randomTensor({3, 2}))), base::Failure);
    }
};

QTEST_GUILESS_MAIN(SizesTest)
#include "sizestest.moc"
