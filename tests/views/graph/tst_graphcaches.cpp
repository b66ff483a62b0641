// SPDX-License-Identifier: Apache-2.0
// Layouts that are made once: of groups that are built alike, and those that are kept in files.
#include <QDir>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphrefiner.h"
#include "views/graph/graphview.h"

#include <algorithm>

using namespace retro;
using namespace retro::views;
using layout::Index;
using layout::kNone;

namespace
{

constexpr int kPatience = 20'000;

Index groupNamed(const GraphBook& book, std::string_view path)
{
    const auto& paths = book.drawn.groupPaths;
    const auto at = std::find(paths.begin(), paths.end(), path);
    if (at == paths.end()) {
        qFatal("there is no group %s", std::string(path).c_str());
    }
    return static_cast<Index>(at - paths.begin());
}

/// Places of the nodes of an open group, from the corner of its frame.
std::vector<layout::Rect> insideOf(const GraphScene& scene, Index group)
{
    const auto& frames = scene.visible.frames;
    const auto frame = std::find(frames.begin(), frames.end(), group);
    if (frame == frames.end()) {
        return {};
    }
    const layout::Rect& around = scene.layout.groups[static_cast<std::size_t>(frame - frames.begin())];
    std::vector<layout::Rect> out;
    for (std::size_t box = 0; box < scene.visible.nodes.size(); ++box) {
        if (scene.visible.nodes[box].frame == static_cast<Index>(frame - frames.begin())) {
            layout::Rect place = scene.layout.nodes[box];
            place.x -= around.x;
            place.y -= around.y;
            out.push_back(place);
        }
    }
    return out;
}

struct Stage
{
    explicit Stage(RunHandle run, const QString& folder = {}) : view(context.model, context.cursor, context.selection)
    {
        if (!folder.isEmpty()) {
            view.setLayoutFolder(folder.toStdString());
        }
        context.model.setRun(std::move(run));
        tests::showAt(view, 880, 620);
    }
    [[nodiscard]] const GraphScene& scene() const { return *view.canvas().scene(); }

    tests::ViewContext context;
    GraphView view;
};

/// A program in place of retrograde-layout.
QString write(const QTemporaryDir& folder, const QString& name, const QString& script)
{
    const QString path = folder.filePath(name);
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) {
        qFatal("cannot write %s", qPrintable(path));
    }
    file.write("#!/bin/sh\n" + script.toUtf8() + '\n');
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return path;
}

} // namespace

class GraphCachesTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void openingTheSecondOfALikePairCostsNoNewLayout()
    {
        Stage stage(tests::makeTransformerRun(4));
        stage.view.collapseAll();
        const GraphBook& book = *stage.scene().book;
        // Neither the first layer, which reads the embedding twice, nor the last, which the head reads, is asked for.
        const Index second = groupNamed(book, "encoder/layer.1");
        const Index third = groupNamed(book, "encoder/layer.2");
        const auto open = [&](Index group) {
            for (Index at = group; at != kNone; at = book.drawn.graph.groupParents[static_cast<std::size_t>(at)]) {
                if (std::find(stage.scene().visible.frames.begin(), stage.scene().visible.frames.end(), at) ==
                    stage.scene().visible.frames.end()) {
                    m_open.push_back(at);
                }
            }
            while (!m_open.empty()) { // from the outside in
                emit stage.view.canvas().groupToggled(m_open.back());
                m_open.pop_back();
            }
        };
        open(second);
        const std::size_t made = stage.view.layoutMemo().made();
        QVERIFY(made > 0);
        open(third);
        QCOMPARE(stage.view.layoutMemo().made(), made);
        const auto inside = insideOf(stage.scene(), second);
        QVERIFY(inside.size() > 10);
        QVERIFY(insideOf(stage.scene(), third) == inside);
    }

    void likeGroupsHaveBoxesOfOneWidth()
    {
        const RunHandle run = tests::makeTransformerRun(3);
        const auto book = makeBook(run.run, run.run->graph, BoxMetrics::ofFonts());
        const Index one = groupNamed(*book, "encoder/layer.0");
        const Index other = groupNamed(*book, "encoder/layer.1");
        QVERIFY(book->isRepeated[static_cast<std::size_t>(one)]);
        const auto widthsOf = [&](Index group) {
            std::vector<double> widths;
            for (std::size_t node = 0; node < book->nodeWidths.size(); ++node) {
                for (Index at = book->drawn.graph.nodeGroups[node]; at != kNone;
                     at = book->drawn.graph.groupParents[static_cast<std::size_t>(at)]) {
                    if (at == group) {
                        widths.push_back(book->nodeWidths[node]);
                    }
                }
            }
            return widths;
        };
        QVERIFY(widthsOf(one).size() > 10);
        QVERIFY(widthsOf(one) == widthsOf(other));
    }

    void largeLayoutsAreReadFromTheFolder()
    {
        QTemporaryDir folder;
        const RunHandle run = tests::makeResidualRun(3000);
        const LayoutCaches caches{nullptr, std::make_shared<const layout::LayoutFolder>(folder.path().toStdString())};
        const auto book = makeBook(run.run, run.run->graph, BoxMetrics::ofFonts());
        const std::vector<bool> open(book->groupDepths.size(), false);
        RETRO_MADE(first, makeScene(book, open, {}, Constants::Shown, caches));
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files).size(), 1);
        RETRO_MADE(again, makeScene(book, open, {}, Constants::Shown, caches));
        QVERIFY((*again)->layout.nodes == (*first)->layout.nodes);
        QVERIFY((*again)->layout.edgePoints == (*first)->layout.edgePoints);
        QVERIFY((*again)->layout.nodeLayers == (*first)->layout.nodeLayers);
        // Something else is kept beside it, and what is broken is made again.
        const std::vector<bool> closed(book->groupDepths.size(), true);
        QVERIFY(makeScene(book, closed, {}, Constants::Shown, caches).ok());
        const QString path = QDir(folder.path()).entryInfoList(QDir::Files).front().filePath();
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(file.seek(200));
        file.write("broken");
        file.close();
        RETRO_MADE(repaired, makeScene(book, open, {}, Constants::Shown, caches));
        QVERIFY((*repaired)->layout.nodes == (*first)->layout.nodes);
    }

    void refinedLayoutsAreNotAskedForAgain()
    {
#ifndef RETRO_HAS_GRAPHVIZ
        QSKIP("built without Graphviz: libgraphviz-dev is missing");
#endif
        QTemporaryDir folder;
        QTemporaryDir programs;
        Stage stage(tests::makeTinyRun());
        stage.view.expandAll();
        const auto scene = stage.view.canvas().scene();
        const auto kept = std::make_shared<const layout::LayoutFolder>(folder.path().toStdString());
        GraphRefiner real(nullptr, QStringLiteral(RETRO_BINARY_DIR "/bin/retrograde-layout"));
        real.setFolder(kept);
        QSignalSpy refined(&real, &GraphRefiner::refined);
        QSignalSpy failed(&real, &GraphRefiner::failed);
        real.start(scene);
        QTRY_VERIFY_WITH_TIMEOUT(refined.count() + failed.count() == 1, kPatience);
        QVERIFY2(failed.isEmpty(), failed.isEmpty() ? "" : qPrintable(failed[0][0].toString()));
        GraphRefiner other(nullptr, write(programs, QStringLiteral("fails"), QStringLiteral("exit 1")));
        other.setFolder(kept);
        QSignalSpy again(&other, &GraphRefiner::refined);
        other.start(scene);
        QCOMPARE(again.count(), 1);
        const auto first = refined[0][1].value<std::shared_ptr<const GraphScene>>();
        const auto second = again[0][1].value<std::shared_ptr<const GraphScene>>();
        QVERIFY(second->layout.nodes == first->layout.nodes);
        QVERIFY(second->layout.edgePoints == first->layout.edgePoints);
        GraphRefiner without(nullptr, write(programs, QStringLiteral("fails"), QStringLiteral("exit 1")));
        QSignalSpy refused(&without, &GraphRefiner::failed);
        without.start(scene);
        QTRY_COMPARE_WITH_TIMEOUT(refused.count(), 1, kPatience);
    }

private:
    std::vector<Index> m_open;
};

QTEST_MAIN(GraphCachesTest)
#include "tst_graphcaches.moc"
