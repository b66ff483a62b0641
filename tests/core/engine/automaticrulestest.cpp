// SPDX-License-Identifier: Apache-2.0
// `auto` looks at how relevance grows in its own first pass, and puts other rules before its own where it explodes.
#include "core/engine/explain/automaticrules.h"
#include "core/engine/evaluate/subject.h"
#include "core/ops/algebra.h"
#include "tests/core/diagnosis/diagnosed.h"

using namespace retro;
using namespace retro::tests;

namespace
{

const std::string kSums = "structure:\"sum of operands\"=abs-ratio";

/// Σ = 20·x − 19·b, again and again: what goes on along x is multiplied by 20 at every sum, whose results are 1.
SharedGraph compounding(int stages)
{
    Writer writer;
    ValueId x = writer.input("a", {1, 4});
    const ValueId b = writer.input("b", {1, 4});
    for (int i = 0; i < stages; ++i) {
        const std::string number = std::to_string(i);
        const auto scaled = [&](const std::string& name, ValueId value, float factor) {
            std::vector<float> diagonal(16, 0.0F);
            for (std::size_t k = 0; k < 16; k += 5) {
                diagonal[k] = factor;
            }
            return writer.node("Gemm", name, {value, writer.constant(name + ".w", floats({4, 4}, diagonal))});
        };
        x = writer.node("Add", "sum" + number, {scaled("plus" + number, x, 20), scaled("minus" + number, b, -19)});
    }
    writer.output(writer.node("Gemm", "head", {x, writer.constant("v", floats({4, 3}, std::vector<float>(12, 0.5F)))}));
    return writer.finish();
}

const Asked kAuto{{floats({1, 4}, {1, 1, 1, 1}), floats({1, 4}, {1, 1, 1, 1})}, "auto"};

engine::ExplainResult explained(const SharedGraph& graph, const engine::ExplainRequest& request)
{
    return tests::made(engine::explain(*loaded(graph), request));
}

Tensor atInput(const engine::ExplainResult& result)
{
    return result.relevance[result.model->graph().inputs().front().index()];
}

bool hasSameBits(const Tensor& a, const Tensor& b)
{
    bool isSame = a.shape() == b.shape();
    for (std::int64_t i = 0; isSame && i < a.size(); ++i) {
        isSame = a.at(i) == b.at(i);
    }
    return isSame;
}

} // namespace

class AutomaticRulesTest : public QObject
{
    Q_OBJECT

private slots:
    void rulesAreChangedWhereRelevanceCompounds()
    {
        const SharedGraph graph = compounding(3);
        const engine::ExplainResult result = explained(graph, kAuto.request());
        QCOMPARE(result.composite.name, "epsilon | " + kSums);
        QVERIFY2(hasAll(result.composite.reason, {"no convolutions", "grew by 3.9 decades", "abs-ratio", "signs"}),
                 result.composite.reason.c_str());
        engine::ExplainRequest same = kAuto.request();
        same.composite = "auto | " + kSums;
        QVERIFY(hasSameBits(atInput(result), atInput(explained(graph, same))));
        QVERIFY(ops::algebra::sumAbsolute(atInput(result)) < 10 * result.relevanceStart);
    }

    void everyWayOfComputingComesToTheSame()
    {
        const SharedGraph graph = compounding(3);
        const Tensor expected = atInput(explained(graph, kAuto.request()));
        for (const auto kind : {engine::EngineKind::Oracle, engine::EngineKind::Compiled}) {
            engine::ExplainRequest request = kAuto.request();
            request.engine = kind;
            const engine::ExplainResult result = explained(graph, request);
            QCOMPARE(result.composite.name, "epsilon | " + kSums);
            QVERIFY(hasSameBits(expected, atInput(result)));
        }
        engine::ExplainRequest inputs = kAuto.request();
        inputs.inputsOnly = true;
        const engine::ExplainResult result = explained(graph, inputs);
        QCOMPARE(result.composite.name, "epsilon | " + kSums);
        QVERIFY(hasSameBits(expected, atInput(result)));
        engine::Explainer explainer(loaded(graph));
        for (int again = 0; again < 2; ++again) {
            const auto next = explainer.explain(kAuto.request());
            QVERIFY(next.ok() && hasSameBits(expected, atInput(*next)));
        }
        engine::ExplainRequest recorded = kAuto.request();
        recorded.record = true;
        const engine::ExplainResult run = explained(graph, recorded);
        QCOMPARE(run.run->facts.composite, "epsilon | " + kSums);
    }

    void rulesOfAPersonStandFirst()
    {
        engine::ExplainRequest request = kAuto.request();
        request.composite = "auto | name:sum0=norm";
        const engine::ExplainResult result = explained(compounding(3), request);
        QVERIFY(result.composite.name.starts_with("epsilon | name:sum0=norm | "));
        QVERIFY(result.composite.name.ends_with(kSums));
    }

    void whatAPersonChoseStays()
    {
        engine::ExplainRequest request = kAuto.request();
        request.composite = "epsilon";
        QCOMPARE(explained(compounding(3), request).composite.name, std::string("epsilon"));
        Asked asked = kAuto;
        asked.composite = "epsilon";
        QVERIFY(hasAll(firstText(diagnosed(compounding(3), asked, "flow.explodes")), {"warning", "3.9 decades"}));
    }

    void nothingIsChangedWithoutAnExplosion()
    {
        const engine::ExplainResult one = explained(compounding(1), kAuto.request());
        QCOMPARE(one.composite.name, std::string("epsilon"));
        QVERIFY(one.composite.reason.find("decades") == std::string::npos);
    }

    void growthOfASingleNodeIsAFaultToBeNamed()
    {
        Writer writer;
        const ValueId a = writer.input("a", {1, 4});
        const ValueId b = writer.node("Mul", "scaled", {a, writer.constant("factor", Tensor::scalar<float>(-0.9999F))});
        const ValueId sum = writer.node("Add", "sum", {a, b});
        writer.output(
            writer.node("Gemm", "head", {sum, writer.constant("v", floats({4, 3}, std::vector<float>(12, 5000)))}));
        const SharedGraph graph = writer.finish();
        const Asked one{{floats({1, 4}, {1, 2, 3, 4})}, "auto"};
        QCOMPARE(explained(graph, one.request()).composite.name, std::string("epsilon"));
        QVERIFY(hasAll(firstText(diagnosed(graph, one)), {"warning sum", "its operands cancel"}));
    }

    void evaluationKeepsTheRulesOfItsQuestion()
    {
        RETRO_MADE(subject, engine::Subject::make(loaded(compounding(3)), kAuto.request()));
        QCOMPARE(subject->composite(), "epsilon | " + kSums);
    }
};

QTEST_GUILESS_MAIN(AutomaticRulesTest)
#include "automaticrulestest.moc"
