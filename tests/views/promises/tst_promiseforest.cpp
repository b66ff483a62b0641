// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "tests/views/graph/graphruns.h"
#include "tests/views/support/tinyrun.h"
#include "views/promises/promiseforest.h"

#include <algorithm>

using namespace retro;
using namespace retro::views;

namespace
{

constexpr std::uint32_t kMany = 30'000;

/// Every promise feeds the one before it, as in a residual network of that many blocks.
trace::Run chainOfPromises()
{
    trace::Run run;
    for (std::uint32_t promise = 0; promise < kMany; ++promise) {
        event::Event& raised = run.events.emplace_back();
        raised.kind = event::EventKind::NewPromise;
        raised.promise = promise;
        raised.slot = 1;
        if (promise > 0) {
            event::Event& parent = run.events.emplace_back();
            parent.kind = event::EventKind::AddParent;
            parent.promise = promise;
            parent.other = promise - 1;
        }
    }
    return run;
}

struct Seen
{
    std::vector<int> own;   // rows where a promise stands with its branches
    std::vector<int> links; // rows that point there
    int deepest = 0;
};

/// Without recursion: a forest that is too deep should fail a comparison and not the stack.
Seen walked(const PromiseForest& forest)
{
    Seen seen{std::vector<int>(kMany), std::vector<int>(kMany), 0};
    std::vector<const PromiseRow*> open;
    for (const auto& root : forest.roots()) {
        open.push_back(root.get());
    }
    while (!open.empty()) {
        const PromiseRow* row = open.back();
        open.pop_back();
        ++(row->isLink ? seen.links : seen.own)[row->promise.index()];
        seen.deepest = std::max(seen.deepest, row->depth);
        for (const auto& child : row->children) {
            open.push_back(child.get());
        }
    }
    return seen;
}

} // namespace

class PromiseForestTest : public QObject
{
    Q_OBJECT

private slots:
    /// Many promises in a graph with layers: a row per layer, with the promises that start in it and their counts; whom
    /// a promise of another layer feeds is named there and stands in its own layer.
    void promisesOfLikeGroupsAreOneRow()
    {
        const RunHandle handle = tests::makeTransformerRun(12);
        const trace::Run& run = *handle.run;
        const PromiseForest forest(run);
        QVERIFY(forest.promises().size() >= kFewestToFold);
        QCOMPARE(forest.layers().size(), std::size_t{12});
        std::size_t rows = 0;
        std::vector<bool> seen(forest.promises().size());
        for (const auto& root : forest.roots()) {
            if (!root->layer) {
                continue;
            }
            ++rows;
            QVERIFY(std::ranges::is_sorted(root->children, {}, [](const auto& row) { return row->promise.value; }));
            const PromiseLayer& layer = forest.layers()[*root->layer];
            QVERIFY(QString::fromStdString(layer.name).startsWith(QLatin1String("layer.")));
            for (const std::uint32_t promise : layer.promises) {
                QVERIFY(!seen[promise]);
                seen[promise] = true;
                const std::string& name = run.graph->labelOf(forest.promises()[promise].start);
                QVERIFY(QString::fromStdString(name).contains(QString::fromStdString("/" + layer.name + "/")));
                const PromiseRow* top = forest.rowOf(base::PromiseId(promise));
                while (top->parent != nullptr) {
                    top = top->parent;
                }
                QCOMPARE(top, root.get());
            }
            for (std::uint64_t position = 0; position <= run.eventCount(); position += 37) {
                LayerCounts wanted;
                for (const std::uint32_t promise : layer.promises) {
                    const PromiseFacts& facts = forest.promises()[promise];
                    ++wanted.all;
                    wanted.fulfilled += facts.completedAt && *facts.completedAt < position ? 1 : 0;
                    wanted.waiting +=
                        facts.raisedAt < position && !(facts.completedAt && *facts.completedAt < position) ? 1 : 0;
                }
                QCOMPARE(forest.countsOf(*root, position), wanted);
            }
        }
        QCOMPARE(rows, std::size_t{12});
        QVERIFY(PromiseForest(*tests::makeTransformerRun(2).run).layers().empty()); // few are read row by row
    }

    void deepChainsAreCutIntoTrees()
    {
        const PromiseForest forest(chainOfPromises());
        const Seen seen = walked(forest);
        QCOMPARE(seen.deepest, kDeepestRow);
        // The last promise has one branch more, which nobody answers: a row that is no promise's own.
        QCOMPARE(std::count(seen.own.begin(), seen.own.end() - 1, 1), std::ptrdiff_t{kMany - 1});
        const auto trees = static_cast<std::ptrdiff_t>(forest.roots().size());
        QCOMPARE(std::count(seen.links.begin(), seen.links.end(), 1), trees - 1);
        QCOMPARE(trees, std::ptrdiff_t{(kMany + kDeepestRow - 1) / kDeepestRow});
        for (std::uint32_t promise = 0; promise < kMany; ++promise) {
            const PromiseRow* row = forest.rowOf(base::PromiseId(promise));
            QVERIFY(row != nullptr && !row->isLink && row->promise == base::PromiseId(promise));
        }
    }
};

QTEST_MAIN(PromiseForestTest)
#include "tst_promiseforest.moc"
