// SPDX-License-Identifier: Apache-2.0
// Every rewrite on graphs drawn by chance: P5 to P7 hold behind it, and the gradient is that of the graph before it.
#include "core/engine/gradient/writegradientgraph.h"
#include "core/engine/verify/rewritechecks.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

#include <map>

using namespace retro::rewrite::testing;
using namespace retro;

namespace
{

/// Graphs that give every optional rewrite something to do now and then.
class RandomGraph
{
public:
    explicit RandomGraph(unsigned seed) : m_random(seed)
    {
        m_values = {m_writer.input("x", {2, 3, 4}), m_writer.input("u", {2, 3, 4})};
    }

    SharedGraph make()
    {
        const std::size_t count = 4 + pick(8);
        for (std::size_t i = 0; i < count; ++i) {
            m_node = fmt::format("n{}", i);
            add();
        }
        ValueId sum = m_values.back();
        for (std::size_t i = 0; i + 1 < m_values.size(); ++i) {
            sum = m_writer.node("Add", fmt::format("sum{}", i), {sum, m_values[i]});
        }
        m_writer.output(m_writer.node("Tanh", "score", {sum}));
        return m_writer.finish();
    }

private:
    std::size_t pick(std::size_t count) { return m_random() % count; }
    ValueId any() { return m_values[m_values.size() - 1 - pick(std::min<std::size_t>(m_values.size(), 4))]; }

    void add()
    {
        switch (pick(7)) {
        case 0:
            addChain();
            break;
        case 1:
            addTwice();
            break;
        case 2:
            addUpdates();
            break;
        case 3:
            addBranch();
            break;
        case 4:
            addConstants();
            break;
        case 5:
            m_writer.node("Exp", m_node + "_unread", {any()}); // nobody asks for it
            break;
        default:
            addFunction();
        }
    }

    void addChain()
    {
        const char* const functions[] = {"Tanh", "Sigmoid", "Softplus", "Elu", "Erf", "Selu"};
        ValueId x = any();
        for (std::size_t i = 0, count = 1 + pick(3); i < count; ++i) {
            x = m_writer.node(functions[pick(6)], fmt::format("{}_{}", m_node, i), {x});
        }
        m_values.push_back(x);
    }

    void addTwice()
    {
        const char* op = pick(2) == 0 ? "Mul" : "Add";
        const ValueId a = any();
        const ValueId b = any();
        const ValueId first = m_writer.node(op, m_node + "_first", {a, b});
        const ValueId second = m_writer.node(op, m_node + "_second", {b, a});
        m_values.push_back(m_writer.node("Sigmoid", m_node, {m_writer.node("Mul", m_node + "_both", {first, second})}));
    }

    void addUpdates()
    {
        const std::vector<std::int64_t> places{0, 1, 1, 2};
        const auto index = [&](const char* name) {
            return m_writer.constant(m_node + name, Tensor::of<std::int64_t>({2, 2}, places));
        };
        const ValueId rows = m_writer.node("ReduceMean", m_node + "_rows", {any()},
                                           {{"axes", std::vector<std::int64_t>{0, 1}}, {"keepdims", std::int64_t{0}}});
        const ValueId wide =
            m_writer.node("Expand", m_node + "_wide",
                          {rows, m_writer.constant(m_node + "_shape",
                                                   Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{2, 4}))});
        const ValueId first = m_writer.node("ScatterND", m_node + "_first", {any(), index("_i"), wide});
        m_values.push_back(
            m_writer.node("ScatterND", m_node,
                          {first, index("_j"),
                           m_writer.constant(m_node + "_new", randomTensor({2, 4}, static_cast<unsigned>(pick(99))))}));
    }

    void addBranch()
    {
        graph::Attributes branches;
        for (const char* name : {"then_branch", "else_branch"}) {
            Writer inner;
            const ValueId x = inner.input("x", {2, 3, 4});
            const ValueId once = inner.node(name[0] == 't' ? "Tanh" : "Sigmoid", "act", {x});
            inner.output(inner.node("Mul", "times", {once, x}));
            branches[name] = graph::Subgraph{inner.finish(), 1};
        }
        const bool isThen = pick(2) == 0;
        const ValueId condition =
            m_writer.constant(m_node + "_is", Tensor::of<bool>({}, std::span<const bool>(&isThen, 1)));
        m_values.push_back(m_writer.node("If", m_node, {condition, any()}, std::move(branches)));
    }

    void addConstants()
    {
        const ValueId level = m_writer.constant(m_node + "_a", randomTensor({1, 4}, 3, -0.5, 0.5));
        const ValueId factor =
            m_writer.node("Mul", m_node + "_b", {m_writer.node("Exp", m_node + "_e", {level}), level});
        const ValueId shifted = m_writer.node("Add", m_node + "_shifted", {any(), factor});
        const ValueId weight = m_writer.constant(m_node + "_w", randomTensor({4, 4}, 4, -0.5, 0.5));
        m_values.push_back(m_writer.node("MatMul", m_node, {shifted, weight})); // backwards by the turned weight
    }

    void addFunction()
    {
        const ValueId weight = m_writer.constant(m_node + "_w", randomTensor({1, 3, 4}, 7, -0.5, 0.5));
        const ValueId recurrent = m_writer.constant(m_node + "_r", randomTensor({1, 3, 3}, 8, -0.5, 0.5));
        const ValueId rnn =
            m_writer.node("RNN", m_node, {any(), weight, recurrent}, {{"hidden_size", std::int64_t{3}}});
        const ValueId mean = m_writer.node("ReduceMean", m_node + "_mean", {rnn},
                                           {{"axes", std::vector<std::int64_t>{1, 3}}, {"keepdims", std::int64_t{1}}});
        const ValueId flat =
            m_writer.node("Reshape", m_node + "_flat",
                          {mean, m_writer.constant(m_node + "_to",
                                                   Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{2, 3, 1}))});
        m_values.push_back(m_writer.node("Mul", m_node + "_scaled", {any(), flat}));
    }

    std::mt19937 m_random;
    Writer m_writer;
    std::vector<ValueId> m_values;
    std::string m_node;
};

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
            auto rewritten = rewrite::rewrite(graph, options);
            QVERIFY2(rewritten.ok(), rewritten.ok() ? "" : rewritten.error().text().c_str());
            model.rewritten = std::move(*rewritten);
            const std::vector<Tensor> inputs{randomTensor({2, 3, 4}, seed), randomTensor({2, 3, 4}, seed + 100)};
            const auto results = engine::checkRewrites(model, inputs, {}, seed, {});
            QVERIFY2(results.ok(), results.ok() ? "" : results.error().text().c_str());
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
            const auto made = engine::gradientGraph(model, request, false);
            QVERIFY2(made.ok(), made.ok() ? "" : made.error().text().c_str());
            engine::LoadedModel gradient;
            auto rewritten = rewrite::rewrite(made->graph, engine::passesBehind(*made, asked, true));
            QVERIFY2(rewritten.ok(), rewritten.ok() ? "" : rewritten.error().text().c_str());
            gradient.rewritten = std::move(*rewritten);
            std::vector<Tensor> inputs;
            for (const ValueId input : made->graph->inputs()) {
                Shape shape;
                for (const graph::Dimension& dimension : *made->graph->value(input).shape) {
                    shape.push_back(*dimension.extent);
                }
                inputs.push_back(randomTensor(shape, seed + 200 + static_cast<unsigned>(inputs.size()), 0.2, 0.8));
            }
            const auto results = engine::checkRewrites(gradient, inputs, {}, seed, {});
            QVERIFY2(results.ok(), results.ok() ? "" : results.error().text().c_str());
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
