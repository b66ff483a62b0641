// SPDX-License-Identifier: Apache-2.0
#include <QFile>
#include <QImage>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/graph/graphfigure.h"
#include "views/graph/graphfile.h"
#include "views/graph/graphview.h"

#include <nlohmann/json.hpp>

using namespace retro;
using namespace retro::views;

namespace
{

QByteArray contentOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class GraphFileTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        tests::installLook();
        QVERIFY(m_folder.isValid());
    }

    void theViewWritesEveryFormat_data()
    {
        QTest::addColumn<QString>("ending");
        QTest::addColumn<QByteArray>("magic");
        QTest::newRow("svg") << "svg" << QByteArray("<?xml");
        QTest::newRow("png") << "png" << QByteArray("\x89PNG");
        QTest::newRow("pdf") << "pdf" << QByteArray("%PDF-");
        QTest::newRow("dot") << "dot" << QByteArray("digraph \"digits-vit\" {");
        QTest::newRow("json") << "json" << QByteArray("{");
    }
    void theViewWritesEveryFormat()
    {
        QFETCH(QString, ending);
        QFETCH(QByteArray, magic);
        tests::ViewContext context;
        GraphView view(context.model, context.cursor, context.selection);
        context.model.setRun(tests::makeTransformerRun());
        const QString path = fileName(QStringLiteral("view.") + ending);
        RETRO_MADE(done, view.exportTo(path.toStdString()));
        const QByteArray content = contentOf(path);
        QVERIFY(content.startsWith(magic));
        QVERIFY(content.size() > 2000);
    }

    void dotNamesTheOperatorsForReaders()
    {
        const auto path = fileName(QStringLiteral("tiny.dot"));
        const RunHandle handle = tests::makeTinyRun();
        QVERIFY(writeGraphFigure(path.toStdString(), *handle.run->graph, nullptr, *handle.run).ok());
        const QByteArray content = contentOf(path);
        for (const char* part : {", op=\"Conv\",", ", op=\"Relu\",", ", op=\"Add\","}) {
            QVERIFY2(content.contains(part), content.constData());
        }
    }

    void theSvgIsWellFormedAndNamesItsNodes()
    {
        const auto path = fileName(QStringLiteral("tiny.svg"));
        const RunHandle handle = tests::makeTinyRun();
        handle.timeline->seek(handle.run->eventCount());
        QVERIFY(writeGraphFigure(path.toStdString(), *handle.run->graph, &handle.timeline->state(), *handle.run).ok());
        QXmlStreamReader xml(contentOf(path));
        QStringList texts;
        while (!xml.atEnd()) {
            if (xml.readNext() == QXmlStreamReader::Characters && !xml.isWhitespace()) {
                texts.append(xml.text().toString());
            }
        }
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
        for (const char* word : {"conv1", "relu1", "add", "4×24×24", " stem", "8.28"}) {
            QVERIFY2(texts.contains(QString::fromUtf8(word)), word);
        }
    }

    void thePngHasTheSizeOfTheGraph()
    {
        const auto path = fileName(QStringLiteral("tiny.png"));
        const RunHandle handle = tests::makeTinyRun();
        QVERIFY(writeGraphFigure(path.toStdString(), *handle.run->graph, nullptr, *handle.run).ok());
        const QImage image(path);
        QVERIFY(image.width() > 300 && image.height() > image.width());
        QCOMPARE(image.text(QStringLiteral("model")), QStringLiteral("tiny"));
        QVERIFY(!tests::hasColor(image, Theme::of(ThemeKind::Light)[Role::FulfilTint])); // nothing was visited
        QVERIFY(tests::hasColor(image, Theme::of(ThemeKind::Light)[Role::Group]));
    }

    void aSelectionHasItsNodesAndWhatLiesBetween()
    {
        const RunHandle handle = tests::makeTinyRun();
        handle.timeline->seek(handle.run->eventCount());
        const auto textsOf = [&](const std::vector<std::string>& select) {
            const auto path = fileName(QStringLiteral("part.svg"));
            const auto done = writeGraphFigure(path.toStdString(), *handle.run->graph, &handle.timeline->state(),
                                               *handle.run, std::nullopt, select);
            if (!done.ok()) {
                qWarning("%s", done.error().text().c_str());
            }
            QXmlStreamReader xml(done.ok() ? contentOf(path) : QByteArray());
            QStringList texts;
            while (!xml.atEnd()) {
                if (xml.readNext() == QXmlStreamReader::Characters && !xml.isWhitespace()) {
                    texts.append(xml.text().toString());
                }
            }
            return texts;
        };
        const QStringList between = textsOf({"stem/relu1", "head/pool"});
        for (const char* word : {"relu1", "conv2", "add", "pool"}) { // both branches of the sum lie between
            QVERIFY2(between.contains(QLatin1String(word)), word);
        }
        QVERIFY(!between.contains("conv1") && !between.contains("fc"));
        const QStringList one = textsOf({"head/fc"});
        QVERIFY(one.contains("fc") && !one.contains("pool"));
        const QStringList group = textsOf({"stem"});
        QVERIFY(group.contains("conv1") && group.contains("relu1") && !group.contains("conv2"));
        const auto whole = fileName(QStringLiteral("whole.png"));
        const auto part = fileName(QStringLiteral("part.png"));
        QVERIFY(writeGraphFigure(whole.toStdString(), *handle.run->graph, nullptr, *handle.run).ok());
        QVERIFY(writeGraphFigure(part.toStdString(), *handle.run->graph, nullptr, *handle.run, std::nullopt, {"stem"})
                    .ok());
        QVERIFY(QImage(part).height() < QImage(whole).height() / 2);
        const auto unknown =
            writeGraphFigure(part.toStdString(), *handle.run->graph, nullptr, *handle.run, std::nullopt, {"kitchen"});
        QCOMPARE(unknown.error().code, base::ErrorCode::Usage);
        QVERIFY(unknown.error().text().find("kitchen") != std::string::npos);
        const auto dot = writeGraphFigure(fileName(QStringLiteral("part.dot")).toStdString(), *handle.run->graph,
                                          nullptr, *handle.run, std::nullopt, {"head/fc"});
        QCOMPARE(dot.error().code, base::ErrorCode::Usage);
    }

    void theJsonHasEveryNodeAndEdge()
    {
        const auto path = fileName(QStringLiteral("tiny.json"));
        const RunHandle handle = tests::makeTinyRun();
        handle.timeline->seek(handle.run->endOfVisit(5));
        QVERIFY(writeGraphFigure(path.toStdString(), *handle.run->graph, &handle.timeline->state(), *handle.run).ok());
        const auto json = nlohmann::json::parse(contentOf(path).toStdString());
        QCOMPARE(json["format"].get<std::string>(), std::string("retrograde-figure/1"));
        QCOMPARE(json["nodes"].size(), std::size_t{tests::kTinyNodes});
        const auto& relu = json["nodes"][tests::kRelu1];
        QCOMPARE(relu["label"].get<std::string>(), std::string("stem/relu1"));
        QCOMPARE(relu["op"].get<std::string>(), std::string("Relu"));
        QCOMPARE(relu["mode"].get<std::string>(), std::string("PTM"));
        QCOMPARE(relu["shape"].size(), std::size_t{4});
        QVERIFY(json["nodes"][tests::kImage]["mode"].is_null());
        QCOMPARE(json["edges"].size(), std::size_t{8});
        int passed = 0;
        for (const auto& edge : json["edges"]) {
            passed += edge["relevance"].is_null() ? 0 : 1;
            QVERIFY(edge["from"].get<std::size_t>() < tests::kTinyNodes);
        }
        QCOMPARE(passed, 5); // fc, flatten, pool, and both branches of the sum
    }

    void theDotNestsItsClusters()
    {
        const auto path = fileName(QStringLiteral("vit.dot"));
        const RunHandle handle = tests::makeTransformerRun();
        QVERIFY(writeGraphFigure(path.toStdString(), *handle.run->graph, nullptr, *handle.run).ok());
        const QByteArray dot = contentOf(path);
        QCOMPARE(dot.count('{'), dot.count('}'));
        QCOMPARE(dot.count("subgraph cluster_"), qsizetype{7}); // embed, encoder, two layers, two mlp, head
        QCOMPARE(dot.count(" -> "), qsizetype{53});
        QVERIFY(dot.contains("label=\"encoder/layer.0/Softmax\\nSoftmax\""));
    }

    void quotesAndControlsInNamesDoNoHarm()
    {
        tests::ViewContext context;
        const RunHandle handle = tests::makeNamedRun("odd \"name\"\\ with\nline & <tag> \xff");
        for (const char* ending : {"json", "dot", "svg"}) {
            const auto path = fileName(QStringLiteral("odd.") + QLatin1String(ending));
            QVERIFY(writeGraphFigure(path.toStdString(), *handle.run->graph, nullptr, *handle.run).ok());
        }
        const auto json = nlohmann::json::parse(contentOf(fileName(QStringLiteral("odd.json"))).toStdString());
        QCOMPARE(QString::fromStdString(json["nodes"][0]["label"].get<std::string>()),
                 QStringLiteral("odd \"name\"\\ with\nline & <tag> \uFFFD"));
        QVERIFY(contentOf(fileName(QStringLiteral("odd.dot"))).contains(R"(label="odd \"name\"\\ with\nline)"));
        QXmlStreamReader xml(contentOf(fileName(QStringLiteral("odd.svg"))));
        while (!xml.atEnd()) {
            xml.readNext();
        }
        QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
    }

    void mistakesAreNamed()
    {
        const RunHandle handle = tests::makeTinyRun();
        const auto ending = writeGraphFigure(fileName(QStringLiteral("graph.gif")).toStdString(), *handle.run->graph,
                                             nullptr, *handle.run);
        QCOMPARE(ending.error().code, base::ErrorCode::Usage);
        const auto folder = writeGraphFigure("/nowhere/at/all/graph.svg", *handle.run->graph, nullptr, *handle.run);
        QCOMPARE(folder.error().code, base::ErrorCode::Output);
        const RunHandle tall = tests::makeResidualRun(8000);
        const auto book = makeBook(tall.run, tall.run->graph, BoxMetrics::ofFonts());
        FigureOptions open;
        open.closed.assign(book->groupDepths.size(), false);
        const auto size = writeFigure(fileName(QStringLiteral("tall.png")).toStdString(), book, {}, open);
        QCOMPARE(size.error().code, base::ErrorCode::Usage);
        QVERIFY(size.error().message.find("svg") != std::string::npos);
    }

private:
    [[nodiscard]] QString fileName(const QString& name) const { return m_folder.filePath(name); }
    QTemporaryDir m_folder;
};

QTEST_MAIN(GraphFileTest)
#include "tst_graphfile.moc"
