// SPDX-License-Identifier: Apache-2.0
// The example of docs/extending/option.md: its lines are those of the sources, and the option is known everywhere.
#include <QtTest>

#include "app/common/questionoptions.h"
#include "core/engine/model/loadmodel.h"
#include "core/engine/question/resolve.h"
#include "core/engine/results/resultkey.h"
#include "tests/docs/snippet.h"
#include "views/run/runpanel.h"

#include <CLI/CLI.hpp>

#include <QComboBox>
#include <QRegularExpression>

using namespace retro;

namespace
{

/// The blocks of code of the page, in their order.
QStringList blocks()
{
    static const QRegularExpression kBlock(QStringLiteral("```cpp\n(.*?)```"),
                                           QRegularExpression::DotMatchesEverythingOption);
    QStringList found;
    const QString page = tests::sourceText("docs/extending/option.md");
    for (auto match = kBlock.globalMatch(page); match.hasNext();) {
        found << match.next().captured(1);
    }
    return found;
}

engine::Question startingAt(const char* start)
{
    engine::Question question;
    question.start = start;
    return question;
}

} // namespace

class ExtendingOption : public QObject
{
    Q_OBJECT

private slots:
    void thePageShowsTheSources()
    {
        const QStringList code = blocks();
        QCOMPARE(code.size(), 3);
        const char* const files[] = {"core/engine/question/question.h", "core/engine/question/fields.cpp",
                                     "core/engine/question/resolve.cpp"};
        for (int i = 0; i < code.size(); ++i) {
            QVERIFY2(tests::sourceText(files[i]).contains(code[i]), files[i]);
        }
    }

    void theCommandLineTakesIt()
    {
        CLI::App verb;
        engine::Question question;
        app::addQuestion(verb, engine::kExplain, question);
        const CLI::Option* option = verb.get_option("--start");
        QCOMPARE(option->get_description(), std::string(engine::questionField("start").help));
        verb.parse("--start contrastive", false);
        QCOMPARE(question.start, std::string("contrastive"));
        CLI::App other;
        app::addQuestion(other, engine::kVerify, question);
        QVERIFY(other.get_option_no_throw("--start") == nullptr);
    }

    void theRunPanelHasItsField()
    {
        views::RunPanel panel;
        panel.setQuestion(startingAt("all"));
        QCOMPARE(panel.question().start, std::string("all"));
        QStringList titles;
        for (const QComboBox* box : panel.findChildren<QComboBox*>()) {
            if (box->accessibleName() == QStringLiteral("Start")) {
                for (int i = 0; i < box->count(); ++i) {
                    titles << box->itemText(i);
                }
            }
        }
        QCOMPARE(titles, (QStringList{"as usual for the rules", "class score (logit)", "one", "against the others",
                                      "the whole output"}));
    }

    void aRunFileKeepsIt()
    {
        trace::Run run;
        engine::keepQuestion(startingAt("one"), run.facts);
        QCOMPARE(run.facts.start, std::string("one"));
        QCOMPARE(engine::recordedQuestion(run).start, std::string("one"));
        engine::keepQuestion({}, run.facts);
        QCOMPARE(run.facts.start, std::string("auto")); // the usual
    }

    void theEngineGetsItAndResultsAreToldApart()
    {
        const auto model = engine::loadModel(RETRO_SOURCE_DIR "/samples/clever-hans/clever-hans.onnx");
        QVERIFY(model.ok());
        const auto request = engine::resolve(startingAt("contrastive"), **model);
        QVERIFY(request.ok() && request->start.kind == engine::StartKind::Contrastive);
        QCOMPARE(engine::resolve(startingAt("nothing"), **model).error().code, base::ErrorCode::Usage);
        const auto key = [&](const char* start) {
            return engine::resultHash(**model, startingAt(start), engine::kExplain);
        };
        QVERIFY(key("one") != key("all"));
        QCOMPARE(key(""), key("logit"));
    }
};

QTEST_MAIN(ExtendingOption)
#include "extendingoption.moc"
