// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "core/engine/explain.h"
#include "core/engine/target.h"
#include "core/graph/graphbuilder.h"

using namespace retro;
using engine::StartKind;
using engine::TargetRequest;
using tensor::Tensor;

namespace
{

Tensor logits()
{
    const std::vector<double> values{0.5, 2.0, -1.0, 3.0, -2.0, 0.25};
    return Tensor::of<double>({2, 3}, std::span<const double>(values));
}

engine::ResolvedTarget resolve(const std::string& target, StartKind start)
{
    const auto request = engine::parseTarget(target);
    auto resolved = engine::resolveTarget(*request, {start, {}}, base::ValueId(std::uint32_t{0}), logits());
    return *resolved;
}

std::vector<double> valuesOf(const Tensor& t)
{
    const auto span = t.span<double>();
    return {span.begin(), span.end()};
}

} // namespace

class TargetTest : public QObject
{
    Q_OBJECT
private slots:
    void parses()
    {
        QVERIFY(engine::parseTarget("argmax")->kind == TargetRequest::Kind::Argmax);
        QVERIFY(engine::parseTarget("7")->classIndex == 7);
        const auto value = engine::parseTarget("/fc1/Gemm_output_0:1,2");
        QCOMPARE(QString::fromStdString(value->value), QStringLiteral("/fc1/Gemm_output_0"));
        QCOMPARE(value->index, (std::vector<std::int64_t>{1, 2}));
        QCOMPARE(QString::fromStdString(engine::parseTarget("scope::name")->value), QStringLiteral("scope::name"));
        QVERIFY(!engine::parseTarget("-1").ok());
        QVERIFY(!engine::parseStart("loud").ok());
    }

    void aLabelIsAClass()
    {
        const std::vector<std::string> labels{"ground", "house", "7"};
        QCOMPARE(engine::parseTarget("house", labels)->classIndex, std::int64_t{1});
        QCOMPARE(engine::parseTarget("7", labels)->classIndex, std::int64_t{2}); // the label before the number
        QVERIFY(engine::parseTarget("house", labels)->kind == TargetRequest::Kind::Class);
        QVERIFY(engine::parseTarget("tree", labels)->kind == TargetRequest::Kind::Value);
        QVERIFY(engine::parseTarget("argmax", labels)->kind == TargetRequest::Kind::Argmax);
    }

    void argmaxIsPerSample()
    {
        const auto target = resolve("argmax", StartKind::Logit);
        QCOMPARE(target.index, (std::vector<std::int64_t>{1, 0}));
        QCOMPARE(target.logit, (std::vector<double>{2.0, 3.0}));
        QCOMPARE(valuesOf(target.start), (std::vector<double>{0, 2, 0, 3, 0, 0}));
    }

    void startsDiffer()
    {
        QCOMPARE(valuesOf(resolve("2", StartKind::One).start), (std::vector<double>{0, 0, 1, 0, 0, 1}));
        QCOMPARE(valuesOf(resolve("argmax", StartKind::All).start), valuesOf(logits()));
        const double rest = -1.0 / 3.0;
        QCOMPARE(valuesOf(resolve("0", StartKind::Contrastive).start),
                 (std::vector<double>{1, rest, rest, 1, rest, rest}));
    }

    void indicesChooseOneElement()
    {
        const auto target = resolve("y:1,2", StartKind::Logit);
        QCOMPARE(valuesOf(target.start), (std::vector<double>{0, 0, 0, 0, 0, 0.25}));
        const auto whole = resolve("y", StartKind::Logit);
        QCOMPARE(valuesOf(whole.start), valuesOf(logits()));
    }

    void refusesWhatIsNotThere()
    {
        const auto request = engine::parseTarget("3");
        const auto resolved = engine::resolveTarget(*request, {}, base::ValueId(std::uint32_t{0}), logits());
        QVERIFY(!resolved.ok());
        QVERIFY(resolved.error().code == base::ErrorCode::Usage);
        const auto tooMany =
            engine::resolveTarget(*engine::parseTarget("y:0,1,2"), {}, base::ValueId(std::uint32_t{0}), logits());
        QVERIFY(!tooMany.ok());
        const Tensor broken = Tensor::full(tensor::DType::Float64, {1, 3}, std::nan(""));
        QVERIFY(!engine::resolveTarget({}, {}, base::ValueId(std::uint32_t{0}), broken).ok());
    }

    void aProbabilityHasAHint()
    {
        graph::GraphBuilder builder("small");
        builder.setOpset("", 18);
        const auto node = [&](const char* op, const char* name, std::vector<base::ValueId> inputs) {
            const base::ValueId result = builder.addResult(std::string(name) + "_out");
            builder.addNode({op, "", name, "", 18, std::move(inputs), {result}, {}});
            return result;
        };
        const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
        const base::ValueId logits = node("Relu", "logits", {x});
        const base::ValueId end = node("Flatten", "end", {node("Softmax", "prob", {logits})});
        const base::ValueId logarithm = node("LogSoftmax", "log", {logits});
        builder.addOutput(end);
        builder.addOutput(logarithm);
        const std::vector<ops::TensorType> types{{tensor::DType::Float32, {1, 2}}};
        const auto model = execute::BoundModel::bind(
            std::make_shared<const graph::Graph>(std::move(builder).build().value()), types, execute::Precision::Float);
        QVERIFY(model.ok());
        engine::ResolvedTarget target;
        target.value = end;
        target.index = {1};
        const std::string hint = engine::targetHint(**model, target);
        QVERIFY2(hint.find("--target 'logits_out:0,1'") != std::string::npos, hint.c_str());
        target.index = {1, 0};
        QVERIFY(engine::targetHint(**model, target).find("'logits_out[:i,j,…]'") != std::string::npos);
        for (const base::ValueId value : {logits, logarithm, x}) {
            target.value = value;
            QVERIFY(engine::targetHint(**model, target).empty());
        }
    }
};

QTEST_GUILESS_MAIN(TargetTest)
#include "targettest.moc"
