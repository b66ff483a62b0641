// SPDX-License-Identifier: Apache-2.0
// Functions are recognised by what they compute, and still computed as they are written.
#include "core/rewrite/recognise/functions.h"
#include "tests/core/rewrite/writtenforms.h"

#include <QtTest>

using namespace retro::rewrite;
using namespace retro::rewrite::testing;

namespace
{

Rewritten rewrittenBy(const SharedGraph& graph)
{
    auto result = retro::rewrite::rewrite(graph, {});
    return result.ok() ? std::move(result).value() : Rewritten{};
}

std::string operatorsOf(const Graph& graph)
{
    std::string text;
    for (const auto& node : graph.nodes()) {
        text += (text.empty() ? "" : ", ") + node.op;
    }
    return text;
}

Tensor inputOfRows() { return randomTensor({2, 3, kRow}, 5, -3, 3); }

/// A cone of the only output's maker, grown once.
Cone coneOf(const Draft& draft)
{
    Cone cone(draft, draft.value(draft.before().outputs()[0]).producer);
    const bool isGrown = cone.grow(20, ConeStep::Row);
    return isGrown ? cone : Cone(draft, cone.root());
}

SharedGraph alone(const Form& form)
{
    Writer writer;
    writer.output(form({&writer, writer.input("x", {2, kRow})}).id);
    return writer.finish();
}

/// A step of an LSTM from x, h and c, all of them inputs.
SharedGraph lstmStep(bool isCell)
{
    Writer writer;
    const auto weights = [&](unsigned seed) { return Tensor(randomTensor({kRow, kRow}, seed)); };
    const Term x{&writer, writer.input("x", {2, kRow})};
    const Term h{&writer, writer.input("h", {2, kRow})};
    const Term c{&writer, writer.input("c", {2, kRow})};
    const auto gate = [&](unsigned seed) {
        return call("MatMul", {x, of(x, weights(seed))}) + call("MatMul", {h, of(x, weights(seed + 1))});
    };
    const Term candidate = isCell ? tanhOf(gate(1)) : gate(1);
    const Term cell = logistic(gate(3)) * c + candidate * logistic(gate(5));
    writer.output((tanhOf(cell) * logistic(gate(7))).id);
    return writer.finish();
}

SharedGraph paddedConvolution(std::int64_t beside, double value)
{
    Writer writer;
    const Term x{&writer, writer.input("x", {1, 2, 5, 5})};
    const Term padded = call("Pad", {x, whole(x, {0, beside, 1, 2, 0, 0, 0, 1}), of(x, value)});
    const Attributes attributes{{"pads", std::vector<std::int64_t>{0, 0, 1, 0}}};
    writer.output(call("Conv", {padded, of(x, randomTensor({3, 2 + beside, 3, 3}, 1))}, attributes).id);
    return writer.finish();
}

} // namespace

class RecogniseTest : public QObject
{
    Q_OBJECT

private slots:
    void everyFormBecomesTheOperator_data()
    {
        QTest::addColumn<int>("function");
        const auto functions = writtenFunctions();
        for (std::size_t i = 0; i < functions.size(); ++i) {
            QTest::newRow(functions[i].name) << static_cast<int>(i);
        }
    }
    void everyFormBecomesTheOperator()
    {
        QFETCH(int, function);
        const WrittenFunction written = writtenFunctions()[static_cast<std::size_t>(function)];
        for (std::size_t form = 1; form < written.forms.size(); ++form) {
            const SharedGraph graph = graphOf(written.forms[form]);
            QVERIFY(graph);
            const Rewritten result = rewrittenBy(graph);
            QCOMPARE(operatorsOf(*result.graph), "MatMul, " + written.op + ", MatMul");
            const auto before = evaluate(graph, {inputOfRows()}, Precision::Float);
            const auto after = evaluate(result.graph, {inputOfRows()}, Precision::Float);
            QVERIFY2(before[0].bitEqual(after[0]), qPrintable(QString("form %1").arg(form)));
            const double wide = deviation(result.graph, graph, {inputOfRows()}, Precision::Double);
            QVERIFY2(wide < 1e-6, qPrintable(QString("form %1: %2").arg(form).arg(wide)));
        }
    }

    void whatIsNearlyAFunctionStays()
    {
        const std::vector<std::pair<Form, std::string>> forms{
            // with an operator that another function would replace
            {[](const Term& x) { return logistic(x * 2) * 2 - 1.01; }, "Sigmoid"},
            {[](const Term& x) { return 1.0 / (1.001 + e(-x)); }, "Div"},
            {[](const Term& x) { return x * logistic(x) + x * 0.001; }, "Add"},
            {[](const Term& x) { return e(x) / sum(e(x * 1.001)); }, "Div"},
            {[](const Term& x) { return (x - mean(x)) / (root(mean(power(x - mean(x), 2))) + 1e-3); }, "Div"},
            {[](const Term& x) { return (x - sum(x) / 5.0) / root(mean(power(x, 2)) + 1e-5) * rowScale(x); }, "Div"},
            {[](const Term& x) { return x - mean(x); }, "Sub"},
        };
        for (const auto& [form, stays] : forms) {
            const SharedGraph graph = graphOf(form);
            const auto found = operatorsOf(*rewrittenBy(graph).graph);
            QVERIFY2(found.find(stays) != std::string::npos, (operatorsOf(*graph) + " became " + found).c_str());
        }
    }

