// SPDX-License-Identifier: Apache-2.0
// Branches that a mask replaces may be NaN or infinite: where 0 arrives, 0 is handed on.
#include "core/lrp/composite/composite.h"
#include "core/ops/algebra.h"
#include "tests/core/engine/relevancenetworks.h"

#include <QTest>

#include <limits>

using namespace retro;
using namespace retro::engine::testing;

namespace
{

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor floats(const tensor::Shape& shape, const std::vector<float>& values) { return Tensor::of<float>(shape, values); }

/// scores = (x > 0 ? f(x + 1) : −x)·W, where f is not finite at some elements of the other side.
SharedGraph choice(const std::string& function)
{
    ValueId x;
    Writer writer = start(x, {1, 4});
    const ValueId zero = writer.constant("zero", floats({}, {0}));
    const ValueId isAbove = writer.node("Greater", "above", {x, zero});
    const ValueId sum = writer.node("Add", "sum", {x, writer.constant("one", floats({}, {1}))});
    const ValueId bent = writer.node(function, "bent", {sum});
    const ValueId chosen = writer.node("Where", "chosen", {isAbove, bent, writer.node("Neg", "other", {x})});
    writer.output(
        writer.node("MatMul", "scores", {chosen, writer.constant("w", floats({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}))}));
    return writer.finish();
}

/// Attention of four tokens among themselves; the first `padding` rows of the mask read −∞ alone.
SharedGraph attention(std::int64_t tokens, std::int64_t padding)
{
    ValueId x;
    Writer writer = start(x, {tokens, 3});
    std::vector<float> mask;
    for (std::int64_t i = 0; i < tokens * tokens; ++i) {
        const std::int64_t row = i / tokens;
        const std::int64_t column = i % tokens;
        mask.push_back(column >= padding && column <= row ? 0 : -kInfinity);
    }
    const ValueId q = writer.node("MatMul", "q", {x, writer.constant("wq", randomTensor({3, 3}, 1))});
    const ValueId k = writer.node("MatMul", "k", {x, writer.constant("wk", randomTensor({3, 3}, 2))});
    const ValueId v = writer.node("MatMul", "v", {x, writer.constant("wv", randomTensor({3, 3}, 3))});
    const ValueId turned = writer.node("Transpose", "turned", {k}, {{"perm", Ints{1, 0}}});
    const ValueId scores = writer.node(
        "Add", "masked",
        {writer.node("MatMul", "scores", {q, turned}), writer.constant("mask", floats({tokens, tokens}, mask))});
    const ValueId p = writer.node("Softmax", "p", {scores}, {{"axis", std::int64_t{-1}}});
    const ValueId mixed = writer.node("MatMul", "mixed", {p, v});
    const ValueId sum = writer.node("Add", "residual", {mixed, x});
    writer.output(writer.node("MatMul", "head", {sum, writer.constant("wh", randomTensor({3, 2}, 4))}));
    return writer.finish();
}

/// Missing numbers, which an imputer replaces by 0.5, and a layer.
SharedGraph imputed()
{
    ValueId x;
    Writer writer = start(x, {1, 3});
    const ValueId isMissing = writer.node("IsNaN", "missing", {x});
    const ValueId filled = writer.node("Where", "filled", {isMissing, writer.constant("half", floats({}, {0.5F})), x});
    writer.output(writer.node("MatMul", "scores", {filled, writer.constant("w", floats({3, 1}, {1, 2, 3}))}));
    return writer.finish();
}

engine::ExplainRequest requestFor(const Tensor& x, const std::string& composite)
{
    engine::ExplainRequest request;
    request.inputs = {x};
    request.composite = composite;
    request.precision = execute::Precision::Double;
    request.target.kind = engine::TargetRequest::Kind::Class;
    return request;
}

base::Result<Tensor> inputRelevance(const SharedGraph& graph, const engine::ExplainRequest& request)
{
    const engine::LoadedModelPointer model = modelOf(graph);
    RETRO_TRY(const engine::ExplainResult explained, engine::explain(*model, request));
    return explained.relevance[explained.model->graph().inputs()[0].index()];
}

std::string faultOf(const base::Result<Tensor>& made, const Tensor& expected)
{
    if (!made.ok()) {
        return made.error().text();
    }
    const double off = apart(*made, expected.to(tensor::DType::Float64));
    return off < 1e-6 ? "" : fmt::format("off by {}", off);
}

} // namespace

class MaskedBranchTest : public QObject
{
    Q_OBJECT

private slots:
    void elementsOfTheOtherBranchStay_data()
    {
        QTest::addColumn<QString>("function");
        QTest::addColumn<double>("inside"); // f(3) of the element that is chosen
        QTest::newRow("NaN") << "Log" << std::log(3.0);
        QTest::newRow("infinite") << "Reciprocal" << 1 / 3.0;
        QTest::newRow("no root") << "Sqrt" << std::sqrt(3.0);
    }

    /// By hand: the chosen f passes its relevance on, the sum shares it as x : 1.
    void elementsOfTheOtherBranchStay()
    {
        QFETCH(QString, function);
        QFETCH(double, inside);
        const Tensor x = floats({1, 4}, {2, -3, -1, -0.5F}); // x + 1 is below 0, 0 and above 0 where it is not chosen
        const auto made = inputRelevance(choice(function.toStdString()), requestFor(x, "epsilon:epsilon=0"));
        const bool isReciprocal = function == "Reciprocal"; // a quotient with a constant numerator
        RETRO_OK(made);
        if (!isReciprocal) {
            QVERIFY(std::abs(made->at(0) - inside * 2 / 3) < 1e-6);
        }
        QVERIFY(std::abs(made->at(1) - 3 * 3) < 1e-6);
        QVERIFY(std::abs(made->at(2) - 1 * 5) < 1e-6);
        QVERIFY(std::abs(made->at(3) - 0.5 * 7) < 1e-6);
    }

