// SPDX-License-Identifier: Apache-2.0
// A store that computes cheap values again: their bits, what it keeps in their place, and when that is let go.
#include "core/execute/rebuildingstore.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro::rewrite::testing;

using retro::execute::BoundModel;
using retro::execute::RebuildingStore;

namespace
{

/// x·W, its sigmoid, their product, a sum with x, and a chain of functions behind it.
SharedGraph gated()
{
    Writer writer;
    const ValueId x = writer.input("x", {3, 8});
    const ValueId product = writer.node("MatMul", "product", {x, writer.constant("w", randomTensor({8, 8}, 1))});
    const ValueId sigmoid = writer.node("Sigmoid", "sigmoid", {product});
    const ValueId gate = writer.node("Mul", "gate", {product, sigmoid});
    ValueId value = writer.node("Add", "sum", {gate, x});
    for (int i = 0; i < 9; ++i) {
        value = writer.node("Tanh", "tanh" + std::to_string(i), {value});
    }
    writer.output(value);
    return writer.finish();
}

std::shared_ptr<const BoundModel> bound(const SharedGraph& graph)
{
    const std::vector<retro::ops::TensorType> types{{DType::Float32, {3, 8}}};
    auto model = BoundModel::bind(graph, types, Precision::Float);
    return model.ok() ? *model : nullptr;
}

std::vector<ValueId> results(const Graph& graph)
{
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        values.push_back(graph.node(retro::graph::NodeId(i)).outputs[0]);
    }
    return values;
}

bool contains(const std::vector<ValueId>& values, ValueId value)
{
    return std::find(values.begin(), values.end(), value) != values.end();
}

} // namespace

class RebuildingStoreTest : public QObject
{
    Q_OBJECT

    const SharedGraph m_graph = gated();
    const std::shared_ptr<const BoundModel> m_model = bound(m_graph);
    const std::vector<Tensor> m_inputs{randomTensor({3, 8}, 2)};

    [[nodiscard]] ValueId named(const char* name) const { return m_graph->findValue(name).value(); }

private slots:
    void valuesHaveTheBitsOfTheForwardPass()
    {
        const std::vector<ValueId> read = results(*m_graph);
        const auto all = std::make_shared<retro::execute::MemoryValueStore>(m_graph->valueCount());
        QVERIFY(forwardInto(all, m_model, m_inputs, read).ok());
        const auto store = std::make_shared<RebuildingStore>(m_model, read, std::vector<ValueId>(), 0);
        QVERIFY(store->rebuiltCount() > 3);
        QVERIFY(store->rebuiltCount() < read.size() - 1); // the product, and a link of the long chain
        QVERIFY(forwardInto(store, m_model, m_inputs, store->keptValues()).ok());
        for (const ValueId value : read) {
            QVERIFY2(store->get(value).isValid() && store->get(value).bitEqual(all->get(value)),
                     m_graph->value(value).name.c_str());
            QVERIFY(store->kept(value).bitEqual(all->get(value)));
        }
    }

    void whatIsAskedForAsItIsAndLittleIsKept()
    {
        const std::vector<ValueId> read = results(*m_graph);
        const std::vector<ValueId> asIs{named("gate_out")};
        const RebuildingStore store(m_model, read, asIs, 0);
        QVERIFY(contains(store.keptValues(), named("gate_out")));
        QVERIFY(contains(store.keptValues(), named("product_out")));
        QVERIFY(!contains(store.keptValues(), named("sigmoid_out")));
        QVERIFY(contains(store.keptValues(), named("x"))); // the sum follows from it
        const RebuildingStore little(m_model, read, asIs, 1 << 20);
        QCOMPARE(little.rebuiltCount(), std::size_t{0});
        QCOMPARE(little.keptValues().size(), read.size());
    }

    void sourcesLiveUntilWhatFollowsIsLetGo()
    {
        const std::vector<ValueId> read{named("product_out"), named("gate_out")};
        const auto store = std::make_shared<RebuildingStore>(m_model, read, std::vector<ValueId>(), 0);
        QCOMPARE(store->keptValues(), std::vector<ValueId>{named("product_out")});
        QVERIFY(forwardInto(store, m_model, m_inputs, store->keptValues()).ok());
        store->letGo(named("product_out"));
        QVERIFY(store->get(named("gate_out")).isValid());
        store->letGo(named("gate_out"));
        QVERIFY(!store->get(named("gate_out")).isValid());
        QVERIFY(!store->get(named("product_out")).isValid());
        store->letGo(named("gate_out")); // once more is no harm
    }
};

QTEST_GUILESS_MAIN(RebuildingStoreTest)
#include "rebuildingstoretest.moc"