    void aValueInsideThatIsReadElsewhereIsNamed()
    {
        Writer writer;
        const Term x{&writer, writer.input("x", {2, kRow})};
        const Term up = e(x);
        writer.output((up / sum(up)).id);
        writer.output(relu(up).id);
        const SharedGraph graph = writer.finish();
        RETRO_MADE(result, retro::rewrite::rewrite(graph, only(&RewriteOptions::fuseSoftmax)));
        QCOMPARE(result->graph, graph);
        QCOMPARE(result->steps.size(), std::size_t{1});
        QVERIFY(result->steps[0].isNote);
    }

    void eachGroupHasItsOwnSwitch()
    {
        const std::vector<std::pair<const char*, bool RewriteOptions::*>> groups{
            {"softmax", &RewriteOptions::fuseSoftmax},     {"L2", &RewriteOptions::fuseNorms},
            {"Sigmoid", &RewriteOptions::fuseActivations}, {"LayerNorm", &RewriteOptions::fuseLayerNorm},
            {"RMSNorm", &RewriteOptions::fuseRmsNorm},
        };
        for (const WrittenFunction& function : writtenFunctions()) {
            for (const auto& [name, option] : groups) {
                if (function.name == std::string(name)) {
                    const SharedGraph graph = graphOf(function.forms[1]);
                    RewriteOptions options;
                    options.*option = false;
                    RETRO_MADE(kept, retro::rewrite::rewrite(graph, options));
                    QVERIFY(operatorsOf(*kept->graph).find(", " + function.op + ",") == std::string::npos);
                    RETRO_MADE(alone, retro::rewrite::rewrite(graph, only(option)));
                    QVERIFY(operatorsOf(*alone->graph).find(", " + function.op + ",") != std::string::npos);
                }
            }
        }
    }

    void aConeEndsAtTheValueThroughWhichAllWaysLead()
    {
        const SharedGraph graph = alone([](const Term& x) {
            const Term y = x + 1;
            const Term power = e(y);
            return power * tanhOf(y);
        });
        const Draft draft(*graph);
        const Cone cone = coneOf(draft);
        QCOMPARE(cone.size(), std::size_t{3});
        QCOMPARE(cone.leafReads(), std::size_t{2});
        QCOMPARE(cone.operators(), std::string("Exp Tanh Mul"));
        Cone longer = cone;
        QVERIFY(longer.grow(20, ConeStep::Curve));
        QCOMPARE(longer.size(), std::size_t{4});
        Cone tooLong = cone;
        QVERIFY(!tooLong.grow(3, ConeStep::Curve));
    }

    void conesThatAreWrittenAlikeHaveOneKey()
    {
        const auto keyOf = [](const Form& form) {
            const SharedGraph graph = alone(form);
            const Draft draft(*graph);
            Cone cone = coneOf(draft);
            while (cone.grow(20, ConeStep::Row)) {
            }
            return cone.key();
        };
        const auto silu = [](const Term& x) { return x * logistic(x * 2); };
        QCOMPARE(keyOf(silu), keyOf(silu));
        QVERIFY(keyOf(silu) != keyOf([](const Term& x) { return x * logistic(x * 3); }));
        QVERIFY(keyOf(silu) != keyOf([](const Term& x) { return x * tanhOf(x * 2); }));
    }

    void aConstantIsOneNumberWhereAllElementsAre()
    {
        Writer writer;
        const ValueId ones = writer.constant("ones", Tensor::full(DType::Float32, {2, 3}, 1));
        const ValueId others = writer.constant("others", randomTensor({3}, 1));
        const ValueId x = writer.input("x", {2, 3});
        writer.output(writer.node("Sum", "sum", {x, ones, others}));
        const SharedGraph graph = writer.finish();
        const Draft draft(*graph);
        QCOMPARE(uniformNumber(draft, *graph->findValue("ones")), std::optional(1.0));
        QVERIFY(!uniformNumber(draft, *graph->findValue("others")));
        QVERIFY(!uniformNumber(draft, *graph->findValue("x")));
    }

    void productsWithGatesOfACellAreGates()
    {
        const SharedGraph cell = lstmStep(true);
        const Rewritten result = rewrittenBy(cell);
        int gates = 0;
        for (const auto& node : result.graph->nodes()) {
            QVERIFY(node.op != "Mul");
            gates += node.op == "Gate" ? 1 : 0;
        }
        QCOMPARE(gates, 3);
        const std::vector<Tensor> inputs{randomTensor({2, kRow}, 1), randomTensor({2, kRow}, 2),
                                         randomTensor({2, kRow}, 3)};
        QVERIFY(
            evaluate(cell, inputs, Precision::Float)[0].bitEqual(evaluate(result.graph, inputs, Precision::Float)[0]));
        QVERIFY(operatorsOf(*rewrittenBy(lstmStep(false)).graph).find("Gate") == std::string::npos);
    }

    void padByZerosIsPaddingOfTheConvolution()
    {
        const SharedGraph graph = paddedConvolution(0, 0);
        const Rewritten result = rewrittenBy(graph);
        QCOMPARE(operatorsOf(*result.graph), std::string("Conv"));
        const auto& pads = std::get<std::vector<std::int64_t>>(result.graph->nodes()[0].attributes.at("pads"));
        QCOMPARE(pads, (std::vector<std::int64_t>{1, 2, 1, 1}));
        QVERIFY(deviation(result.graph, graph, {randomTensor({1, 2, 5, 5}, 2)}, Precision::Double) < 1e-14);
        QCOMPARE(operatorsOf(*rewrittenBy(paddedConvolution(0, 1)).graph), std::string("Pad, Conv"));
        QCOMPARE(operatorsOf(*rewrittenBy(paddedConvolution(1, 0)).graph), std::string("Pad, Conv"));
    }
};

QTEST_APPLESS_MAIN(RecogniseTest)
#include "recognisetest.moc"
