// SPDX-License-Identifier: Apache-2.0
// Relevance as one graph of a model that predicts words: it starts at a word of one position, as a question about a
// text does.
#include "core/engine/explain/runforward.h"
#include "core/engine/explainer/wordstart.h"
#include "core/engine/model/loadmodel.h"
#include "core/engine/question/resolve.h"

#include <QTest>

#include <algorithm>
#include <cmath>

using namespace retro;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kTexts = 2;
constexpr std::int64_t kTokens = 5;
constexpr std::int64_t kWords = 38;

engine::LoadedModelPointer model()
{
    const auto loaded = engine::loadModel(RETRO_SOURCE_DIR "/tests/data/language/capitals.onnx", engine::Question());
    if (!loaded.ok()) {
        return nullptr;
    }
    const auto fixed = engine::withInputShapes(*loaded, {"input_ids=2x5"});
    return fixed.ok() ? *fixed : nullptr;
}

Tensor texts()
{
    return Tensor::of<std::int64_t>({kTexts, kTokens}, std::vector<std::int64_t>{1, 4, 7, 9, 12, 2, 3, 8, 5, 6});
}

engine::Question questionOf(const std::vector<std::string>& targets, const std::string& position)
{
    engine::Question question;
    question.targets = targets;
    question.position = position;
    question.precision = "double";
    question.graphOut = "graph.onnx";
    return question;
}

struct Asked
{
    engine::ExplainRequest request;
    engine::RelevanceGraphForm form;
};

base::Result<Asked> asked(const engine::LoadedModel& model, const engine::Question& question)
{
    Asked made;
    RETRO_TRY(made.request, engine::resolve(question, model));
    made.form.start = question.targets.empty() ? engine::GraphStart::ByInput : engine::GraphStart::Fixed;
    RETRO_CHECK(engine::startAtWord(model, question, made.request, made.form));
    return made;
}

double apart(const Tensor& a, const Tensor& b)
{
    double most = a.shape() == b.shape() && b.size() > 0 ? 0 : HUGE_VAL;
    double largest = 0;
    for (std::int64_t i = 0; i < b.size() && most < HUGE_VAL; ++i) {
        most = std::max(most, std::abs(a.at(i) - b.at(i)));
        largest = std::max(largest, std::abs(b.at(i)));
    }
    return largest > 0 ? most / largest : HUGE_VAL;
}

/// The relevance of the tokens as the graph has it, with these targets; invalid where something failed.
Tensor byGraph(const engine::RelevanceGraph& made, const std::vector<std::int64_t>& targets)
{
    auto loaded = std::make_shared<engine::LoadedModel>();
    loaded->rewritten.graph = made.graph;
    loaded->rewritten.before = made.graph;
    std::vector<Tensor> inputs{texts()};
    if (!made.chooser.empty()) {
        inputs.push_back(Tensor::of<std::int64_t>({kTexts}, targets));
    }
    const auto found = engine::runForward(*loaded, inputs, execute::Precision::Double);
    if (!found.ok()) {
        qWarning("%s", found.error().text().c_str());
        return {};
    }
    const auto at = std::ranges::find(found->names, "relevance/input_ids") - found->names.begin();
    return found->outputs[static_cast<std::size_t>(at)];
}

/// The relevance of the tokens as explain() has it.
Tensor byEngine(const engine::LoadedModel& model, engine::ExplainRequest request, engine::ResolvedTarget& target)
{
    request.inputs = {texts()};
    const auto explained = engine::explain(model, request);
    if (!explained.ok()) {
        qWarning("%s", explained.error().text().c_str());
        return {};
    }
    target = explained->target;
    return explained->relevance[explained->model->graph().findValue("input_ids")->index()];
}

} // namespace

class RelevanceGraphWordTest : public QObject
{
    Q_OBJECT
private slots:
    void startsAtAWordOfThePosition_data()
    {
        QTest::addColumn<QString>("target");
        QTest::addColumn<QString>("position");
        for (const char* position : {"", "1", "-2"}) {
            for (const char* target : {"", "argmax", "17"}) {
                QTest::addRow("%s at %s", *target == 0 ? "input" : target, *position == 0 ? "last" : position)
                    << target << position;
            }
        }
    }

