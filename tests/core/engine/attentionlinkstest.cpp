// SPDX-License-Identifier: Apache-2.0
// Which token handed how much relevance to which through an attention: maps, links, and what a run file keeps of a
// text.
#include <QtTest>

#include "core/engine/language/attentionlinks.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/question/resolve.h"
#include "core/event/observer.h"
#include "core/tensor/npy.h"
#include "core/trace/runfile.h"
#include "tests/core/engine/smalllanguagemodel.h"

#include <QTemporaryDir>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

using namespace retro;
using tensor::Tensor;

namespace
{

struct AskedText
{
    engine::LanguageQuestion asked;
    engine::ExplainRequest request;
    engine::ExplainResult result;
    engine::LanguageReport report;
};

/// As the command line does.
base::Result<AskedText> askText(const engine::LoadedModel& model, engine::Question question, bool isRecorded = false,
                                const std::string& precision = "double")
{
    question.precision = precision;
    RETRO_TRY(const auto asked, engine::languageQuestion(model, question));
    AskedText all;
    all.asked = *asked;
    RETRO_TRY(all.request, engine::resolve(engine::withoutLanguage(question, *asked), model));
    RETRO_CHECK(engine::takeLanguage(*asked, all.request));
    all.request.record = isRecorded;
    const engine::LayerWish wish = engine::LayerWish::of(*asked, question);
    engine::Explainer explainer(engine::LoadedModelPointer(std::shared_ptr<void>(), &model));
    all.request.keepsPass = asked->positions.size() > 1;
    RETRO_TRY(all.result, all.request.keepsPass ? explainer.explain(all.request) : engine::explain(model, all.request));
    RETRO_TRY(all.report, engine::reportOf(*asked, model, question, all.result));
    RETRO_CHECK(engine::addAttention(*asked, question, all.request, all.result, wish, all.report));
    RETRO_CHECK(engine::addPositions(*asked, explainer, question, all.request, all.report, {}, wish));
    RETRO_CHECK(engine::addGeneration(*asked, model, question, all.request, all.result, all.report, {}, wish));
    return all;
}

engine::Question aboutFrance()
{
    engine::Question question;
    question.text = "the capital of France is";
    question.attention = "all";
    return question;
}

/// What forward passes cost.
class ForwardWork final : public event::PerformanceObserver
{
public:
    void onNodeProcessed(base::NodeId node, const event::NodeWork& work) override
    {
        const bool isFirst = work.half == event::Half::Forward && !work.isRepeat;
        if (isFirst) {
            m_passes[node] += 1;
            m_flops += work.flops;
        }
    }
    void onMemoryDecision(base::ValueId, event::MemoryChoice, std::int64_t, std::string_view) override {}
    /// How often each node of the model was computed; the insides of an attention have numbers of their own.
    [[nodiscard]] std::size_t passes() const
    {
        std::size_t least = m_passes.empty() ? 0 : m_passes.begin()->second;
        for (const auto& [node, count] : m_passes) {
            least = std::min(least, count);
        }
        return least;
    }
    [[nodiscard]] double flops() const { return m_flops; }

private:
    std::map<base::NodeId, std::size_t> m_passes;
    double m_flops = 0;
};

bool isNear(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

} // namespace

class AttentionLinksTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    engine::LoadedModelPointer model(tests::AttentionAs form, const char* name)
    {
        const std::filesystem::path folder = std::filesystem::path(m_folder.path().toStdString()) / name;
        std::filesystem::create_directories(folder);
        return tests::made(engine::loadModel(tests::made(tests::SmallLanguageModel(2, form).write(folder))));
    }

private slots:
    // Every key's part of a query add up to the relevance of the head there; nothing comes from a word behind.
    void partsAddUpToTheHeads()
    {
        for (const auto form : {tests::AttentionAs::OneNode, tests::AttentionAs::Chain, tests::AttentionAs::Flat}) {
            for (const char* const composite : {"attnlrp:epsilon=0", "attnlrp:form=gradient_x_input", "cp_lrp"}) {
                const auto loaded = model(form, std::to_string(static_cast<int>(form)).c_str());
                engine::Question question = aboutFrance();
                question.composite = composite;
                RETRO_MADE(all, askText(*loaded, question));
                const engine::LanguageReport& report = all->report;
                QCOMPARE(report.maps.size(), std::size_t{2});
                QCOMPARE(report.heads.shape(), (tensor::Shape{2, 5, 2}));
                double largest = 0;
                for (const auto& [layer, map] : report.maps) {
                    QCOMPARE(map.shape(), (tensor::Shape{2, 5, 5}));
                    for (std::int64_t head = 0; head < 2; ++head) {
                        for (std::int64_t query = 0; query < 5; ++query) {
                            double sum = 0;
                            for (std::int64_t key = 0; key < 5; ++key) {
                                const double part = map.at((head * 5 + query) * 5 + key);
                                QVERIFY(key <= query || part == 0);
                                sum += part;
                            }
                            const double own =
                                report.heads.at((static_cast<std::int64_t>(layer) * 5 + query) * 2 + head);
                            QVERIFY2(isNear(sum, own), composite);
                            largest = std::max(largest, std::abs(own));
                        }
                    }
                }
                QVERIFY(largest > 0);
            }
        }
    }

