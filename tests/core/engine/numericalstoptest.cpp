// SPDX-License-Identifier: Apache-2.0
// Relevance that is no number ends the pass and says where it began.
#include "core/engine/evaluate/subject.h"
#include "core/engine/explain/explain.h"
#include "core/engine/verify/targettape.h"
#include "core/engine/ways/plannedrelevance.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/trace/wrongnumber.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace retro;

using tensor::Tensor;

namespace
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// y = relu(x)·W of two inputs; and with `first`, of relu(x·first).
engine::LoadedModelPointer smallModel(const std::vector<double>& first = {})
{
    graph::GraphBuilder builder("small", 18);
    const auto node = [&](const char* op, const char* name, std::vector<base::ValueId> inputs) {
        return builder.addOp(op, name, std::move(inputs), std::string(name) + "_out");
    };
    const auto constant = [&](const char* name, const tensor::Shape& shape, const std::vector<double>& values) {
        return builder.addConstant(name, Tensor::of<double>(shape, values).to(tensor::DType::Float32));
    };
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
    const base::ValueId hidden = first.empty() ? x : node("MatMul", "first", {x, constant("V", {2, 2}, first)});
    builder.addOutput(node("MatMul", "second", {node("Relu", "act", {hidden}), constant("W", {2, 1}, {1, 1})}));
    auto model = engine::parseModel(formats::toOnnx(std::move(builder).build().value()).value(), "small.onnx", {});
    return model.ok() ? *model : nullptr;
}

engine::ExplainRequest question(std::vector<double> x)
{
    engine::ExplainRequest request;
    request.inputs = {Tensor::of<double>({1, 2}, x)};
    request.composite = "epsilon:epsilon=0";
    request.precision = execute::Precision::Double;
    request.target.kind = engine::TargetRequest::Kind::Class;
    request.start.kind = engine::StartKind::One;
    return request;
}

QString errorOf(const engine::LoadedModel& model, const engine::ExplainRequest& request)
{
    const auto result = engine::explain(model, request);
    if (result.ok() || result.error().code != base::ErrorCode::Engine) {
        return {};
    }
    engine::ExplainRequest alone = request; // says the same, though it has let go what the words are made of
    alone.inputsOnly = true;
    alone.engine = engine::EngineKind::Promise;
    const auto again = engine::explain(model, alone);
    const bool isSame = !again.ok() && again.error().text() == result.error().text();
    return isSame ? QString::fromStdString(result.error().text()) : QStringLiteral("another error");
}

} // namespace

class NumericalStopTest : public QObject
{
    Q_OBJECT

private slots:
    void init()
    {
        m_model = smallModel();
        QVERIFY(m_model != nullptr);
    }

    void everyEngineNamesTheFirstNode()
    {
        engine::ExplainRequest request = question({1, kInfinity});
        for (const auto kind :
             {engine::EngineKind::Promise, engine::EngineKind::Compiled, engine::EngineKind::Oracle}) {
            request.engine = kind;
            const QString error = errorOf(*m_model, request);
            QVERIFY2(error.startsWith("node \"second\" (MatMul, rule lrp-0): the relevance of \"act_out\" is "),
                     qPrintable(error));
            RETRO_SAYS(error,
                       "nan at [0, 1] (1 of 2 elements is not finite); in the forward pass already "
                       "\"act_out\" is inf at [0, 1]",
                       "it began at input \"x\": its value is inf at [0, 1]", "--go-on");
        }
    }

    // 1/1e-310 is too large for a double: nothing in the forward pass is to blame.
    void anOverflowOfARule()
    {
        const QString error = errorOf(*m_model, question({1e-310, 0}));
        QVERIFY2(
            error.startsWith("node \"second\" (MatMul, rule lrp-0): the relevance of \"act_out\" is inf at [0, 0]"),
            qPrintable(error));
        QVERIFY2(!error.contains("forward pass"), qPrintable(error));
    }

    void aStartThatIsNoNumber()
    {
        engine::ExplainRequest request = question({1, kInfinity});
        request.start.kind = engine::StartKind::All;
        const QString error = errorOf(*m_model, request);
        QVERIFY2(error.startsWith("input \"x\": its value is inf at [0, 1] (1 of 2 elements is not finite); relevance "
                                  "starts at \"second_out\""),
                 qPrintable(error));
    }

