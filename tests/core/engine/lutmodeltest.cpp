// SPDX-License-Identifier: Apache-2.0
// Models of LUT layers: every engine gives the same bits, gradients pass, and both file formats carry them.
#include "core/base/file.h"
#include "core/engine/explain.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/verify/verify.h"
#include "core/formats/graphjson.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "core/trace/describe.h"
#include "core/trace/timeline.h"
#include "kernels/lut/schedule.h"

#include <QtTest>

#include <QTemporaryDir>

#include <random>

using namespace retro;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

/// Multiples of 1/16: differences are often zero or equal.
Tensor grid(const Shape& shape, std::mt19937& random)
{
    std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    for (float& value : values) {
        value = static_cast<float>(static_cast<int>(random() % 65) - 32) / 16;
    }
    return Tensor::of<float>(shape, values);
}

/// x + LUT(x) over a sequence, then a LUT over each position, then the mean over positions and a sum with a branch of
/// its own: two ways lead back to x, so that promises are raised.
class ModelMaker
{
public:
    explicit ModelMaker(unsigned seed) : m_random(seed)
    {
        m_builder.setOpset("", 18);
        m_builder.setOpset("ai.retrograde", 1);
    }

    graph::Graph make()
    {
        const base::ValueId x = m_builder.addInput("x", DType::Float32, Shape{2, kLength, kWidth});
        const base::ValueId attended = lut("attend", x, true);
        const base::ValueId h = node("Add", "residual", {x, attended});
        const base::ValueId f = lut("feed", h, false);
        const base::ValueId y = node("Add", "sum", {h, f});
        const base::ValueId pooled = node("ReduceMean", "pool", {y, axis()}, {{"keepdims", std::int64_t{0}}});
        m_builder.addOutput(node("Relu", "relu", {pooled}));
        return std::move(m_builder).build().value();
    }

private:
    static constexpr std::int64_t kLength = 5;
    static constexpr std::int64_t kWidth = 6;

    base::ValueId axis()
    {
        return m_builder.addConstant("axes", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{1}));
    }

    base::ValueId node(const std::string& op, const std::string& name, std::vector<base::ValueId> inputs,
                       graph::Attributes attributes = {}, const std::string& domain = {})
    {
        const base::ValueId result = m_builder.addResult(name + "_out");
        m_builder.addNode({op, domain, name, "", domain.empty() ? 18 : 1, std::move(inputs), {result}, attributes});
        return result;
    }

    base::ValueId lut(const std::string& name, base::ValueId x, bool isSequence)
    {
        constexpr std::int64_t kTables = 3;
        const std::int64_t comparisons = isSequence ? 2 : 3;
        std::vector<std::int64_t> anchors;
        for (std::int64_t i = 0; i < kTables * comparisons; ++i) {
            const auto a = static_cast<std::int64_t>(m_random() % kWidth);
            anchors.insert(anchors.end(), {a, (a + 1 + static_cast<std::int64_t>(m_random() % (kWidth - 1))) % kWidth});
        }
        const std::int64_t rows = isSequence ? 32 : 8;
        std::vector<base::ValueId> inputs{
            x, m_builder.addConstant(name + "_anchors", Tensor::of<std::int64_t>({kTables, comparisons, 2}, anchors)),
            m_builder.addConstant(name + "_rows", grid({kTables, rows, kWidth}, m_random))};
        if (isSequence) {
            inputs.push_back(m_builder.addConstant(name + "_codes", grid({kLength - 1, kTables, 1}, m_random)));
        }
        return node("LUT", name, std::move(inputs), {{"sequence", std::int64_t{isSequence ? 1 : 0}}}, "ai.retrograde");
    }

    std::mt19937 m_random;
    graph::GraphBuilder m_builder{"lut model"};
};

engine::LoadedModelPointer load(unsigned seed)
{
    auto model = engine::parseModel(formats::toOnnx(ModelMaker(seed).make()).value(), "lut.onnx", {});
    return model.ok() ? *model : nullptr;
}

engine::ExplainRequest question(unsigned seed)
{
    std::mt19937 random(seed + 1000);
    engine::ExplainRequest request;
    request.inputs = {grid({2, 5, 6}, random)};
    request.composite = "epsilon";
    request.target = engine::parseTarget("relu_out").value();
    return request;
}

