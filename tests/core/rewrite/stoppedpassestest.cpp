// SPDX-License-Identifier: Apache-2.0
// Passes look at the stop token before every node.
#include "tests/core/rewrite/graphs.h"

#include "core/rewrite/passes.h"

#include <QtTest>

using namespace retro::rewrite;
using namespace retro::rewrite::testing;

namespace
{

using Apply = void (*)(Draft&, std::vector<RewriteStep>&);

/// Something to do for every pass below, several times.
SharedGraph graphForAll()
{
    Writer writer;
    ValueId x = writer.input("x", {2, 3});
    for (int i = 0; i < 4; ++i) {
        const std::string number = std::to_string(i);
        const ValueId weight =
            writer.node("Identity", "copy" + number,
                        {writer.node("Neg", "neg" + number, {writer.constant("w" + number, randomTensor({3, 3}, 1))})});
        const ValueId product =
            writer.node("MatMul", "fc" + number, {x, writer.constant("v" + number, randomTensor({3, 3}, 2))});
        const ValueId sum =
            writer.node("Add", "bias" + number, {product, writer.constant("b" + number, randomTensor({3}, 3))});
        const ValueId gate = writer.node("Sigmoid", "gate" + number, {sum});
        writer.node("Relu", "unused" + number, {sum});
        x = writer.node("MatMul", "mix" + number, {writer.node("Mul", "swish" + number, {sum, gate}), weight});
    }
    writer.output(x);
    return writer.finish();
}

std::size_t changesBy(Apply apply, const std::stop_token& stop)
{
    const SharedGraph graph = graphForAll();
    Draft draft(*graph, true, stop);
    std::vector<RewriteStep> steps;
    apply(draft, steps);
    std::size_t changes = 0;
    for (std::size_t i = 0; i < graph->nodeCount(); ++i) {
        changes += draft.isRemoved(NodeId(i)) || draft.isFused(NodeId(i)) ? 1 : 0;
    }
    return changes;
}

} // namespace

class StoppedPassesTest : public QObject
{
    Q_OBJECT

private slots:
    void aPassDoesNothingMoreOnceStopped()
    {
        std::stop_source stop;
        stop.request_stop();
        for (const Apply apply : {removeUnused, foldConstants, removeIdentities, fuseActivations, fuseLinear}) {
            QVERIFY(changesBy(apply, {}) >= 4);
            QCOMPARE(changesBy(apply, stop.get_token()), std::size_t{0});
        }
    }

    void aStoppedDraftBuildsNoGraph()
    {
        const SharedGraph graph = graphForAll();
        std::stop_source stop;
        const Draft draft(*graph, true, stop.get_token());
        QVERIFY(draft.build().ok());
        stop.request_stop();
        QCOMPARE(draft.build().error().code, retro::base::ErrorCode::Cancelled);
        QCOMPARE(rewrite(graph, {}, stop.get_token()).error().code, retro::base::ErrorCode::Cancelled);
    }
};

QTEST_GUILESS_MAIN(StoppedPassesTest)
#include "stoppedpassestest.moc"