    // Not the last node, at which relevance starts, but the one that made the number out of finite ones.
    void theFirstNodeOfTheForwardPass()
    {
        const auto model = smallModel({1, 2, kNan, 4});
        engine::ExplainRequest request = question({1, 1});
        request.start.kind = engine::StartKind::Logit;
        for (const auto kind : {engine::TargetRequest::Kind::Class, engine::TargetRequest::Kind::Argmax}) {
            request.target.kind = kind;
            const QString error = errorOf(*model, request);
            QVERIFY2(error.startsWith("node \"first\" (MatMul, rule lrp-0): the forward value \"first_out\" is nan at "
                                      "[0, 0] (1 of 2 elements is not finite); its constant operand \"V\" is nan at "
                                      "[1, 0]"),
                     qPrintable(error));
            const bool isArgmax = kind == engine::TargetRequest::Kind::Argmax;
            QVERIFY2(error.contains(isArgmax ? "argmax can choose no class" : "--go-on"), qPrintable(error));
        }
        request.goesOnWhenNotFinite = true; // there is no largest of scores that are no numbers
        QVERIFY(errorOf(*model, request).contains("named with --target"));
        request.target.kind = engine::TargetRequest::Kind::Class;
        QVERIFY(engine::explain(*model, request).ok());
    }

    void evaluationNamesItToo()
    {
        const auto model = smallModel({1, 2, kNan, 4});
        RETRO_REFUSED(engine::Subject::make(model, question({1, 1}), {}), "node \"first\"");
    }

    void verificationNamesItToo()
    {
        const auto model = smallModel({1, 2, kNan, 4});
        const auto tape = engine::targetTape(*model, question({1, 1}).inputs, {}, execute::Precision::Double, {});
        QVERIFY(!tape.ok());
        QVERIFY2(tape.error().text().starts_with("node \"first\" (MatMul): the forward value"),
                 tape.error().text().c_str());
    }

    // 0·∞, behind every rule: the activation cuts x off, so 0 arrives there and is 0.
    void theProductWithTheInput()
    {
        engine::ExplainRequest request = question({1, -kInfinity});
        for (const char* composite : {"gradient_x_input", "attnlrp:form=gradient_x_input"}) {
            request.composite = composite;
            RETRO_MADE(result, engine::explain(*m_model, request));
            QCOMPARE(result->relevance[result->model->graph().inputs()[0].index()].at(1), 0.0);
        }
    }

    // Within the plan's memory: the values that the words are of are not kept for them.
    void aPlanSaysTheSame()
    {
        engine::PlanOptions wish;
        wish.strategy = "recompute_all";
        engine::ExplainRequest overflow = question({1e-310, 0});
        engine::ExplainRequest infinite = question({1, kInfinity});
        engine::ExplainRequest started = infinite;
        started.start.kind = engine::StartKind::All;
        for (const engine::ExplainRequest& request : {overflow, infinite, started}) {
            const QString expected = errorOf(*m_model, request);
            const auto planned = engine::plannedRelevance(*m_model, request, wish);
            QVERIFY(!planned.ok() && !expected.isEmpty());
            QCOMPARE(QString::fromStdString(planned.error().text()), expected);
        }
        const auto wrong = smallModel({1, 2, kNan, 4});
        engine::ExplainRequest chosen = question({1, 1});
        chosen.target.kind = engine::TargetRequest::Kind::Argmax;
        const auto planned = engine::plannedRelevance(*wrong, chosen, wish);
        QVERIFY(!planned.ok());
        QCOMPARE(QString::fromStdString(planned.error().text()), errorOf(*wrong, chosen));
    }

    void aRecordedRunSaysTheSame()
    {
        engine::ExplainRequest request = question({1, kInfinity});
        request.goesOnWhenNotFinite = request.record = request.keepValues = true;
        RETRO_MADE(result, engine::explain(*m_model, request));
        RETRO_MADE(wrong, trace::firstWrongNumber(trace::numbersOf(*result->run)));
        QCOMPARE(QString::fromStdString(wrong->where), QStringLiteral("node \"second\" (MatMul, rule lrp-0)"));
        QVERIFY2(wrong->text.starts_with("the relevance of \"act_out\" is ") &&
                     wrong->text.find("it began at input \"x\"") != std::string::npos,
                 wrong->text.c_str());
        QVERIFY(result->run->graph->labelOf(wrong->node) == "second");
    }

    void theUserMayGoOn()
    {
        engine::ExplainRequest request = question({1, kInfinity});
        request.goesOnWhenNotFinite = true;
        RETRO_MADE(result, engine::explain(*m_model, request));
        const Tensor& relevance = result->relevance[result->model->graph().inputs()[0].index()];
        QVERIFY(std::isnan(relevance.at(1)));
        QVERIFY(std::isfinite(relevance.at(0)));
    }

    void nothingIsWrongWithZeros()
    {
        RETRO_MADE(result, engine::explain(*m_model, question({0, 0})));
        QCOMPARE(result->relevanceInputs, 0.0);
        QCOMPARE(engine::causeTotals(result->ledger).at("zero denominator"), 1.0);
    }

private:
    engine::LoadedModelPointer m_model;
};

QTEST_GUILESS_MAIN(NumericalStopTest)
#include "numericalstoptest.moc"
