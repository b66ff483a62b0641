// SPDX-License-Identifier: Apache-2.0
// Operators that are not implemented hand their first operand on, where a person asks for it.
#include "core/ops/registry.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro::rewrite::testing;

using retro::rewrite::Rewritten;

namespace
{

/// x → Relu → Frobnicate, of which `results` results are made and the last is read → Neg → output.
SharedGraph strange(std::size_t results, const Shape& declared = {2, 3}, bool hasOperand = true)
{
    const auto declare = [](retro::graph::GraphBuilder& builder, ValueId value, const Shape& shape) {
        std::vector<retro::graph::Dimension> dimensions;
        for (const std::int64_t extent : shape) {
            dimensions.push_back({extent, {}});
        }
        builder.declare(value, DType::Float32, std::move(dimensions));
        return value;
    };
    retro::graph::GraphBuilder builder({}, 17);
    const auto x = builder.addInput("x", DType::Float32, Shape{2, 3});
    const auto h = declare(builder, builder.addResult("h"), {2, 3});
    builder.addNode({"Relu", "", "relu", "", 17, {x}, {h}, {}});
    std::vector<ValueId> made;
    for (std::size_t i = 0; i < results; ++i) {
        made.push_back(declare(builder, builder.addResult("made" + std::to_string(i)), declared));
    }
    const auto operands = hasOperand ? std::vector<ValueId>{h, x} : std::vector<ValueId>{ValueId(), x};
    builder.addNode({"Frobnicate", "acme", "mystery", "", 1, operands, made, {{"level", std::int64_t{3}}}});
    const auto y = builder.addOp("Neg", "neg", {made.back()}, "y");
    builder.addOutput(y);
    auto built = std::move(builder).build();
    return built.ok() ? std::make_shared<const Graph>(std::move(built).value()) : nullptr;
}

Rewritten passed(const SharedGraph& graph, bool isAsked = true)
{
    retro::rewrite::RewriteOptions options = retro::rewrite::noRewrites();
    options.passThrough = isAsked;
    auto result = retro::rewrite::rewrite(graph, options);
    return result.ok() ? std::move(result).value() : Rewritten{};
}

} // namespace

class PassThroughTest : public QObject
{
    Q_OBJECT

private slots:
    static void nothingHappensUnasked()
    {
        const SharedGraph graph = strange(1);
        QVERIFY(graph);
        QCOMPARE(passed(graph, false).graph, graph);
        QCOMPARE(retro::ops::unsupported(*graph).size(), std::size_t{1});
        QVERIFY(!retro::rewrite::RewriteOptions().passThrough);
    }

    static void theOperandGoesOnAndTheNodeIsNamed()
    {
        const SharedGraph graph = strange(1);
        const Rewritten result = passed(graph);
        QVERIFY(result.graph);
        QCOMPARE(retro::ops::unsupported(*result.graph).size(), std::size_t{0});
        QCOMPARE(result.steps.size(), std::size_t{1});
        QCOMPARE(result.steps[0].name, retro::rewrite::kPassThrough);
        QVERIFY(!result.steps[0].isNote);
        for (const char* word : {"mystery", "acme.Frobnicate", "not conserved"}) {
            QVERIFY2(result.steps[0].text.find(word) != std::string::npos, word);
        }
        const Tensor x = randomTensor({2, 3}, 7);
        const std::vector<Tensor> outputs = evaluate(result.graph, {x}, Precision::Float);
        QCOMPARE(outputs.size(), std::size_t{1});
        for (std::int64_t i = 0; i < x.size(); ++i) {
            QCOMPARE(outputs[0].at(i), -std::max(0.0, x.at(i)));
        }
    }

    /// An unread second result, which a mask would be, is no obstacle.
    static void unreadResultsAreDropped()
    {
        retro::graph::GraphBuilder builder({}, 17);
        const auto x = builder.addInput("x", DType::Float32, Shape{2});
        const auto y = builder.addResult("y");
        const auto mask = builder.addResult("mask");
        builder.addNode({"Noise", "acme", "noise", "", 1, {x}, {y, mask}, {}});
        builder.addOutput(y);
        RETRO_MADE(built, std::move(builder).build());
        const Rewritten result = passed(std::make_shared<const Graph>(std::move(built).value()));
        QVERIFY(result.graph);
        QCOMPARE(evaluate(result.graph, {randomTensor({2}, 1)}, Precision::Float).size(), std::size_t{1});
    }

    static void whatCannotHandItsOperandOnStays_data()
    {
        QTest::addColumn<int>("results");
        QTest::addColumn<int>("columns");
        QTest::addColumn<bool>("hasOperand");
        QTest::addColumn<QString>("reason");
        QTest::newRow("second result is read") << 2 << 3 << true << "more than its first result";
        QTest::newRow("another shape") << 1 << 4 << true << "another shape";
        QTest::newRow("no operand") << 1 << 3 << false << "no first operand";
    }
    static void whatCannotHandItsOperandOnStays()
    {
        QFETCH(int, results);
        QFETCH(int, columns);
        QFETCH(bool, hasOperand);
        QFETCH(QString, reason);
        const SharedGraph graph = strange(static_cast<std::size_t>(results), {2, columns}, hasOperand);
        QVERIFY(graph);
        const Rewritten result = passed(graph);
        QCOMPARE(result.graph, graph);
        QCOMPARE(result.steps.size(), std::size_t{1});
        QVERIFY(result.steps[0].isNote);
        QVERIFY2(QString::fromStdString(result.steps[0].text).contains(reason), result.steps[0].text.c_str());
        QCOMPARE(retro::ops::unsupported(*result.graph).size(), std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(PassThroughTest)
#include "passthroughtest.moc"