double sumOf(const Tensor& t) { return t.isValid() ? ops::algebra::sum(t) : 0; }

} // namespace

class LutModelTest : public QObject
{
    Q_OBJECT

private slots:
    void everyEngineGivesTheSameBits()
    {
        for (unsigned seed = 1; seed <= 6; ++seed) {
            const auto model = load(seed);
            QVERIFY(model != nullptr);
            for (const execute::Precision precision : {execute::Precision::Float, execute::Precision::Double}) {
                engine::ExplainRequest request = question(seed);
                request.precision = precision;
                request.engine = engine::EngineKind::Oracle;
                const auto oracle = engine::explain(*model, request);
                QVERIFY2(oracle.ok(), oracle.ok() ? "" : oracle.error().text().c_str());
                request.engine = engine::EngineKind::Promise;
                const auto promise = engine::explain(*model, request);
                request.save = execute::SavePolicy::All;
                const auto all = engine::explain(*model, request);
                request.save = execute::SavePolicy::Autograd;
                request.engine = engine::EngineKind::Compiled;
                const auto compiled = engine::explain(*model, request);
                QVERIFY(promise.ok() && all.ok() && compiled.ok());
                for (std::size_t i = 0; i < oracle->relevance.size(); ++i) {
                    for (const auto* other : {&*promise, &*all, &*compiled}) {
                        const bool isThere = other->relevance[i].isValid();
                        QCOMPARE(isThere, oracle->relevance[i].isValid());
                        QVERIFY(!isThere || other->relevance[i].bitEqual(oracle->relevance[i]));
                    }
                }
            }
        }
    }

    void theLedgerIsExact()
    {
        for (unsigned seed = 1; seed <= 6; ++seed) {
            const auto model = load(seed);
            QVERIFY(model != nullptr);
            engine::ExplainRequest request = question(seed);
            request.record = true;
            const auto result = engine::explain(*model, request);
            QVERIFY2(result.ok(), result.ok() ? "" : result.error().text().c_str());
            double balance = result->relevanceStart;
            for (const event::LedgerEntry& row : result->ledger) {
                QVERIFY(std::abs(row.unexplained()) <= 1e-5 * std::max(row.magnitude, 1e-3));
                balance -= row.arrived - row.handedOn;
            }
            QVERIFY(!result->ledger.empty());
            QVERIFY(std::abs(balance - result->relevanceInputs) <= 1e-4 * std::max(1.0, std::abs(balance)));
        }
    }

    /// The operator keeps its operands, so its result can always be computed again: no search goes past it.
    void rolesFollowFromWhatIsKept()
    {
        const auto model = load(1);
        QVERIFY(model != nullptr);
        const auto result = engine::explain(*model, question(1));
        QVERIFY(result.ok());
        const graph::Graph& graph = result->model->graph();
        for (const char* name : {"attend", "feed"}) {
            const auto id = graph.findNode(name);
            QVERIFY(id.has_value());
            QVERIFY(result->rules[id->index()].rule.starts_with("lut flip-contrast"));
        }
    }

    /// After the rule of a LUT node come the kernels that it ran, in the visit of that node; the timeline goes over
    /// them in both directions.
    void kernelsAreEvents_data()
    {
        QTest::addColumn<QString>("composite");
        QTest::addColumn<QStringList>("attend");
        QTest::addColumn<QStringList>("feed");
        const QStringList choose{"choose_rows 0", "check_positional_embeddings 1", "gather_pairs 0"};
        QTest::newRow("relevance") << "epsilon" << choose + QStringList{"share_relevance 0", "sum_code_relevance 0"}
                                   << QStringList{"choose_rows_and_gather 0", "share_relevance 0"};
        QTest::newRow("gradient") << "gradient"
                                  << choose + QStringList{"score_pairs 0", "propagate_positions 0",
                                                          "propagate_positional_embeddings 0"}
                                  << QStringList{"choose_rows_and_gather 0", "score_and_propagate 0"};
        QTest::newRow("stopped") << "epsilon | op:LUT=stop" << QStringList() << QStringList();
    }

