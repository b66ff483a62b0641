// SPDX-License-Identifier: Apache-2.0
// The first layer of a composite inside operators of many steps: the same in a pass, in a pass of the written out
// graph, and in the relevance graph.
#include "tests/core/engine/relevancenetworks.h"

#include <QTest>

using namespace retro;
using namespace retro::engine::testing;

namespace
{

constexpr std::int64_t kHidden = 3;

Tensor weights(const tensor::Shape& shape, unsigned seed) { return randomTensor(shape, seed, -0.7, 0.7); }

/// A recurrent layer, its last state, and a head.
Small recurrent(const std::string& op, std::int64_t gates, const graph::Attributes& more = {})
{
    ValueId x;
    const tensor::Shape shape{4, 2, 5};
    Writer writer = start(x, shape);
    graph::Attributes attributes = more;
    attributes["hidden_size"] = kHidden;
    const ValueId states = writer.node(op, "rnn",
                                       {x, writer.constant("w", weights({1, gates * kHidden, 5}, 1)),
                                        writer.constant("r", weights({1, gates * kHidden, kHidden}, 2)),
                                        writer.constant("b", weights({1, 2 * gates * kHidden}, 3))},
                                       attributes);
    const ValueId last =
        writer.node("Gather", "last", {states, writer.constant("three", Tensor::scalar(std::int64_t{3}))});
    const ValueId flat =
        writer.node("Squeeze", "flat", {last, writer.constant("axes", Tensor::of<std::int64_t>({1}, Ints{0}))});
    writer.output(writer.node("MatMul", "head", {flat, writer.constant("h", weights({kHidden, 4}, 4))}));
    return {op, writer.finish(), {shape}};
}

/// A branch through a recurrent layer, which the file has first, and one through a dense layer.
Small besideDense()
{
    ValueId x;
    const tensor::Shape shape{1, 2, 5};
    Writer writer = start(x, shape);
    const ValueId states = writer.node(
        "RNN", "rnn",
        {x, writer.constant("w", weights({1, kHidden, 5}, 1)), writer.constant("r", weights({1, kHidden, kHidden}, 2))},
        {{"hidden_size", kHidden}});
    const ValueId dense = writer.node("MatMul", "dense", {x, writer.constant("d", weights({5, kHidden}, 8))});
    const ValueId sum = writer.node("Add", "sum", {states, dense});
    const ValueId scores = writer.node("MatMul", "head", {sum, writer.constant("h", weights({kHidden, 4}, 4))});
    writer.output(writer.node("Flatten", "flat", {scores}));
    return {"beside a dense layer", writer.finish(), {shape}};
}

std::vector<Small> networks()
{
    return {recurrent("LSTM", 4), recurrent("GRU", 3), recurrent("GRU", 3, {{"linear_before_reset", std::int64_t{1}}}),
            recurrent("RNN", 1), besideDense()};
}

engine::ExplainRequest requestFor(const Small& small, const std::string& composite)
{
    engine::ExplainRequest request;
    request.composite = composite;
    request.precision = execute::Precision::Double;
    request.inputs = {randomTensor(small.inputs[0], 11)};
    request.target.kind = engine::TargetRequest::Kind::Argmax;
    return request;
}

Tensor atInput(const base::Result<engine::ExplainResult>& explained)
{
    return explained.ok() ? explained->relevance[explained->model->graph().inputs()[0].index()] : Tensor();
}

} // namespace

class FirstLayerTest : public QObject
{
    Q_OBJECT

private slots:
    void isOneInEveryForm_data()
    {
        QTest::addColumn<int>("network");
        QTest::addColumn<QString>("composite");
        const auto all = networks();
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (const char* composite :
                 {"epsilon_plus_flat", "epsilon:first=w-square", "epsilon:first=z-box,low=-1,high=1"}) {
                QTest::newRow(fmt::format("{} {}, {}", i, all[i].name, composite).c_str())
                    << static_cast<int>(i) << QString(composite);
            }
        }
    }

    void isOneInEveryForm()
    {
        QFETCH(int, network);
        QFETCH(QString, composite);
        const Small small = networks()[static_cast<std::size_t>(network)];
        const engine::LoadedModelPointer model = modelOf(small.graph);
        QVERIFY(model);
        const engine::ExplainRequest request = requestFor(small, composite.toStdString());
        RETRO_MADE(explained, engine::explain(*model, request));
        const auto node = explained->model->graph().findNode("rnn");
        QVERIFY(explained->rules[node->index()].rule.find("first layer: ") != std::string::npos);
        const auto head = explained->model->graph().findNode("head");
        QVERIFY(explained->rules[head->index()].rule.starts_with("epsilon"));
        const Tensor whole = atInput(explained);
        engine::ExplainRequest plain = request; // the rule for the first layer makes a difference
        plain.composite = "epsilon";
        QVERIFY(apart(atInput(engine::explain(*model, plain)), whole) > 1e-3);

        rewrite::RewriteOptions options;
        options.expandFunctions = true;
        RETRO_MADE(inSteps, engine::withRewrites(model, options, {}));
        const double ofSteps = apart(atInput(engine::explain(**inSteps, request)), whole);
        QVERIFY2(ofSteps <= 1e-6, qPrintable(QString::number(ofSteps)));

        RETRO_MADE(made, engine::relevanceGraph(model, request, {}));
        std::vector<Tensor> inputs = request.inputs;
        const ValueId scores = explained->model->graph().outputs()[0];
        inputs.push_back(Tensor::full(tensor::DType::Int64, {explained->model->typeOf(scores).shape[0]}, -1));
        RETRO_MADE(found, engine::runForward(*modelOf(made->graph), inputs, execute::Precision::Double));
        const auto at = std::ranges::find(found->names, "relevance/x");
        QVERIFY(at != found->names.end());
        const double ofGraph = apart(found->outputs[static_cast<std::size_t>(at - found->names.begin())], whole);
        QVERIFY2(ofGraph <= 1e-5, // sums of biases are constants of the file's type
                 qPrintable(QString::number(ofGraph)));
    }
};

QTEST_GUILESS_MAIN(FirstLayerTest)
#include "firstlayertest.moc"