    // A node and the chain that it stands for hand on the same.
    void oneNodeAndChainAgree()
    {
        engine::Question question = aboutFrance();
        question.composite = "attnlrp:epsilon=0";
        const auto one = askText(*model(tests::AttentionAs::OneNode, "a"), question);
        for (const auto form : {tests::AttentionAs::Chain, tests::AttentionAs::Flat}) {
            const auto chain = askText(*model(form, form == tests::AttentionAs::Chain ? "b" : "c"), question);
            QVERIFY(one.ok() && chain.ok());
            for (const auto& [layer, map] : one->report.maps) {
                for (std::int64_t i = 0; i < map.size(); ++i) {
                    QVERIFY(isNear(map.at(i), chain->report.maps.at(layer).at(i)));
                }
            }
        }
    }

    void theLargestLinksComeFirst()
    {
        const Tensor map = Tensor::of<double>({1, 2, 2}, std::vector<double>{0.5, 0, -2, 1});
        std::vector<trace::TextLink> links;
        engine::addLinks(3, map, 2, links);
        QCOMPARE(links.size(), std::size_t{2});
        QCOMPARE(links[0], (trace::TextLink{3, 0, 1, 0, -2}));
        QCOMPARE(links[1], (trace::TextLink{3, 0, 1, 1, 1}));
        engine::addLinks(3, map, 100, links);
        QCOMPARE(links.size(), std::size_t{5}); // what is 0 is no link
    }

    void layersAreRefused()
    {
        const auto loaded = model(tests::AttentionAs::OneNode, "one");
        engine::Question question = aboutFrance();
        question.attention = "0,2";
        RETRO_REFUSED(askText(*loaded, question), "there is no layer 2; the model has the layers 0 to 1");
        question.attention = "1";
        RETRO_MADE(one, askText(*loaded, question));
        QCOMPARE(one->report.maps.size(), std::size_t{1});
        QVERIFY(std::ranges::all_of(one->report.links, [](const trace::TextLink& link) { return link.layer == 1; }));
    }

    // Each step has layers, heads and links of its own; those of the first step answer the question itself.
    void stepsHaveLayers()
    {
        engine::Question question = aboutFrance();
        question.generate = "3";
        RETRO_MADE(all, askText(*model(tests::AttentionAs::OneNode, "one"), question));
        QCOMPARE(all->report.generated.size(), std::size_t{3});
        const engine::GeneratedStep& first = all->report.generated.front();
        QVERIFY(first.parts.layers.bitEqual(all->report.layers));
        QVERIFY(first.parts.heads.bitEqual(all->report.heads));
        QCOMPARE(first.parts.links, all->report.links);
        for (std::size_t i = 0; i < 3; ++i) {
            const engine::GeneratedStep& step = all->report.generated[i];
            QCOMPARE(step.parts.layers.shape(), (tensor::Shape{3, static_cast<std::int64_t>(5 + i)}));
            QVERIFY(!step.parts.links.empty());
            for (std::size_t k = 0; k < step.relevance.size(); ++k) { // row 0 is the words
                QVERIFY(isNear(step.parts.layers.at(static_cast<std::int64_t>(k)), step.relevance[k]));
            }
        }
    }