    void kernelsAreEvents()
    {
        QFETCH(QString, composite);
        const auto model = load(1);
        QVERIFY(model != nullptr);
        engine::ExplainRequest request = question(1);
        request.composite = composite.toStdString();
        request.record = true;
        const auto result = engine::explain(*model, request);
        QVERIFY2(result.ok(), result.ok() ? "" : result.error().text().c_str());
        const trace::Run& run = *result->run;
        QMap<QString, QStringList> launched{{"attend", {}}, {"feed", {}}};
        for (std::size_t step = 0; step < run.events.size(); ++step) {
            const event::Event& e = run.events[step];
            if (e.kind != event::EventKind::Launch) {
                continue;
            }
            const std::string_view kernel = lut::nameOf(static_cast<lut::KernelId>(e.extra));
            const QString node = QString::fromStdString(run.graph->node(base::NodeId(e.node)).name);
            launched[node] << QStringLiteral("%1 %2").arg(QLatin1String(kernel.data())).arg(e.branch2);
            QCOMPARE(e.visit, run.visitOf(step));
            const event::EventKind before = run.events[step - 1].kind;
            QVERIFY(before == event::EventKind::Rule || before == event::EventKind::Launch);
            QVERIFY(trace::describe(run, step).find(kernel) != std::string::npos);
        }
        QTEST(launched["attend"], "attend");
        QTEST(launched["feed"], "feed");
        auto timeline = trace::Timeline::open(result->run);
        QVERIFY2(timeline.ok(), timeline.ok() ? "" : timeline.error().text().c_str());
    }

    void gradientsPass()
    {
        const auto model = load(2);
        QVERIFY(model != nullptr);
        const engine::ExplainRequest asked = question(2);
        engine::GradientRequest request;
        request.inputs = asked.inputs;
        request.target = asked.target;
        const auto tape = engine::gradient(*model, request);
        QVERIFY2(tape.ok(), tape.ok() ? "" : tape.error().text().c_str());
        QVERIFY(sumOf(ops::algebra::absolute(tape->gradients[0])) > 0);
        engine::ExplainRequest byRule = asked;
        byRule.composite = "gradient";
        byRule.start = engine::parseStart("one").value();
        const auto traversal = engine::explain(*model, byRule);
        QVERIFY(traversal.ok());
        const Tensor& there = traversal->relevance[traversal->model->graph().inputs()[0].index()];
        QVERIFY(ops::algebra::sumAbsolute(ops::algebra::subtract(there, tape->gradients[0])) <
                1e-5 * ops::algebra::sumAbsolute(there));
    }

    /// The properties of tape and engines hold; what compares with slopes says that it does not apply.
    void verifyKnowsSurrogates()
    {
        const auto model = load(3);
        QVERIFY(model != nullptr);
        const engine::ExplainRequest asked = question(3);
        engine::VerifyRequest request;
        request.inputs = asked.inputs;
        request.target = asked.target;
        const auto result = engine::verify(*model, request);
        QVERIFY2(result.ok(), result.ok() ? "" : result.error().text().c_str());
        for (const auto& property : result->properties) {
            QVERIFY2(property.state != engine::PropertyState::Violated, property.detail.c_str());
        }
    }

    void graphJsonCarriesTheSame()
    {
        const graph::Graph graph = ModelMaker(4).make();
        QTemporaryDir folder;
        const std::filesystem::path path = (folder.path() + "/lut.json").toStdString();
        QVERIFY(base::writeFile(path, formats::toGraphJson(graph)).ok());
        const auto again = engine::loadModel(path);
        QVERIFY2(again.ok(), again.ok() ? "" : again.error().text().c_str());
        const auto fromOnnx = load(4);
        QVERIFY(fromOnnx != nullptr);
        const auto a = engine::explain(*fromOnnx, question(4));
        const auto b = engine::explain(**again, question(4));
        QVERIFY(a.ok() && b.ok());
        QVERIFY(a->outputs[0].bitEqual(b->outputs[0]));
    }

    void sharesAreSelectable()
    {
        const auto model = load(5);
        QVERIFY(model != nullptr);
        engine::ExplainRequest request = question(5);
        const auto usual = engine::explain(*model, request);
        request.composite = "epsilon | op:LUT=lut:share=weakest-bit";
        const auto other = engine::explain(*model, request);
        QVERIFY(usual.ok() && other.ok());
        const std::size_t x = usual->model->graph().inputs()[0].index();
        QVERIFY(!usual->relevance[x].bitEqual(other->relevance[x]));
    }
};

QTEST_GUILESS_MAIN(LutModelTest)
#include "lutmodeltest.moc"