    /// Whatever the rules and whichever the engine, with the same bits.
    void enginesAgree_data()
    {
        QTest::addColumn<QString>("composite");
        for (const std::string& name : lrp::builtinNames()) {
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
        }
    }

    void enginesAgree()
    {
        QFETCH(QString, composite);
        const Tensor x = floats({1, 4}, {2, -3, -1, -0.5F});
        const Tensor tokens = randomTensor({4, 3}, 5);
        for (const auto& [graph, input] : {std::pair{choice("Log"), x}, std::pair{choice("Reciprocal"), x},
                                           std::pair{choice("Sqrt"), x}, std::pair{attention(4, 2), tokens}}) {
            for (const auto precision : {execute::Precision::Float, execute::Precision::Double}) {
                engine::ExplainRequest request = requestFor(input, composite.toStdString());
                request.precision = precision;
                if (input.shape()[0] == 4) {
                    request.target.kind = engine::TargetRequest::Kind::Value;
                    request.target.value = "head_out";
                    request.target.index = {3, 0};
                }
                request.engine = engine::EngineKind::Oracle;
                RETRO_MADE(oracle, inputRelevance(graph, request));
                QVERIFY(ops::algebra::allFinite(*oracle));
                for (const auto kind : {engine::EngineKind::Promise, engine::EngineKind::Compiled}) {
                    request.engine = kind;
                    RETRO_MADE(other, inputRelevance(graph, request));
                    QVERIFY(other->bitEqual(*oracle));
                }
            }
        }
    }

    /// As the same text without its padding.
    void rowsThatSeeNothing()
    {
        const Tensor all = randomTensor({4, 3}, 5);
        const Tensor seen = floats({2, 3}, {static_cast<float>(all.at(6)), static_cast<float>(all.at(7)),
                                            static_cast<float>(all.at(8)), static_cast<float>(all.at(9)),
                                            static_cast<float>(all.at(10)), static_cast<float>(all.at(11))});
        for (const char* composite : {"attnlrp", "attnlrp:epsilon=0", "attnlrp:form=gradient_x_input", "cp_lrp",
                                      "epsilon", "gradient", "gradient_x_input"}) {
            engine::ExplainRequest request = requestFor(all, composite);
            request.target.kind = engine::TargetRequest::Kind::Value;
            request.target.value = "head_out";
            request.target.index = {3, 0};
            const auto padded = inputRelevance(attention(4, 2), request);
            request.inputs = {seen};
            request.target.index = {1, 0};
            const auto alone = inputRelevance(attention(2, 0), request);
            QVERIFY2(padded.ok(), padded.ok() ? composite : padded.error().text().c_str());
            QVERIFY2(alone.ok(), composite);
            for (std::int64_t i = 0; i < 12; ++i) {
                const double expected = i < 6 ? 0 : alone->at(i - 6);
                QVERIFY2(std::abs(padded->at(i) - expected) < 1e-9, composite);
            }
        }
    }

    void missingNumbersGetNothing()
    {
        const Tensor x = floats({1, 3}, {2, kNan, -2});
        for (const char* composite : {"epsilon:epsilon=0", "gradient_x_input", "attnlrp:form=gradient_x_input"}) {
            engine::ExplainRequest request = requestFor(x, composite);
            const bool isPlain = std::string(composite) == "gradient_x_input"; // as it is where it starts with 1
            request.start.kind = isPlain ? engine::StartKind::One : request.start.kind;
            const std::string fault = faultOf(inputRelevance(imputed(), request), floats({1, 3}, {2, 0, -6}));
            QVERIFY2(fault.empty(), fmt::format("{}: {}", composite, fault).c_str());
        }
    }

    /// Constants of a branch that is replaced somewhere get what arrived elsewhere.
    void parametersOfAMaskedBranch()
    {
        engine::ExplainRequest request = requestFor(floats({1, 4}, {2, -3, -1, -0.5F}), "epsilon:epsilon=0");
        request.parameters = true;
        RETRO_MADE(explained, engine::explain(*modelOf(choice("Log")), request));
        for (const engine::ParameterRelevance& one : explained->parameters) {
            QVERIFY(!one.relevance.isValid() || ops::algebra::allFinite(one.relevance));
            if (explained->model->graph().value(one.value).name == "one") { // 1 of x + 1 = 3, of ln 3
                QVERIFY(std::abs(one.relevance.at(0) - std::log(3.0) / 3) < 1e-6);
            }
        }
    }

    /// What depends on a number that is not finite is no number.
    void whatIsReadStaysWrong()
    {
        const Tensor x = floats({1, 4}, {kInfinity, -3, -1, -0.5F});
        engine::ExplainRequest request = requestFor(x, "epsilon:epsilon=0");
        request.start.kind = engine::StartKind::One;
        QVERIFY(!inputRelevance(choice("Sqrt"), request).ok());
        request.inputs = {floats({1, 4}, {kNan, -3, -1, -0.5F})};
        QVERIFY(!inputRelevance(choice("Sqrt"), request).ok());
    }
};

QTEST_GUILESS_MAIN(MaskedBranchTest)
#include "maskedbranchtest.moc"