    // Words that are given share one forward pass, with links as well.
    void givenWordsWithLinksShareAForwardPass()
    {
        for (const auto form : {tests::AttentionAs::OneNode, tests::AttentionAs::Chain, tests::AttentionAs::Cached}) {
            const auto loaded = model(form, std::to_string(static_cast<int>(form)).c_str());
            engine::Question question = aboutFrance();
            question.composite = "attnlrp:epsilon=0";
            question.continuation = " a city in France";
            ForwardWork work;
            RETRO_MADE(all, [&] {
                const event::ObserverScope observed(&work);
                return askText(*loaded, question);
            }());
            QVERIFY2(work.passes() <= 4, std::to_string(work.passes()).c_str()); // what links need is made anew once
            QCOMPARE(all->report.generated.size(), std::size_t{4});
            for (std::size_t i = 0; i < 4; ++i) {
                engine::Question prefix = question;
                prefix.continuation.clear();
                prefix.text += std::string(" a city in").substr(0, std::array{0, 2, 7, 10}[i]);
                prefix.targets = {std::to_string(all->report.generated[i].token.id)};
                RETRO_MADE(alone, askText(*loaded, prefix));
                const engine::LayerParts& parts = all->report.generated[i].parts;
                QCOMPARE(parts.maps.size(), std::size_t{2});
                for (const auto& [layer, map] : alone->report.maps) {
                    QCOMPARE(parts.maps.at(layer).shape(), map.shape());
                    for (std::int64_t k = 0; k < map.size(); ++k) {
                        QVERIFY(isNear(parts.maps.at(layer).at(k), map.at(k)));
                    }
                }
                QVERIFY(std::ranges::all_of(parts.links, [&](const trace::TextLink& link) {
                    return link.query < std::ssize(alone->report.tokens) && link.key <= link.query;
                }));
            }
        }
    }

    // The first step is the question, where that asks for the best word at the end.
    void theFirstStepIsNotMadeAgain()
    {
        const auto loaded = model(tests::AttentionAs::OneNode, "one");
        const auto passes = [&](const engine::Question& question) {
            ForwardWork work;
            const event::ObserverScope observed(&work);
            const auto all = askText(*loaded, question);
            return all.ok() ? work.passes() : 0;
        };
        engine::Question question = aboutFrance();
        question.attention.clear();
        question.generate = "3";
        QCOMPARE(passes(question), std::size_t{3});
        question.position = "2";
        QCOMPARE(passes(question), std::size_t{4});
        question.position.clear();
        question.targets = {"Paris"};
        question.contrast = {"London"};
        QCOMPARE(passes(question), std::size_t{4});
    }

    // A model with caches chooses its words one token a pass, and explains them over one pass; the words and answers
    // are those of texts that are asked by themselves.
    void cachesChooseTheWords_data()
    {
        QTest::addColumn<QString>("precision");
        QTest::addColumn<bool>("inputsOnly");
        QTest::addColumn<QString>("position");
        QTest::newRow("double") << "double" << false << "";
        QTest::newRow("double, inputs only") << "double" << true << "";
        QTest::newRow("float") << "float" << false << "";
        QTest::newRow("float, inputs only") << "float" << true << "";
        QTest::newRow("of another position") << "double" << false << "1";
    }
    void cachesChooseTheWords()
    {
        QFETCH(const QString, precision);
        QFETCH(const bool, inputsOnly);
        QFETCH(const QString, position);
        constexpr std::size_t kSteps = 6;
        const auto loaded = model(tests::AttentionAs::Cached, "cached");
        engine::Question question = aboutFrance();
        question.text = "the capital of France is the city of London in the river that runs through the capital";
        question.attention.clear();
        question.composite = "attnlrp:epsilon=0";
        question.inputsOnly = inputsOnly;
        question.position = position.toStdString();
        question.generate = std::to_string(kSteps);
        ForwardWork work;
        RETRO_MADE(all, [&] {
            const event::ObserverScope observed(&work);
            return askText(*loaded, question, false, precision.toStdString());
        }());
        QCOMPARE(all->report.generated.size(), kSteps);
        std::string ids;
        for (const engine::LanguageToken& token : all->report.tokens) {
            ids += (ids.empty() ? "" : ",") + std::to_string(token.id);
        }
        ForwardWork apart;
        for (const engine::GeneratedStep& step : all->report.generated) {
            engine::Question prefix;
            prefix.ids = ids;
            prefix.composite = question.composite;
            prefix.inputsOnly = inputsOnly;
            const event::ObserverScope observed(&apart);
            RETRO_MADE(alone, askText(*loaded, prefix, false, precision.toStdString()));
            QCOMPARE(step.token.id, alone->report.best.id);
            QCOMPARE(step.relevance.size(), alone->report.relevance.size());
            double largest = 0;
            for (const double part : alone->report.relevance) {
                largest = std::max(largest, std::abs(part));
            }
            for (std::size_t i = 0; i < step.relevance.size(); ++i) {
                QVERIFY(std::abs(step.relevance[i] - alone->report.relevance[i]) <=
                        (precision == QLatin1String("double") ? 1e-9 : 1e-4) * largest);
            }
            ids += "," + std::to_string(step.token.id);
        }
        QVERIFY2(work.flops() < 0.6 * apart.flops(),
                 (std::to_string(work.flops()) + " of " + std::to_string(apart.flops())).c_str());
    }

