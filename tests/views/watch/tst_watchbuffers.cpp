// SPDX-License-Identifier: Apache-2.0
// Watch on the buffers of LUT layers: what a kernel left there, as the cursor goes over the run.
#include "core/trace/lutlaunch.h"
#include "tests/views/lut/lutcontext.h"
#include "views/watch/watchmodel.h"

using namespace retro;
using namespace retro::views;

class WatchBuffersTest : public QObject
{
    Q_OBJECT

private slots:
    void numbersFollowTheKernels()
    {
        tests::LutContext context;
        const trace::Run& run = context.model.run();
        const auto& nodes = run.graph->nodes();
        const auto layer = std::ranges::find_if(nodes, [](const graph::Node& one) { return one.op == "LUT"; });
        QVERIFY(layer != nodes.end());
        const auto node = static_cast<std::uint32_t>(layer - nodes.begin());
        WatchModel items(context.model);
        const QString name = QString::fromStdString(layer->name);
        QVERIFY(items.add(QStringLiteral("B(%1, lookup indices)").arg(name)).ok());
        QVERIFY(items.add(QStringLiteral("B(%1, Output).max").arg(name)).ok());
        QVERIFY(!items.add(QStringLiteral("B(%1, Nonsense)").arg(name)).ok());
        QCOMPARE(items.texts().front(), QStringLiteral("B(%1, Lookup Indices)").arg(name));
        items.setRun();
        int changes = 0;
        std::optional<double> rows;
        for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
            const event::Event& event = run.events[step];
            if (event.kind != event::EventKind::Buffer || event.node != node) {
                continue;
            }
            if (trace::bufferName(event) == "Lookup Indices") {
                rows = run.handles[event.handle].sum;
            }
            context.cursor.moveTo(step + 1);
            items.follow();
            QCOMPARE(items.resultAt(0).number, rows);
            ++changes;
        }
        QVERIFY(changes > 0 && rows.has_value());
        QVERIFY(items.resultAt(1).number.has_value());
        context.cursor.moveTo(0);
        items.follow();
        QVERIFY(!items.resultAt(0).number);
        QCOMPARE(items.resultAt(0).reason, QStringLiteral("no kernel has touched it yet"));
    }
};

QTEST_MAIN(WatchBuffersTest)
#include "tst_watchbuffers.moc"
