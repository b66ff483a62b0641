// SPDX-License-Identifier: Apache-2.0
// Findings follow from what was explained, not from how: by every engine, in memory and from a file, in float and
// double.
#include <QtTest>

#include "core/diagnosis/registry.h"
#include "core/trace/runfile.h"
#include "tests/core/diagnosis/diagnosed.h"

#include <QTemporaryDir>

#include <cmath>

using namespace retro;
using namespace retro::tests;

namespace
{

/// x → Pad with 4 → Conv → Relu → Gemm with a large bias: several findings.
SharedGraph faulty()
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 1, 2, 2});
    const ValueId pads = writer.constant("pads", Tensor::of<std::int64_t>({8}, Whole{0, 0, 2, 2, 0, 0, 2, 2}));
    const ValueId fill = writer.constant("fill", Tensor::scalar<float>(4));
    const ValueId wide = writer.node("Pad", "pad", {x, pads, fill});
    const ValueId w = writer.constant("w", randomTensor({12, 1, 6, 6}, 1, 0.1, 1));
    ValueId value =
        writer.node("Flatten", "flat", {writer.node("Relu", "relu", {writer.node("Conv", "conv", {wide, w})})});
    for (const char* name : {"fc1", "fc2", "fc3"}) {
        const std::string text = name;
        const float bias = text == "fc2" ? 900 : 0;
        value = writer.node("Relu", text + ".relu",
                            {writer.node("Gemm", text,
                                         {value, writer.constant(text + ".w", randomTensor({12, 12}, 2, 0.1, 0.3)),
                                          writer.constant(text + ".b", floats({12}, std::vector<float>(12, bias)))})});
    }
    writer.output(value);
    return writer.finish();
}

Asked question() { return {{floats({1, 1, 2, 2}, {1, 2, 3, 4})}}; }

/// What the checks that go along say of an explanation.
Diagnosis checked(engine::ExplainRequest request, engine::EngineKind kind)
{
    const auto model = loaded(faulty());
    request.engine = kind;
    request.keepsForward = true;
    auto result = engine::explain(*model, request);
    if (!result || !engine::addDiagnosis(*model, request, *result)) {
        qFatal("the model of the test does not run");
    }
    return *result->diagnosis;
}

/// True when both find the same, with numbers that are equal to 1e-5.
bool isSame(const Diagnosis& a, const Diagnosis& b)
{
    return std::ranges::equal(a.findings, b.findings, [](const Finding& x, const Finding& y) {
        const bool isNear = std::ranges::equal(x.numbers, y.numbers, [](const auto& p, const auto& q) {
            return p.first == q.first && std::abs(p.second - q.second) <= 1e-5 * std::max(1.0, std::abs(q.second));
        });
        return x.id == y.id && x.place.name == y.place.name && x.what == y.what && isNear;
    });
}

} // namespace

class EnginesTest : public QObject
{
    Q_OBJECT

private slots:
    void everyEngineGivesTheSameFindings()
    {
        const Diagnosis promise = checked(question().request(), engine::EngineKind::Promise);
        QVERIFY(promise.findings.size() >= 2);
        QVERIFY(isSame(promise, checked(question().request(), engine::EngineKind::Oracle)));
        QVERIFY(isSame(promise, checked(question().request(), engine::EngineKind::Compiled)));
        engine::ExplainRequest wide = question().request();
        wide.precision = execute::Precision::Double;
        QVERIFY(isSame(promise, checked(wide, engine::EngineKind::Promise)));
    }

    void runFileGivesTheSameFindings()
    {
        QTemporaryDir folder;
        const auto model = loaded(faulty());
        engine::ExplainRequest request = question().request();
        request.record = request.keepValues = true;
        const auto result = engine::explain(*model, request);
        QVERIFY(result.ok() && result->run);
        const std::filesystem::path path = folder.filePath("a.retro").toStdString();
        QVERIFY(trace::writeRun(path, *result->run).ok());
        RETRO_MADE(run, trace::readRun(path));
        const Diagnosis ofFile = diagnosed(*engine::factsOf(*run, model, "a.retro"));
        const Diagnosis ofModel = diagnosed(*engine::factsOf(model, request));
        QVERIFY(isSame(ofFile, ofModel));
        QCOMPARE(ofFile.run, std::string("a.retro"));
        // Without the model what reads its weights is not run, and what the run holds is.
        const Diagnosis alone = diagnosed(*engine::factsOf(*run, nullptr, "a.retro"));
        QVERIFY(std::ranges::any_of(alone.findings, [](const Finding& one) { return one.id == "flow.unread"; }));
        QVERIFY(alone.checksRun() < ofFile.checksRun());
    }

    void everyDiagnosisCountsAllChecks()
    {
        diagnosis::Options beside;
        beside.isCheapAlone = true;
        const auto facts = engine::factsOf(loaded(faulty()), question().request());
        RETRO_MADE(made, diagnosis::diagnose(*facts, beside));
        QCOMPARE(made->checks.size(), diagnosis::checks().size());
        QCOMPARE(made->checks.size(), diagnosed(*facts).checks.size());
        const auto left = std::ranges::find_if(made->checks, [](const auto& one) { return !one.check->isCheap; });
        QVERIFY(left != made->checks.end() && !left->isRun && !left->why.empty());
    }

    void stopEndsTheChecks()
    {
        std::stop_source source;
        source.request_stop();
        const auto facts = engine::factsOf(loaded(faulty()), question().request(), source.get_token());
        QCOMPARE(diagnosis::diagnose(*facts).error().code, base::ErrorCode::Cancelled);
    }

    void modelThatDoesNotRunIsExplained()
    {
        const auto model = loaded(faulty());
        engine::ExplainRequest request = question().request();
        request.inputs = {floats({1, 2, 2, 1}, {1, 2, 3, 4})};
        const auto result = engine::explain(*model, request);
        QVERIFY(!result.ok());
        const auto cause = engine::causeOf(*model, request, result.error());
        QVERIFY(cause && cause->id == "input.layout");
        const auto facts = engine::factsOf(model, request);
        QVERIFY(diagnosis::textOf(diagnosed(*facts)).front().starts_with("error    x"));
    }
};

QTEST_APPLESS_MAIN(EnginesTest)
#include "enginestest.moc"
