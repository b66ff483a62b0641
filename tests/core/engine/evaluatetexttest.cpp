// SPDX-License-Identifier: Apache-2.0
// evaluate on texts: what a word is compared with stands at the same position, and a contrast is what the curves are
// of.
#include <QtTest>

#include "core/engine/evaluate/evaluation.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/question/resolve.h"
#include "tests/core/engine/smalllanguagemodel.h"

#include <QTemporaryDir>

#include <cmath>

using namespace retro;

namespace
{

constexpr auto kVocabulary = static_cast<std::int64_t>(tests::kSmallWords.size());

base::Result<engine::ExplainRequest> requestOfText(const engine::LoadedModel& model, engine::Question question)
{
    question.text = "the capital of France is";
    question.precision = "double";
    RETRO_TRY(const auto asked, engine::languageQuestion(model, question));
    RETRO_TRY(engine::ExplainRequest request, engine::resolve(engine::withoutLanguage(question, *asked), model));
    RETRO_CHECK(engine::takeLanguage(*asked, request));
    return request;
}

} // namespace

class EvaluateTextTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;
    engine::LoadedModelPointer m_model;

private slots:
    void initTestCase()
    {
        RETRO_MADE(file, tests::SmallLanguageModel().write(m_folder.path().toStdString()));
        RETRO_MADE(loaded, engine::loadModel(*file));
        m_model = *loaded;
    }

    // The second best word of the row, though other rows have larger scores.
    void theRunnerUpIsAtThePosition()
    {
        for (std::int64_t position = 0; position < 5; ++position) {
            engine::Question question;
            question.position = std::to_string(position);
            RETRO_MADE(request, requestOfText(*m_model, question));
            RETRO_MADE(subject, engine::Subject::make(m_model, *request, {}));
            RETRO_MADE(made, engine::runForward(*m_model, request->inputs, execute::Precision::Double));
            const tensor::Tensor& scores = made->outputs.front();
            const std::int64_t first = position * kVocabulary;
            std::int64_t best = -1;
            for (std::int64_t i = first; i < first + kVocabulary; ++i) {
                if (i != subject->classIndex() && (best < 0 || scores.at(i) > scores.at(best))) {
                    best = i;
                }
            }
            QCOMPARE(subject->runnerUp(), std::optional(best));
            QCOMPARE(subject->firstClass(), first);
        }
    }

    void otherWords()
    {
        engine::Question question;
        question.targets = {"Paris"};
        RETRO_MADE(request, requestOfText(*m_model, question));
        engine::EvaluationOptions options;
        options.methods = {"lrp"};
        options.units.mask = 0;
        options.flipping.steps = 2;
        options.flipping.randomOrders = 1;
        options.other = 7; // London
        RETRO_MADE(evaluation, engine::evaluate(m_model, *request, options));
        QCOMPARE(evaluation->otherClass, std::optional<std::int64_t>(4 * kVocabulary + 7));
        options.other = kVocabulary;
        QVERIFY(!engine::evaluate(m_model, *request, options).ok());
        options.other = 6; // the target itself
        QVERIFY(!engine::evaluate(m_model, *request, options)->otherClass);
    }

    // Scores while tokens are removed are differences to the other word.
    void aContrastIsFollowed()
    {
        engine::Question question;
        question.targets = {"Paris"};
        const auto plain = requestOfText(*m_model, question);
        question.targets = {"London"};
        const auto other = requestOfText(*m_model, question);
        question.targets = {"Paris"};
        question.contrast = {"London"};
        const auto contrast = requestOfText(*m_model, question);
        QVERIFY(plain.ok() && other.ok() && contrast.ok());
        const auto one = engine::Subject::make(m_model, *plain, {});
        const auto two = engine::Subject::make(m_model, *other, {});
        RETRO_MADE(both, engine::Subject::make(m_model, *contrast, {}));
        QVERIFY(std::abs(both->scoreAtInput() - (one->scoreAtInput() - two->scoreAtInput())) < 1e-12);
        const auto changed = tensor::Tensor::of<std::int64_t>({1, 5}, std::vector<std::int64_t>{1, 0, 3, 0, 5});
        QVERIFY(std::abs(*both->score(changed) - (*one->score(changed) - *two->score(changed))) < 1e-12);
        QVERIFY(both->targetText().ends_with("less the mean of 7"));
        const auto relevance = both->relevance(both->input(), "attnlrp:epsilon=0", engine::StartKind::Logit);
        const auto first = one->relevance(one->input(), "attnlrp:epsilon=0", engine::StartKind::Logit);
        const auto second = two->relevance(two->input(), "attnlrp:epsilon=0", engine::StartKind::Logit);
        QVERIFY(relevance.ok() && first.ok() && second.ok());
        for (std::int64_t i = 0; i < relevance->size(); ++i) {
            QVERIFY(std::abs(relevance->at(i) - (first->at(i) - second->at(i))) < 1e-9);
        }
    }
};

QTEST_APPLESS_MAIN(EvaluateTextTest)
#include "evaluatetexttest.moc"