    // A position in front of the end needs the tokens up to it alone, also where keys go through caches; the relevance
    // has the bits of the whole model.
    void tokensBehindThePositionAreLeftOut()
    {
        const auto loaded = model(tests::AttentionAs::Cached, "cached");
        engine::Question question = aboutFrance();
        question.text = "the capital of France is the city of London in the river that runs through the capital";
        question.attention.clear();
        question.position = "3";
        for (const char* const composite : {"attnlrp", "attnlrp:form=gradient_x_input", "cp_lrp", "epsilon"}) {
            question.composite = composite;
            question.inputsOnly = false;
            const auto whole = askText(*loaded, question, false, "float");
            question.inputsOnly = true;
            ForwardWork work;
            RETRO_MADE(alone, [&] {
                const event::ObserverScope observed(&work);
                return askText(*loaded, question, false, "float");
            }());
            question.position = "-1";
            ForwardWork atEnd;
            const auto last = [&] {
                const event::ObserverScope observed(&atEnd);
                return askText(*loaded, question, false, "float");
            }();
            question.position = "3";
            QVERIFY(whole.ok() && last.ok());
            QCOMPARE(alone->report.relevance, whole->report.relevance);
            QCOMPARE(alone->report.relevance.size(), alone->report.tokens.size());
            QCOMPARE(alone->report.score, whole->report.score);
            QCOMPARE(alone->report.best.id, whole->report.best.id);
            QVERIFY2(work.flops() < 0.75 * atEnd.flops(), std::to_string(work.flops() / atEnd.flops()).c_str());
            // Keys and values that are not made are no outputs of the pass.
            QCOMPARE(alone->result.outputs.size(), std::size_t{1});
            QCOMPARE(last->result.outputs.size(), std::size_t{5});
        }
    }

    // What a run file keeps of a text comes back, and says what it said.
    void aRunKeepsItsText()
    {
        engine::Question question = aboutFrance();
        question.generate = "2";
        question.targets = {"Paris"};
        question.contrast = {"London"};
        RETRO_MADE(all, askText(*model(tests::AttentionAs::OneNode, "one"), question, true));
        const auto text = std::make_shared<const trace::RunText>(engine::runText(all->report));
        const std::filesystem::path file = std::filesystem::path(m_folder.path().toStdString()) / "text.retro";
        QVERIFY(trace::writeRecorded(file, {all->result.run, {}, nullptr, nullptr, text}).ok());
        RETRO_MADE(read, trace::readRecorded(file));
        QVERIFY(read->text != nullptr);
        QCOMPARE(read->text->text, question.text);
        QCOMPARE(read->text->tokens, text->tokens);
        QCOMPARE(read->text->given, std::size_t{5});
        QCOMPARE(read->text->streams, text->streams);
        QCOMPARE(read->text->steps.size(), std::size_t{3});
        for (std::size_t i = 0; i < text->steps.size(); ++i) {
            const trace::TextStep& a = text->steps[i];
            const trace::TextStep& b = read->text->steps[i];
            QCOMPARE(b.target, a.target);
            QCOMPARE(b.best, a.best);
            QCOMPARE(b.contrast, a.contrast);
            QCOMPARE(b.losses, a.losses);
            QCOMPARE(b.relevance, a.relevance);
            QCOMPARE(b.started, a.started);
            QVERIFY(b.layers.bitEqual(a.layers) && b.heads.bitEqual(a.heads));
            QCOMPARE(b.links, a.links);
        }
        const engine::LanguageReport again = engine::reportOf(*read->text, *read->run);
        QCOMPARE(engine::reportLines(again), engine::reportLines(all->report));
        QCOMPARE(engine::linksCsv(again), engine::linksCsv(all->report));
        // The run without its text is one of no text.
        QVERIFY(trace::writeRun(file, *all->result.run).ok());
        QVERIFY(trace::readRecorded(file)->text == nullptr);
    }

