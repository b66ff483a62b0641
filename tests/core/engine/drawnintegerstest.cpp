// SPDX-License-Identifier: Apache-2.0
// Integers that are drawn for inputs: within what reads them.
#include "core/engine/input/drawnintegers.h"
#include "core/engine/input/inputs.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

#include <set>

using namespace retro;
using tensor::DType;
using tensor::Tensor;

namespace
{

using Ids = std::vector<base::ValueId>;

class Reading
{
public:
    explicit Reading(const char* input = "ids", DType dtype = DType::Int64)
    {
        m_builder.setOpset("", 17);
        x = m_builder.addInput(input, dtype, tensor::Shape{2, 6});
        table = m_builder.addConstant("table", Tensor::zeros(DType::Float32, {7, 3}));
    }

    base::ValueId x;
    base::ValueId table;

    base::ValueId node(const std::string& op, Ids inputs, graph::Attributes attributes = {})
    {
        const std::string name = op + std::to_string(m_count++);
        const base::ValueId result = m_builder.addOp(op, name, std::move(inputs), name, std::move(attributes));
        m_last = result;
        return result;
    }

    base::ValueId number(std::int64_t value)
    {
        return m_builder.addConstant("c" + std::to_string(m_count++), Tensor::scalar(value));
    }

    graph::Graph build()
    {
        m_builder.addOutput(m_last);
        return std::move(m_builder).build().value();
    }

    engine::IntegerRange range()
    {
        const base::ValueId input = x;
        const graph::Graph graph = build();
        return engine::integersFor(graph, input, 6);
    }

private:
    graph::GraphBuilder m_builder{"reading"};
    base::ValueId m_last;
    int m_count = 0;
};

QString textOf(const engine::IntegerRange& range)
{
    return QStringLiteral("%1 to %2%3").arg(range.low).arg(range.high).arg(range.isMask ? " mask" : "");
}

} // namespace

class DrawnIntegersTest : public QObject
{
    Q_OBJECT

private slots:
    void tablesBoundTheirRows()
    {
        Reading plain;
        plain.node("Gather", {plain.table, plain.x});
        QCOMPARE(textOf(plain.range()), QStringLiteral("0 to 6"));
        Reading nested;
        const auto cast = nested.node("Cast", {nested.x}, {{"to", std::int64_t{6}}});
        nested.node("Gather", {nested.table, nested.node("Unsqueeze", {cast, nested.number(0)})},
                    {{"axis", std::int64_t{1}}});
        QCOMPARE(textOf(nested.range()), QStringLiteral("0 to 2"));
        Reading two; // the smaller table counts
        two.node("Gather", {two.table, two.x});
        two.node("Gather", {two.node("Cast", {two.table}, {{"to", std::int64_t{10}}}), two.x},
                 {{"axis", std::int64_t{-1}}});
        QCOMPARE(textOf(two.range()), QStringLiteral("0 to 2"));
        Reading moved;
        moved.node("Gather", {moved.table, moved.node("Add", {moved.x, moved.number(2)})});
        QCOMPARE(textOf(moved.range()), QStringLiteral("0 to 4"));
        Reading hot;
        hot.node("OneHot", {hot.x, hot.number(4), hot.table});
        QCOMPARE(textOf(hot.range()), QStringLiteral("0 to 3"));
    }

    void masksAreZeroAndOne()
    {
        Reading called("attention_mask");
        called.node("Cast", {called.x}, {{"to", std::int64_t{1}}});
        QCOMPARE(textOf(called.range()), QStringLiteral("0 to 1 mask"));
        Reading used("m");
        used.node("Where", {used.node("Cast", {used.x}, {{"to", std::int64_t{9}}}), used.table, used.table});
        QCOMPARE(textOf(used.range()), QStringLiteral("0 to 1 mask"));
        Reading turned("m");
        turned.node("Sub", {turned.number(1), turned.x});
        QCOMPARE(textOf(turned.range()), QStringLiteral("0 to 1 mask"));
    }

    void othersFollowNameAndType()
    {
        Reading position("position_ids");
        position.node("Cast", {position.x}, {{"to", std::int64_t{1}}});
        QCOMPARE(textOf(position.range()), QStringLiteral("0 to 5"));
        Reading picture("pixels", DType::UInt8);
        picture.node("Cast", {picture.x}, {{"to", std::int64_t{1}}});
        QCOMPARE(textOf(picture.range()), QStringLiteral("0 to 255"));
        Reading unknown;
        unknown.node("Cast", {unknown.x}, {{"to", std::int64_t{1}}});
        QCOMPARE(textOf(unknown.range()), QStringLiteral("0 to 1"));
    }

    void drawsStayInsideAndDiffer()
    {
        Reading plain;
        plain.node("Gather", {plain.table, plain.x});
        const graph::Graph graph = plain.build();
        std::set<double> seen;
        for (const char* source : {"random:1", "random:2", "random:3", "random:4"}) {
            RETRO_MADE(inputs, engine::resolveInputs({source}, graph, {}));
            QVERIFY(inputs->front().dtype() == DType::Int64);
            for (std::int64_t i = 0; i < inputs->front().size(); ++i) {
                seen.insert(inputs->front().at(i));
            }
        }
        QCOMPARE(*seen.begin(), 0.0);
        QCOMPARE(*seen.rbegin(), 6.0);
        QCOMPARE(seen.size(), std::size_t{7});
        const auto again = engine::resolveInputs({"random:1"}, graph, {});
        const auto first = engine::resolveInputs({"random:1"}, graph, {});
        QVERIFY(std::ranges::equal(again->front().span<std::int64_t>(), first->front().span<std::int64_t>()));
    }

    void noRowOfAMaskIsEmpty()
    {
        Reading mask("mask");
        mask.node("Cast", {mask.x}, {{"to", std::int64_t{1}}});
        const graph::Graph graph = mask.build();
        for (int seed = 0; seed < 20; ++seed) {
            RETRO_MADE(inputs, engine::resolveInputs({"random:" + std::to_string(seed)}, graph, {}));
            const Tensor& drawn = inputs->front();
            QVERIFY(drawn.at(0) == 1 && drawn.at(6) == 1);
        }
    }
};

QTEST_GUILESS_MAIN(DrawnIntegersTest)
#include "drawnintegerstest.moc"
