// SPDX-License-Identifier: Apache-2.0
// The row of a target that is asked for, alone: the relevance of the whole model, its place in words, and what needs
// the whole model all the same.
#include "core/engine/ways/wantedrow.h"
#include "core/engine/ways/workload.h"
#include "core/event/observer.h"
#include "core/execute/followingnodes.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro;
using namespace retro::rewrite::testing;

namespace
{

constexpr std::int64_t kTokens = 7;
constexpr std::int64_t kWords = 40;
constexpr std::int64_t kWidth = 16;

/// A language model of one attention: its logits are capped, and its head is the turned table of the embedding.
SharedGraph languageModel(bool isCapped = true, bool hasSecondOutput = false)
{
    Writer writer;
    const ValueId ids = writer.integers("ids", {1, kTokens});
    const ValueId table = writer.constant("table", randomTensor({kWords, kWidth}, 1));
    const ValueId x = writer.node("Gather", "embedding", {table, ids});
    const ValueId q = writer.node("MatMul", "q", {x, writer.constant("wq", randomTensor({kWidth, kWidth}, 2))});
    const ValueId k = writer.node("Transpose", "k", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    const ValueId a =
        writer.node("Softmax", "a", {writer.node("MatMul", "scores", {q, k})}, {{"axis", std::int64_t{-1}}});
    const ValueId mixed = writer.node("Add", "mixed", {x, writer.node("MatMul", "y", {a, x})});
    const ValueId head = writer.node("Transpose", "head", {table}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    ValueId logits = writer.node("MatMul", "words", {mixed, head});
    if (isCapped) {
        const ValueId cap = writer.constant("cap", Tensor::scalar<float>(3));
        logits = writer.node("Tanh", "tanh", {writer.node("Div", "divided", {logits, cap})});
        logits = writer.node("Mul", "logits", {logits, cap});
    }
    writer.output(logits);
    if (hasSecondOutput) {
        writer.output(mixed);
    }
    return writer.finish();
}

engine::LoadedModel loaded(const SharedGraph& graph)
{
    graph::GraphBuilder builder; // of a copy whose outputs have their number of axes declared, as in files
    engine::LoadedModel model;
    model.name = "model";
    model.path = "model.onnx";
    for (std::size_t i = 0; i < graph->valueCount(); ++i) {
        graph::Value value = graph->value(ValueId(i));
        ValueId copy;
        if (value.kind == graph::ValueKind::Input) {
            copy = builder.addInput(value.name, value.dtype, value.shape);
        } else if (value.kind == graph::ValueKind::Constant) {
            copy = builder.addConstant(value.name, value.constant);
        } else {
            copy = builder.addResult(value.name);
            const bool isLogits = std::ranges::count(graph->outputs(), ValueId(i)) > 0;
            builder.declare(copy, DType::Float32,
                            isLogits ? std::optional(std::vector<graph::Dimension>(3)) : std::nullopt);
        }
    }
    for (const graph::Node& node : graph->nodes()) {
        builder.addNode(node);
    }
    for (const ValueId output : graph->outputs()) {
        builder.addOutput(output);
    }
    builder.setOpset("", 17);
    const auto built = std::make_shared<const Graph>(std::move(builder).build().value());
    model.rewritten = rewrite::rewrite(built, {}).value();
    model.read = built;
    return model;
}

engine::ExplainRequest request(const char* target, bool inputsOnly = true)
{
    engine::ExplainRequest made;
    const std::vector<std::int64_t> ids{3, 1, 4, 1, 5, 9, 2};
    made.inputs = {Tensor::of<std::int64_t>({1, kTokens}, ids)};
    made.target = engine::parseTarget(target).value();
    made.composite = "attnlrp";
    made.inputsOnly = inputsOnly;
    return made;
}

/// Counts the nodes that forward passes compute for the first time.
class ForwardNodes final : public event::PerformanceObserver
{
public:
    void onNodeProcessed(base::NodeId, const event::NodeWork& work) override
    {
        m_count += work.half == event::Half::Forward && !work.isRepeat ? 1 : 0;
    }
    void onMemoryDecision(ValueId, event::MemoryChoice, std::int64_t, std::string_view) override {}
    [[nodiscard]] int count() const { return m_count; }

private:
    int m_count = 0;
};

std::string nameOfLogits(bool isCapped) { return isCapped ? "logits_out" : "words_out"; }

} // namespace

class WantedRowTest : public QObject
{
    Q_OBJECT

private slots:
    void relevanceIsThatOfTheWholeModel_data()
    {
        QTest::addColumn<bool>("isCapped");
        QTest::addColumn<QString>("place");
        QTest::addColumn<int>("position");
        for (const bool isCapped : {false, true}) {
            for (const int position : {0, 3, 6}) {
                const std::string name = nameOfLogits(isCapped);
                QTest::addRow("index %d %d", static_cast<int>(isCapped), position)
                    << isCapped << QString::fromStdString(name + ":0," + std::to_string(position) + ",11") << position;
                QTest::addRow("place %d %d", static_cast<int>(isCapped), position)
                    << isCapped << QStringLiteral("token=%1,class=11").arg(position) << position;
            }
        }
    }
    void relevanceIsThatOfTheWholeModel()
    {
        QFETCH(const bool, isCapped);
        QFETCH(const QString, place);
        QFETCH(const int, position);
        const engine::LoadedModel model = loaded(languageModel(isCapped));
        const std::string target = place.toStdString();
        QVERIFY(engine::WantedRow::of(model, request(target.c_str())));
        const auto row = engine::explain(model, request(target.c_str()));
        const auto whole = engine::explain(model, request(target.c_str(), false));
        QVERIFY2(row.ok(), row.ok() ? "" : row.error().text().c_str());
        QVERIFY2(whole.ok(), whole.ok() ? "" : whole.error().text().c_str());
        const std::size_t ids = model.graph()->inputs()[0].index();
        QVERIFY(row->relevance[ids].isValid());
        QVERIFY(row->relevance[ids].bitEqual(whole->relevance[ids]));
        QCOMPARE(row->target.index, whole->target.index);
        QCOMPARE(row->target.index[0], position * kWords + 11);
        QCOMPARE(row->target.logit, whole->target.logit);
        QCOMPARE(row->target.place, whole->target.place);
        QVERIFY(row->target.start.bitEqual(whole->target.start));
        QCOMPARE(row->relevanceStart, whole->relevanceStart);
    }

    void theHeadMakesOneRow()
    {
        const engine::LoadedModel model = loaded(languageModel());
        const auto asked = engine::WantedRow::of(model, request("logits_out:0,3,11"));
        QVERIFY(asked);
        const auto result = engine::explain(asked->model(), asked->request());
        QVERIFY2(result.ok(), result.ok() ? "" : result.error().text().c_str());
        QCOMPARE(result->outputs[0].shape(), (Shape{1, 1, kWords}));
    }

    void otherQuestionsNeedTheWholeModel()
    {
        const engine::LoadedModel model = loaded(languageModel());
        const auto needsAll = [&model](const engine::ExplainRequest& one) {
            return !engine::WantedRow::of(model, one);
        };
        QVERIFY(needsAll(request("argmax")));
        QVERIFY(needsAll(request("logits_out:0,3,11", false)));
        QVERIFY(needsAll(request("logits_out")));
        QVERIFY(needsAll(request("mixed_out:0,3,1")));
        QVERIFY(needsAll(request("tanh_out:0,3,1"))); // another node reads it
        engine::ExplainRequest other = request("logits_out:0,3,11");
        other.start = engine::parseStart("contrastive").value();
        QVERIFY(needsAll(other));
        other = request("logits_out:0,3,11");
        other.precision = execute::Precision::Double;
        QVERIFY(needsAll(other));
        QVERIFY(!engine::WantedRow::of(loaded(languageModel(true, true)), request("logits_out:0,3,11")));
    }

    // Nothing is bound again, nothing computed for another word at the same position, and for another only its row.
    void aSecondQuestionGoesOnFromTheForwardPass()
    {
        const auto model = std::make_shared<const engine::LoadedModel>(loaded(languageModel()));
        const std::size_t ids = model->graph()->inputs()[0].index();
        engine::Explainer explainer(model);
        struct Question
        {
            const char* target;
            bool isReused;
            int nodes;
        };
        const int all = static_cast<int>(model->graph()->nodeCount()) + 1; // and the choice of the row
        const execute::FollowingNodes behind(*model->graph(), model->graph()->findValue("mixed_out").value());
        const int ofARow = static_cast<int>(behind.nodes().size()) + 1; // the choice, the product, and what caps it
        std::shared_ptr<const execute::BoundModel> bound;
        for (const Question& question :
             {Question{"logits_out:0,3,11", false, all}, Question{"logits_out:0,3,2", true, 0},
              Question{"logits_out:0,3,11", true, 0}, Question{"logits_out:0,6,2", true, ofARow},
              Question{"logits_out:0,1,7", true, ofARow}, Question{"logits_out:0,1,8", true, 0}}) {
            engine::ExplainRequest asked = request(question.target);
            asked.keepsPass = true;
            ForwardNodes nodes;
            const event::ObserverScope observed(&nodes);
            const auto made = explainer.explain(asked);
            QVERIFY2(made.ok(), made.ok() ? "" : made.error().text().c_str());
            QCOMPARE(made->forwardReused, question.isReused);
            QCOMPARE(nodes.count(), question.nodes);
            QVERIFY(bound == nullptr || made->model == bound);
            bound = made->model;
            const auto alone = engine::explain(*model, request(question.target));
            QVERIFY(alone.ok());
            QVERIFY(made->relevance[ids].bitEqual(alone->relevance[ids]));
            QCOMPARE(made->target.index, alone->target.index);
            QCOMPARE(made->target.logit, alone->target.logit);
            QCOMPARE(made->relevanceStart, alone->relevanceStart);
            QVERIFY(made->outputs[0].bitEqual(alone->outputs[0]));
        }
    }

    void anotherTextIsComputedAnew()
    {
        const auto model = std::make_shared<const engine::LoadedModel>(loaded(languageModel()));
        const std::size_t ids = model->graph()->inputs()[0].index();
        engine::Explainer explainer(model);
        engine::ExplainRequest asked = request("logits_out:0,3,11");
        asked.keepsPass = true;
        QVERIFY(explainer.explain(asked).ok());
        const std::vector<std::int64_t> others{3, 1, 4, 1, 5, 9, 7};
        asked.inputs = {Tensor::of<std::int64_t>({1, kTokens}, others)};
        for (const char* const composite : {"attnlrp", "gradient", "epsilon"}) { // rules may read what was not kept
            asked.composite = composite;
            const auto made = explainer.explain(asked);
            QVERIFY(made.ok());
            QVERIFY(asked.composite != "attnlrp" || !made->forwardReused);
            const auto alone = engine::explain(*model, asked);
            QVERIFY(alone.ok() && made->relevance[ids].bitEqual(alone->relevance[ids]));
        }
        asked.keepsPass = false;
        const auto last = explainer.explain(asked);
        QVERIFY(last.ok() && !last->forwardReused);
    }

    void aPositionBehindTheEndIsRefusedAsEver()
    {
        const engine::LoadedModel model = loaded(languageModel());
        const auto row = engine::explain(model, request("logits_out:0,7,11"));
        const auto whole = engine::explain(model, request("logits_out:0,7,11", false));
        QVERIFY(!row.ok() && !whole.ok());
        QCOMPARE(row.error().text(), whole.error().text());
    }

    void anEstimateCountsWhatThereIs()
    {
        const engine::LoadedModel model = loaded(languageModel());
        const auto row = engine::estimate(model, request("logits_out:0,3,11"));
        const auto whole = engine::estimate(model, request("logits_out:0,3,11", false));
        QVERIFY2(row.ok(), row.ok() ? "" : row.error().text().c_str());
        QVERIFY(whole.ok());
        const std::uint64_t table = kWords * kWidth * sizeof(float);
        QVERIFY(row->weightBytes >= table);
        QVERIFY(row->tensorBytes < whole->tensorBytes);
        QVERIFY(row->flops < whole->flops);
        QVERIFY(row->processBytes > row->tensorBytes + row->weightBytes);
        QVERIFY(row->seconds > 0);
        QVERIFY(engine::checkEstimate(*row).ok());
        engine::PassEstimate large = *row;
        large.tensorBytes = std::uint64_t{1} << 50U;
        QCOMPARE(engine::checkEstimate(large).error().code, base::ErrorCode::Memory);
    }
};

QTEST_GUILESS_MAIN(WantedRowTest)
#include "wantedrowtest.moc"