    // Other positions of the text come back as such, with layers and links of their own.
    void aRunKeepsItsPositions()
    {
        engine::Question question = aboutFrance();
        question.positions = "4,2";
        question.targets = {"Paris"};
        question.contrast = {"London"};
        RETRO_MADE(all, askText(*model(tests::AttentionAs::OneNode, "one"), question, true));
        QCOMPARE(all->report.positions.size(), std::size_t{2});
        const engine::PositionAnswer& other = all->report.positions[1];
        QCOMPARE(other.parts.layers.shape(), (tensor::Shape{3, 5}));
        QVERIFY(!other.parts.links.empty());
        QVERIFY(std::ranges::all_of(other.parts.links, [](const trace::TextLink& link) { return link.query <= 2; }));
        const auto text = std::make_shared<const trace::RunText>(engine::runText(all->report));
        const std::filesystem::path file = std::filesystem::path(m_folder.path().toStdString()) / "positions.retro";
        QVERIFY(trace::writeRecorded(file, {all->result.run, {}, nullptr, nullptr, text}).ok());
        RETRO_MADE(read, trace::readRecorded(file));
        QVERIFY(read->text != nullptr);
        QVERIFY(!read->text->tokenOf(1) && !read->text->tokenOf(2));
        const engine::LanguageReport again = engine::reportOf(*read->text, *read->run);
        QVERIFY(again.generated.empty());
        QCOMPARE(again.positions.size(), std::size_t{2});
        QCOMPARE(again.positions[1].relevance, other.relevance);
        QCOMPARE(again.positions[1].score, other.score);
        QVERIFY(again.positions[1].parts.layers.bitEqual(other.parts.layers));
        QCOMPARE(engine::reportLines(again), engine::reportLines(all->report));
        QCOMPARE(engine::linksCsv(again), engine::linksCsv(all->report));
        question.positions.clear();
        question.position = "2";
        RETRO_MADE(alone, askText(*model(tests::AttentionAs::OneNode, "one"), question));
        QCOMPARE(other.relevance, alone->report.relevance);
        QCOMPARE(other.parts.links, alone->report.links);
        QVERIFY(other.parts.layers.bitEqual(alone->report.layers) && other.parts.heads.bitEqual(alone->report.heads));
    }

    void filesOfAttention()
    {
        engine::Question question = aboutFrance();
        question.generate = "1";
        RETRO_MADE(all, askText(*model(tests::AttentionAs::OneNode, "one"), question));
        const std::filesystem::path folder = std::filesystem::path(m_folder.path().toStdString()) / "out";
        QVERIFY(base::makeFolder(folder).ok());
        QVERIFY(engine::writeReport(folder, all->report).ok());
        QCOMPARE(tensor::readNpy(folder / "attention" / "1.npy")->shape(), (tensor::Shape{2, 5, 5}));
        QCOMPARE(tensor::readNpy(folder / "attention_step0" / "0.npy")->shape(), (tensor::Shape{2, 5, 5}));
        const std::string csv = base::readTextFile(folder / "links.csv", 1U << 20).value();
        QVERIFY(csv.starts_with("step,layer,head,query,query_text,key,key_text,relevance\r\n,0,"));
        QVERIFY(std::filesystem::exists(folder / "layers_step0.csv"));
    }
};

QTEST_APPLESS_MAIN(AttentionLinksTest)
#include "attentionlinkstest.moc"