    void startsAtAWordOfThePosition()
    {
        QFETCH(QString, target);
        QFETCH(QString, position);
        const engine::LoadedModelPointer loaded = model();
        QVERIFY(loaded);
        const std::vector<std::string> targets =
            target.isEmpty() ? std::vector<std::string>() : std::vector{target.toStdString()};
        RETRO_MADE(one, asked(*loaded, questionOf(targets, position.toStdString())));
        RETRO_MADE(made, engine::relevanceGraph(loaded, one->request, one->form));
        QCOMPARE(made->words, kWords);
        QCOMPARE(made->chooser.empty(), !target.isEmpty());
        engine::ResolvedTarget chosen;
        const Tensor expected = byEngine(*loaded, one->request, chosen);
        const std::int64_t place = position.isEmpty() ? kTokens - 1 : (position.toLongLong() + kTokens) % kTokens;
        for (const std::int64_t index : chosen.index) {
            QCOMPARE(index / kWords, place);
        }
        QVERIFY(apart(byGraph(*made, {-1, -1}), expected) <= 1e-9);
        if (target.isEmpty()) {
            engine::ExplainRequest other = one->request;
            other.target.place.push_back({"class", 30});
            QVERIFY(apart(byGraph(*made, {30, 30}), byEngine(*loaded, other, chosen)) <= 1e-9);
        }
    }

    void aWordThatThereIsNotIsNoNumber()
    {
        const engine::LoadedModelPointer loaded = model();
        RETRO_MADE(one, asked(*loaded, questionOf({}, "1")));
        RETRO_MADE(made, engine::relevanceGraph(loaded, one->request, one->form));
        const Tensor found = byGraph(*made, {kWords, 3});
        QVERIFY(std::isnan(found.at(0)) && !std::isnan(found.at(kTokens)));
    }

    /// A batch is explained at the place where one text is.
    void severalTextsAreAskedAtTheirLastPosition()
    {
        const engine::LoadedModelPointer loaded = model();
        QVERIFY(loaded);
        engine::ResolvedTarget chosen;
        RETRO_MADE(best, engine::resolve(questionOf({}, ""), *loaded));
        QVERIFY(byEngine(*loaded, *best, chosen).isValid());
        for (const std::int64_t index : chosen.index) {
            QCOMPARE(index / kWords, kTokens - 1);
        }
        RETRO_MADE(third, engine::resolve(questionOf({"3"}, ""), *loaded));
        QVERIFY(byEngine(*loaded, *third, chosen).isValid());
        QCOMPARE(chosen.index, (std::vector<std::int64_t>(2, (kTokens - 1) * kWords + 3)));
    }

    void whatAGraphCannotHaveIsRefusedByName()
    {
        const engine::LoadedModelPointer loaded = model();
        const auto refused = [&](const engine::Question& question, const std::string& word) {
            const auto one = asked(*loaded, question);
            const bool isRefused = !one.ok() && one.error().text().find(word) != std::string::npos;
            if (!isRefused) {
                qWarning("%s", one.ok() ? "not refused" : one.error().text().c_str());
            }
            return isRefused;
        };
        engine::Question contrast = questionOf({}, "");
        contrast.contrast = {"3"};
        QVERIFY(refused(contrast, "--contrast and --graph-out"));
        engine::Question layers = questionOf({}, "");
        layers.layers = "layers.json";
        QVERIFY(refused(layers, "--layers and --graph-out"));
        QVERIFY(refused(questionOf({}, "first"), "--position"));
        QVERIFY(refused(questionOf({"3", "4"}, ""), "--target"));
        QVERIFY(refused(questionOf({"99"}, ""), "99"));
        QVERIFY(refused(questionOf({"logits:0,1,2"}, "1"), "--position"));
        RETRO_MADE(far, asked(*loaded, questionOf({}, "5")));
        const auto made = engine::relevanceGraph(loaded, far->request, far->form);
        QVERIFY(!made.ok() && made.error().text().find("no position 5") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(RelevanceGraphWordTest)
#include "relevancegraphwordtest.moc"
