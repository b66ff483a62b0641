// SPDX-License-Identifier: Apache-2.0
// Every rewrite on graphs drawn by chance: P5 to P7 hold behind it, and the gradient is that of the graph before it.
#include "core/engine/gradient/writegradientgraph.h"
#include "core/engine/verify/rewritechecks.h"
#include "tests/core/engine/randomgraph.h"

#include <QtTest>

#include <map>

using namespace retro::rewrite::testing;
using namespace retro;
using tests::RandomGraph;

namespace
{

/// The first that is not held; empty when all are. Counts them by their names.
QString notHeld(const std::vector<engine::PropertyResult>& results, std::map<std::string, int>& checked)
{
    for (const engine::PropertyResult& one : results) {
        if (one.state != engine::PropertyState::Held) {
            return QString::fromStdString(one.id + ": " + one.detail + " (" + one.node + ")");
        }
        ++checked[one.id];
    }
    return {};
}

} // namespace

class RewriteGradientTest : public QObject
{
    Q_OBJECT

private slots:
    void everyRewriteKeepsTheGradient()
    {
        std::map<std::string, int> checked;
        for (unsigned seed = 1; seed <= 12; ++seed) {
            engine::LoadedModel model;
            const SharedGraph graph = RandomGraph(seed).make();
            QVERIFY(graph);
            rewrite::RewriteOptions options;
            const std::vector<std::string> all{"all"};
            QVERIFY(rewrite::switchOn(options, all).ok());
            RETRO_MADE(rewritten, rewrite::rewrite(graph, options));
            model.rewritten = std::move(*rewritten);
            const std::vector<Tensor> inputs{randomTensor({2, 3, 4}, seed), randomTensor({2, 3, 4}, seed + 100)};
            RETRO_MADE(results, engine::checkRewrites(model, inputs, {}, seed, {}));
            const QString fault = notHeld(*results, checked);
            QVERIFY2(fault.isEmpty(), qPrintable(QStringLiteral("seed %1, %2").arg(seed).arg(fault)));
        }
        for (const char* name : {"expand-functions", "inline-branches", "fold-constants", "fuse-elementwise",
                                 "merge-common", "remove-unused", "drop-overwritten"}) {
            QVERIFY2(checked[name] > 0, name);
        }
    }

    /// The passes behind a gradient graph, for any forward values that it may be given.
    void everyPassKeepsTheGradientOfAGradientGraph()
    {
        std::map<std::string, int> checked;
        for (unsigned seed = 1; seed <= 12; ++seed) {
            auto model = std::make_shared<engine::LoadedModel>();
            rewrite::RewriteOptions asked;
            const std::vector<std::string> all{"all"};
            QVERIFY(rewrite::switchOn(asked, all).ok());
            model->rewritten = rewrite::rewrite(RandomGraph(seed).make(), rewrite::noRewrites()).value();
            engine::GradientRequest request;
            request.inputs = {randomTensor({2, 3, 4}, seed), randomTensor({2, 3, 4}, seed + 100)};
            RETRO_MADE(made, engine::gradientGraph(model, request, false));
            engine::LoadedModel gradient;
            RETRO_MADE(rewritten, rewrite::rewrite(made->graph, engine::passesBehind(*made, asked, true)));
            gradient.rewritten = std::move(*rewritten);
            std::vector<Tensor> inputs;
            for (const ValueId input : made->graph->inputs()) {
                Shape shape;
                for (const graph::Dimension& dimension : *made->graph->value(input).shape) {
                    shape.push_back(*dimension.extent);
                }
                inputs.push_back(randomTensor(shape, seed + 200 + static_cast<unsigned>(inputs.size()), 0.2, 0.8));
            }
            RETRO_MADE(results, engine::checkRewrites(gradient, inputs, {}, seed, {}));
            const QString fault = notHeld(*results, checked);
            QVERIFY2(fault.isEmpty(), qPrintable(QStringLiteral("seed %1, %2").arg(seed).arg(fault)));
        }
        for (const char* name : {"fold-constants", "merge-common", "drop-overwritten"}) {
            QVERIFY2(checked[name] > 0, name);
        }
    }

    void passesAreSwitchedOneByOne()
    {
        tape::GradientGraph gradient;
        Writer w;
        const ValueId x = w.input("x", {2});
        w.output(w.node("Exp", "e", {x}));
        gradient.graph = w.finish();
        const rewrite::RewriteOptions usual;
        QCOMPARE(engine::passesBehind(gradient, usual, false).removeUnused, false); // written as it is
        QCOMPARE(engine::passesBehind(gradient, usual, true).foldConstants, true);
        rewrite::RewriteOptions one;
        one.mergeCommon = true;
        const rewrite::RewriteOptions merging = engine::passesBehind(gradient, one, false);
        QVERIFY(merging.mergeCommon && merging.removeUnused && !merging.foldConstants && !merging.dropOverwritten);
        one.removeUnused = false;
        QVERIFY(!engine::passesBehind(gradient, one, false).removeUnused);
    }
};

QTEST_GUILESS_MAIN(RewriteGradientTest)
#include "rewritegradienttest.moc"
