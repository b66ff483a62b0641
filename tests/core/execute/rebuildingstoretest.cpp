// SPDX-License-Identifier: Apache-2.0
// A store that computes cheap values again: their bits, what it keeps in their place, and when that is let go.
#include "core/execute/rebuildingstore.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

#include <limits>

using namespace retro::rewrite::testing;

using retro::execute::BoundModel;
using retro::execute::RebuildingStore;

namespace
{

constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();

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

    // A product that there is no room for is computed once, when it is needed, and let go with its last reader.
    void productsBeyondTheBudgetAreLate()
    {
        const std::vector<ValueId> read{named("product_out"), named("sigmoid_out"), named("gate_out")};
        const auto all = std::make_shared<retro::execute::MemoryValueStore>(m_graph->valueCount());
        QVERIFY(forwardInto(all, m_model, m_inputs, read).ok());
        const auto store = std::make_shared<RebuildingStore>(m_model, read, std::vector<ValueId>(),
                                                             retro::execute::KeepingBounds{0, 0, kNoBound, 1});
        QCOMPARE(store->lateValues(), std::vector<ValueId>{named("product_out")});
        QCOMPARE(store->lateFlops(), 2.0 * 3 * 8 * 8);
        QCOMPARE(store->keptValues(), std::vector<ValueId>{named("x")});
        QVERIFY(forwardInto(store, m_model, m_inputs, store->keptValues()).ok());
        QVERIFY(store->get(named("gate_out")).bitEqual(all->get(named("gate_out"))));
        const Tensor product = store->get(named("product_out"));
        QVERIFY(product.bitEqual(all->get(named("product_out"))));
        QCOMPARE(store->get(named("product_out")).rawData(), product.rawData()); // not once more
        QVERIFY(!store->get(named("x")).isValid());                              // nothing else follows from it
        QVERIFY(store->get(named("sigmoid_out")).bitEqual(all->get(named("sigmoid_out"))));
        for (const ValueId value : read) {
            store->letGo(value);
        }
        QVERIFY(!store->get(named("product_out")).isValid());
    }

    void aLateValueThatNobodyNeedsIsNotComputed()
    {
        const std::vector<ValueId> read{named("product_out"), named("gate_out")};
        const auto store = std::make_shared<RebuildingStore>(m_model, read, std::vector<ValueId>(),
                                                             retro::execute::KeepingBounds{0, 0, kNoBound, 1});
        QVERIFY(forwardInto(store, m_model, m_inputs, store->keptValues()).ok());
        store->letGo(named("gate_out"));
        QVERIFY(store->get(named("x")).isValid());
        store->letGo(named("product_out"));
        QVERIFY(!store->get(named("x")).isValid());
        QVERIFY(!store->get(named("product_out")).isValid());
    }

    void timeBoundsWhatIsLate()
    {
        const std::vector<ValueId> read = results(*m_graph);
        const auto late = [&](const retro::execute::KeepingBounds& bounds) {
            return RebuildingStore(m_model, read, std::vector<ValueId>(), bounds).lateValues().size();
        };
        QCOMPARE(late({0, 0, kNoBound, 0}), std::size_t{0});
        QCOMPARE(late({0, 0, 0, 0}), std::size_t{1}); // there is no room at all
        QCOMPARE(late({0, kNoBound, kNoBound, 1}), std::size_t{0});
        QCOMPARE(late({kNoBound, 0, 0, 1}), std::size_t{0});
        const std::vector<ValueId> asIs{named("product_out")};
        QVERIFY(RebuildingStore(m_model, read, asIs, retro::execute::KeepingBounds{0, 0, 0, 1}).lateValues().empty());
    }

    // A copy has what was kept, and is read without the first one noticing.
    void aCopyIsReadByItself()
    {
        const std::vector<ValueId> read{named("product_out"), named("gate_out")};
        const auto store = std::make_shared<RebuildingStore>(m_model, read, std::vector<ValueId>(),
                                                             retro::execute::KeepingBounds{0, 0, kNoBound, 1});
        QVERIFY(forwardInto(store, m_model, m_inputs, store->keptValues()).ok());
        Tensor first;
        for (int i = 0; i < 2; ++i) {
            const RebuildingStore copy(*store);
            const Tensor gate = copy.get(named("gate_out"));
            QVERIFY(gate.isValid() && (i == 0 || gate.bitEqual(first)));
            first = gate;
            QVERIFY(!copy.get(named("x")).isValid());
        }
        QVERIFY(store->get(named("x")).isValid());
    }
};

QTEST_GUILESS_MAIN(RebuildingStoreTest)
#include "rebuildingstoretest.moc"
