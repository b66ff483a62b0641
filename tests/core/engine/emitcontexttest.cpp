// SPDX-License-Identifier: Apache-2.0
// What a reverse rule that is written as nodes is given, and what is taken from it.
#include <QtTest>
#undef emit // an emitter is called so

#include "core/execute/boundmodel.h"
#include "core/graph/graphbuilder.h"
#include "core/tape/gradientgraph/emitrule.h"

using namespace retro;
using graph::ValueId;
using tensor::Tensor;

namespace
{

constexpr auto kType = tensor::DType::Float64;

/// Gather of three floats (operand 0) at a constant place (operand 1).
std::shared_ptr<const execute::BoundModel> gather()
{
    graph::GraphBuilder builder("one", 17);
    const ValueId x = builder.addInput("x", kType, tensor::Shape{3});
    const ValueId place = builder.addConstant("place", Tensor::scalar<std::int64_t>(1));
    const ValueId y = builder.addResult("y");
    graph::Node node;
    node.op = "Gather";
    node.name = "the one";
    node.opset = 17;
    node.inputs = {x, place};
    node.outputs = {y};
    builder.addNode(std::move(node));
    builder.addOutput(y);
    auto built = std::move(builder).build();
    const std::vector<ops::TensorType> types{{kType, {3}}};
    auto model = execute::BoundModel::bind(std::make_shared<const graph::Graph>(std::move(built).value()), types,
                                           execute::Precision::Double);
    return model.ok() ? *model : nullptr;
}

} // namespace

class EmitContextTest : public QObject
{
    Q_OBJECT

private slots:
    void everythingThatIsWrongIsSaid()
    {
        RETRO_MADE(model, gather());
        graph::GraphBuilder builder("none");
        tape::Emitter emit(builder, 17, kType);
        const ValueId some = emit.scalar(1);
        const auto refused =
            tape::EmitSite::make(emit, *model, model->graph().value(model->graph().outputs()[0]).producer,
                                 {{some}, {}, {}, {0, 1}, {kType, kType}});
        QVERIFY(!refused.ok());
        const QString text = QString::fromStdString(refused.error().text());
        for (const char* words : {"node 'the one' (Gather)", "1 operands, the node 2", "0 outputs, the node 1",
                                  "0 gradients, the node 1", "operand 1, which is not floating", "nothing arrives"}) {
            QVERIFY2(text.contains(QString::fromLatin1(words)), qPrintable(text));
        }
    }

    void aRuleHasToGiveWhatIsWanted()
    {
        RETRO_MADE(model, gather());
        graph::GraphBuilder builder("none");
        tape::Emitter emit(builder, 17, kType);
        const ValueId some = emit.scalar(1);
        RETRO_MADE(site, tape::EmitSite::make(emit, *model, model->graph().value(model->graph().outputs()[0]).producer,
                                              {{some, some}, {some}, {some}, {1, 0}, {kType, kType}}));
        const auto lacking = tape::resultOf(*site, {});
        QVERIFY(!lacking.ok() && lacking.error().text().find("no part for operand 0") != std::string::npos);
        RETRO_MADE(result, tape::resultOf(*site, {some, {}}));
        QCOMPARE(result->wrote.size(), std::size_t{1});
        QCOMPARE(result->wrote.front().first, std::size_t{0});
        QCOMPARE(result->read, std::vector<std::size_t>{0});
        QVERIFY(result->zeros.empty());
    }
};

QTEST_APPLESS_MAIN(EmitContextTest)
#include "emitcontexttest.moc"
