// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/text/layersmatrix.h"
#include "views/text/linkspane.h"
#include "views/text/textfocus.h"
#include "views/text/textview.h"
#include "views/text/tokencolumns.h"
#include "views/text/wordlayersview.h"
#include "views/text/wordstrip.h"

#include <QComboBox>
#include <QFile>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QTest>

using namespace retro;
using namespace retro::views;

namespace
{

constexpr std::int64_t kTestHeads = 2;

/// A step of `tokens` words and `layers` layers with numbers that tell their place.
trace::TextStep madeStep(std::int64_t tokens, std::int64_t layers)
{
    trace::TextStep step;
    step.position = tokens - 1;
    step.target = {6, " Paris", 4.5};
    step.best = step.target;
    step.score = step.started = 4.5;
    tensor::TensorBuffer rows(tensor::DType::Float64, {layers + 1, tokens});
    for (std::int64_t i = 0; i < (layers + 1) * tokens; ++i) {
        rows.data<double>()[i] = (i % 3 == 0 ? -0.01 : 0.02) * static_cast<double>(i % tokens + 1);
    }
    step.layers = std::move(rows).freeze();
    tensor::TensorBuffer heads(tensor::DType::Float64, {layers, tokens, kTestHeads});
    for (std::int64_t i = 0; i < layers * tokens * kTestHeads; ++i) {
        heads.data<double>()[i] = 0.001 * static_cast<double>(i + 1);
    }
    step.heads = std::move(heads).freeze();
    for (std::int32_t layer = 0; layer < layers; ++layer) {
        for (std::int32_t query = 1; query < tokens; ++query) {
            step.links.push_back({layer, 0, query, query - 1, 1.0 / query});
            step.links.push_back({layer, 1, query, query - 1, -0.25 / query});
        }
    }
    for (std::int64_t token = 0; token < tokens; ++token) {
        step.relevance.push_back(step.layers.at(token));
        step.reached += step.relevance.back();
    }
    return step;
}

/// Streams are values of the tiny run: the picture, relu1, add.
std::shared_ptr<trace::RunText> madeText(std::int64_t tokens, std::int64_t layers, const graph::Graph& graph)
{
    auto text = std::make_shared<trace::RunText>();
    for (std::int64_t i = 0; i < tokens; ++i) {
        const char* const words[] = {"The", " capital", " of", " France", " is", "\n"};
        text->tokens.push_back({i, words[i % 6], std::nullopt});
    }
    text->given = static_cast<std::size_t>(tokens);
    const std::uint32_t nodes[] = {tests::kImage, tests::kRelu1, tests::kAdd};
    for (std::int64_t i = 0; i <= layers; ++i) {
        text->streams.push_back(graph.outputsOf(base::NodeId(nodes[std::min<std::int64_t>(i, 2)])).front());
    }
    for (std::int64_t i = 0; i < layers; ++i) {
        text->heads.push_back(graph.outputsOf(base::NodeId(tests::kConv2)).front());
    }
    text->steps.push_back(madeStep(tokens, layers));
    return text;
}

/// The same that went on with one word.
std::shared_ptr<trace::RunText> goneOn(const trace::RunText& text)
{
    auto more = std::make_shared<trace::RunText>(text);
    more->tokens.push_back({6, " Paris", std::nullopt});
    more->steps.push_back(text.steps.front());
    return more;
}

struct Stage : tests::ViewContext
{
    TextFocus focus;
    Stage(std::int64_t tokens, std::int64_t layers)
    {
        showTinyRun();
        focus.setText(madeText(tokens, layers, model.graph()));
    }
};

} // namespace

class TextViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void picturesInBothThemes()
    {
        Stage stage(6, 2);
        TextView text(stage.model, stage.cursor, stage.selection, stage.focus);
        WordLayersView layers(stage.model, stage.cursor, stage.selection, stage.focus);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            QVERIFY(tests::colorCount(tests::grab(text, {800, 360}, kind, QStringLiteral("text"))) > 40);
            QVERIFY(tests::colorCount(tests::grab(layers, {800, 200}, kind, QStringLiteral("wordlayers"))) > 40);
        }
        QVERIFY(text.subject().contains(QStringLiteral("6 words")));
        QVERIFY(text.subject().contains(QStringLiteral("“ Paris”")));
    }

    // Without words a run has nothing to show here, and says so.
    void aRunOfNoText()
    {
        tests::TinyContext context;
        TextFocus focus;
        TextView text(context.model, context.cursor, context.selection, focus);
        WordLayersView layers(context.model, context.cursor, context.selection, focus);
        (void)tests::grab(text, {600, 300}, ThemeKind::Light, QStringLiteral("text-none"));
        QVERIFY(text.subject().isEmpty() && layers.subject().isEmpty());
        QVERIFY(!text.exportTo("nothing.csv").ok());
        QVERIFY(!layers.exportTo("nothing.csv").ok());
        QVERIFY(!text.canShow(base::NodeId(tests::kImage)));
    }

    // A cell moves the cursor to where its layer is known, and selects the layer's value.
    void aCellMovesTheCursor()
    {
        Stage stage(6, 2);
        WordLayersView view(stage.model, stage.cursor, stage.selection, stage.focus);
        view.resize(800, 200);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        view.flush();
        LayersMatrix& matrix = view.matrix();
        QCOMPARE(matrix.currentRow(), 0); // at the end of the run relevance is at the words
        const TokenColumns columns = TokenColumns::of(stage.focus, matrix.viewport()->width());
        const auto press = [&](double x, double y) {
            QTest::mouseClick(matrix.viewport(), Qt::LeftButton, {}, QPoint(static_cast<int>(x), static_cast<int>(y)));
            view.flush();
        };
        const double top = 32; // in the first row: what leaves the last layer
        press(columns.xOf(3.5), top);
        QCOMPARE(stage.focus.token(), 3);
        const base::NodeId add(tests::kAdd);
        QCOMPARE(stage.cursor.position(), *stage.model.relevanceStep(add));
        QCOMPARE(stage.selection.value(), std::optional(stage.model.graph().outputsOf(add).front()));
        QCOMPARE(matrix.currentRow(), 2);
        QCOMPARE(stage.focus.layer(), 1);
        press(columns.xOf(1.5), 8); // in the heading: the word alone
        QCOMPARE(stage.focus.token(), 1);
        QCOMPARE(stage.cursor.position(), *stage.model.relevanceStep(add));
        QTest::keyClick(&matrix, Qt::Key_Down);
        QCOMPARE(stage.cursor.position(), *stage.model.relevanceStep(base::NodeId(tests::kRelu1)));
        QTest::keyClick(&matrix, Qt::Key_Right);
        QCOMPARE(stage.focus.token(), 2);
    }

    void headsOfALayer()
    {
        Stage stage(6, 2);
        WordLayersView view(stage.model, stage.cursor, stage.selection, stage.focus);
        tests::showAt(view, 800, 200);
        auto* rows = view.findChild<QComboBox*>();
        rows->setCurrentIndex(1);
        emit rows->activated(1);
        QVERIFY(view.matrix().isByHead());
        emit view.matrix().chosen(1, 4);
        QCOMPARE(stage.focus.head(), 1);
        QCOMPARE(stage.focus.token(), 4);
        QCOMPARE(stage.selection.value(), std::optional(stage.focus.text()->heads.front()));
        QVERIFY(stage.focus.links().front().relevance < 0); // of head 1 alone
        stage.focus.setHead(-1);
        QCOMPARE(stage.focus.links().front().relevance, 0.75); // of both together
    }

    // Other positions of the text are named by their place, steps by their number.
    void positionsAreNamed()
    {
        Stage stage(6, 2);
        auto text = std::make_shared<trace::RunText>(*stage.focus.text());
        text->steps.push_back(text->steps.front());
        text->steps.back().position = 2;
        stage.focus.setText(text);
        QCOMPARE(stage.focus.stepLabel(0), QStringLiteral("“ Paris”"));
        QCOMPARE(stage.focus.stepLabel(1), QStringLiteral("position 2: “ Paris”"));
        stage.focus.setText(goneOn(*madeText(6, 2, stage.model.graph())));
        QCOMPARE(stage.focus.stepLabel(1), QStringLiteral("step 1: “ Paris”"));
    }

    // A word that the text went on with shows its own step; others are chosen.
    void wordsAndSteps()
    {
        Stage stage(6, 2);
        stage.focus.setText(goneOn(*stage.focus.text()));
        TextView view(stage.model, stage.cursor, stage.selection, stage.focus);
        tests::showAt(view, 800, 360);
        emit view.strip().chosen(6);
        QCOMPARE(stage.focus.step(), 1);
        emit view.strip().chosen(2);
        QCOMPARE(stage.focus.token(), 2);
        QCOMPARE(stage.focus.step(), 1);
        QVERIFY(stage.selection.value().has_value());
        // The same text with another step: what is looked at stays.
        stage.focus.setText(goneOn(*stage.focus.text()));
        QCOMPARE(stage.focus.step(), 1);
        QCOMPARE(stage.focus.token(), 2);
        stage.focus.setText(madeText(3, 1, stage.model.graph()));
        QCOMPARE(stage.focus.step(), 0);
        QCOMPARE(stage.focus.token(), -1);
    }

    void smallLinksAreLeftOut()
    {
        Stage stage(40, 1);
        stage.focus.setColumnWidth(4);
        LinksPane pane(stage.focus);
        pane.resize(800, 240);
        pane.setThreshold(0);
        QCOMPARE(pane.drawnCount(), 39);
        pane.setThreshold(0.1); // of 1/1 … 1/39
        QCOMPARE(pane.drawnCount(), 10);
    }

    // Of a long text what is in sight is drawn and nothing else.
    void onlyWhatIsInSight()
    {
        Stage stage(2000, 32);
        WordLayersView view(stage.model, stage.cursor, stage.selection, stage.focus);
        tests::showAt(view, 900, 300);
        LayersMatrix& matrix = view.matrix();
        const TokenColumns start = TokenColumns::of(stage.focus, matrix.viewport()->width());
        QVERIFY(start.last() - start.first() <= start.room / start.width + 2);
        matrix.horizontalScrollBar()->setValue(matrix.horizontalScrollBar()->maximum());
        const TokenColumns end = TokenColumns::of(stage.focus, matrix.viewport()->width());
        QCOMPARE(end.last(), 2000);
        QVERIFY(end.first() > 1980);
        QVERIFY(matrix.verticalScrollBar()->maximum() > 0);
        stage.focus.setLeft(1e9);
        QCOMPARE(TokenColumns::of(stage.focus, matrix.viewport()->width()).last(), 2000);
    }

    void filesAreWritten()
    {
        Stage stage(6, 2);
        TextView text(stage.model, stage.cursor, stage.selection, stage.focus);
        WordLayersView layers(stage.model, stage.cursor, stage.selection, stage.focus);
        const QTemporaryDir folder;
        const auto file = [&](const char* name) { return folder.filePath(QLatin1String(name)).toStdString(); };
        for (const char* const ending : {"a.png", "a.svg", "a.pdf"}) {
            QVERIFY(text.exportTo(file(ending)).ok());
            QVERIFY(QFile(QString::fromStdString(file(ending))).size() > 1000);
            QVERIFY(layers.exportTo(file(ending)).ok());
        }
        QVERIFY(layers.exportTo(file("a.csv")).ok());
        QFile csv(QString::fromStdString(file("a.csv")));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        const QByteArray written = csv.readAll();
        QVERIFY(written.startsWith("layer,position,token,relevance\n0,0,The,-0.01\n"));
        QCOMPARE(written.count('\n'), 1 + 3 * 6 + 3); // the last word of each row is an end of line
        QVERIFY(!text.exportTo(folder.filePath("text.html").toStdString()).ok()); // nobody writes pages here
    }
};

QTEST_MAIN(TextViewTest)
#include "tst_textview.moc"
