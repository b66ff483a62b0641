// SPDX-License-Identifier: Apache-2.0
// The rules of AttnLRP and CP-LRP by their formulas, embeddings, and where operands come from.
#include "core/execute/forward.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/oracle.h"
#include "tests/core/lrp/rules/rulefixture.h"

#include <QTest>

#include <fmt/format.h>

#include <array>
#include <cmath>

using namespace retro;
using namespace retro::tests;
using event::Cause;

namespace
{

using Values = std::vector<double>;

lrp::Stabiliser exactly(double e) { return {lrp::StabiliserKind::Add, e, true}; }

/// x of one channel of n elements, brought to mean 0 and deviation 1, times scale, plus bias.
OneNode instanceNorm(const Tensor& x, double scale, double bias)
{
    return OneNode("InstanceNormalization", {{x}, {doubles({1}, {scale}), true}, {doubles({1}, {bias}), true}},
                   {{"epsilon", 0.25}});
}

/// Tokens, an embedding of width 2, self-attention with its Softmax behind a Dropout, a gate, a linear layer.
class SmallTransformer
{
public:
    /// `isTurned`: the input is Int32 and of shape 3 × 1, and is cast, transposed and reshaped.
    explicit SmallTransformer(bool isTurned = false)
    {
        m_builder.setOpset("", 13);
        const DType type = isTurned ? DType::Int32 : DType::Int64;
        const tensor::Shape shape = isTurned ? tensor::Shape{3, 1} : tensor::Shape{1, 3};
        auto ids = m_builder.addInput("ids", type, shape);
        if (isTurned) {
            ids = add("Transpose", "turned", {add("Cast", "cast", {ids}, {{"to", std::int64_t{7}}})});
            ids = add("Reshape", "shaped",
                      {ids, constant(Tensor::of<std::int64_t>({2}, std::array<std::int64_t, 2>{-1, 3}))});
        }
        input = Tensor::of<std::int64_t>({1, 3}, std::array<std::int64_t, 3>{3, 0, 4}).reshaped(shape).to(type);
        const auto x = add("Gather", "embed", {constant(noise({5, 2}, 1)), ids});
        const auto q = add("MatMul", "q", {x, constant(noise({2, 2}, 2))});
        const auto k = add("Transpose", "k", {add("MatMul", "kx", {x, constant(noise({2, 2}, 3))})},
                           {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
        const auto p = add("Dropout", "drop", {add("Softmax", "p", {add("MatMul", "scores", {q, k})})});
        const auto y = add("MatMul", "mix", {p, x});
        const auto gated = add("Mul", "gate", {y, add("Sigmoid", "sigma", {q})});
        m_builder.addOutput(add("MatMul", "head", {gated, constant(noise({2, 2}, 4))}));
        const std::vector<ops::TensorType> types{{type, shape}};
        auto built = std::move(m_builder).build();
        model = tests::made(execute::BoundModel::bind(std::make_shared<const graph::Graph>(std::move(built).value()),
                                                      types, execute::Precision::Double));
    }

    [[nodiscard]] std::string ruleOf(const char* composite, const char* node) const
    {
        const auto rules = lrp::assignRules(*lrp::builtinComposite(composite, *model), *model);
        return rules.ok() ? (*rules)[model->graph().findNode(node)->index()].rule->text() : rules.error().text();
    }

    /// Relevance of the value, of 1 at the first element of the output.
    [[nodiscard]] Tensor relevanceOf(const char* composite, const char* value) const
    {
        const std::vector<Tensor> inputs{input};
        const auto rules = lrp::assignRules(*lrp::builtinComposite(composite, *model), *model);
        const auto forward = execute::forward(model, inputs, execute::SavePolicy::All);
        const graph::ValueId output = model->graph().outputs()[0];
        const auto graph = lrp::TraversalGraph::build(*model, output);
        const auto table = lrp::oracle(forward->saved, *rules, *graph, doubles({1, 3, 2}, {1, 0, 0, 0, 0, 0}));
        return (*table)[model->graph().nodeOf(*model->graph().findValue(value)).index()][0];
    }

    std::shared_ptr<const execute::BoundModel> model;
    Tensor input;

private:
    graph::ValueId constant(const Tensor& value) { return m_builder.addConstant(fmt::format("c{}", m_count++), value); }
    graph::ValueId add(const char* op, const char* name, std::vector<graph::ValueId> inputs,
                       graph::Attributes attributes = {})
    {
        return m_builder.addOp(op, name, std::move(inputs), std::string(name) + "_out", std::move(attributes));
    }

    graph::GraphBuilder m_builder;
    int m_count = 0;
};

} // namespace

class TransformerRulesTest : public QObject
{
    Q_OBJECT

private slots:
    void deviationHeldConstant()
    {
        const Values x{1, -2, 4, 0.5};
        const Values r{3, 1, -2, 5};
        OneNode node = instanceNorm(doubles({1, 1, 4}, x), 2, 0.3);
        double mean = 0;
        double variance = 0;
        for (const double v : x) {
            mean += v / 4;
        }
        for (const double v : x) {
            variance += (v - mean) * (v - mean) / 4;
        }
        const double deviation = std::sqrt(variance + 0.25);
        Values g;
        double meanOfG = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const double y = (x[i] - mean) / deviation * 2 + 0.3;
            g.push_back(r[i] / (y + (y < 0 ? -0.5 : 0.5)) * 2 / deviation);
            meanOfG += g[i] / 4;
        }
        Values expected;
        for (std::size_t i = 0; i < 4; ++i) {
            expected.push_back(x[i] * (g[i] - meanOfG));
        }
        const auto parts = node.apply(lrp::detachedDeviationRule(exactly(0.5)), {doubles({1, 1, 4}, r)});
        QVERIFY(distance(valuesOf(parts[0]), expected) < 1e-12);
        QVERIFY(node.lost(Cause::Bias) != 0);
        QVERIFY(node.lost(Cause::Stabiliser) != 0);
    }

    void withoutABiasItConserves()
    {
        OneNode node = instanceNorm(noise({1, 1, 6}, 5), 1.5, 0);
        const Tensor r = noise({1, 1, 6}, 6);
        const auto parts = node.apply(lrp::detachedDeviationRule(exactly(0)), {r});
        QVERIFY(std::abs(ops::algebra::sum(parts[0]) - ops::algebra::sum(r)) < 1e-12);
    }

    void withoutAMeanItPasses()
    {
        OneNode node("LpNormalization", {{noise({2, 3}, 1)}});
        const Tensor r = noise({2, 3}, 2);
        QVERIFY(node.apply(lrp::detachedDeviationRule(), {r})[0].bitEqual(r));
        QVERIFY(!lrp::detachedDeviationRule()->accepts(OneNode("Relu", {{r}}).op().structure()));
    }

    void theSignalTakesAll()
    {
        const Tensor r = doubles({2, 2}, {2, 4, 6, 8});
        OneNode mul("Mul", {{doubles({2, 2}, {1, 2, 3, 4})}, {doubles({2}, {5, 6})}});
        // Of a residual sum, the skip or the branch alone.
        OneNode sum("Add", {{noise({2, 3}, 1)}, {noise({2, 3}, 2)}});
        const Tensor whole = noise({2, 3}, 5);
        QVERIFY(sum.apply(lrp::signalTakesAllRule(0), {whole})[0].bitEqual(whole));
        QVERIFY(sum.apply(lrp::signalTakesAllRule(0), {whole})[1].bitEqual(Tensor::zeros(whole.dtype(), {2, 3})));
        QVERIFY(sum.apply(lrp::signalTakesAllRule(1), {whole})[1].bitEqual(whole));
        auto parts = mul.apply(lrp::signalTakesAllRule(1), {r});
        QCOMPARE(valuesOf(parts[0]), (Values{0, 0, 0, 0}));
        QCOMPARE(valuesOf(parts[1]), (Values{8, 12}));
        OneNode scaled("Mul", {{doubles({2, 2}, {1, 2, 3, 4})}, {doubles({2}, {5, 6}), true}});
        QVERIFY(scaled.apply(lrp::signalTakesAllRule(1), {r})[0].bitEqual(r)); // a constant takes nothing
        OneNode product("MatMul", {{noise({2, 3}, 1)}, {noise({3, 2}, 2)}});
        parts = product.apply(lrp::signalTakesAllRule(1, exactly(0)), {r});
        QCOMPARE(valuesOf(parts[0]), (Values{0, 0, 0, 0, 0, 0}));
        QVERIFY(std::abs(ops::algebra::sum(parts[1]) - 20) < 1e-9);
        const auto full = product.apply(lrp::epsilonRule({exactly(0), {}}, lrp::BilinearShare::Full), {r});
        QVERIFY(distance(valuesOf(parts[1]), valuesOf(full[1])) < 1e-12);
    }

    void tokensGetTheSumOfTheirEmbedding()
    {
        const Tensor ids = Tensor::of<std::int64_t>({1, 3}, std::array<std::int64_t, 3>{2, 0, 2});
        OneNode node("Gather", {{noise({3, 2}, 1), true}, {ids}});
        auto parts = node.apply(lrp::passRule(), {doubles({1, 3, 2}, {1, 2, 3, 4, 5, 6})});
        QVERIFY(!parts[0].isValid());
        QCOMPARE(valuesOf(parts[1]), (Values{3, 7, 11}));
        QCOMPARE(node.lost(Cause::Constant), 0.0);
        OneNode columns("Gather", {{noise({2, 3}, 1), true}, {ids}}, {{"axis", std::int64_t{1}}});
        parts = columns.apply(lrp::passRule(), {doubles({2, 1, 3}, {1, 2, 3, 4, 5, 6})});
        QCOMPARE(valuesOf(parts[1]), (Values{5, 7, 9}));
        // Indices of a computed table are indices: the table takes the relevance.
        OneNode picked("Gather", {{noise({3, 2}, 1)}, {ids}});
        parts = picked.apply(lrp::passRule(), {doubles({1, 3, 2}, {1, 2, 3, 4, 5, 6})});
        QCOMPARE(valuesOf(parts[0]), (Values{3, 4, 0, 0, 6, 8}));
        QVERIFY(!parts[1].isValid());
    }

    void whoTakesWhatInATransformer()
    {
        const SmallTransformer small;
        QCOMPARE(small.ruleOf("attnlrp", "mix"), std::string("epsilon 1e-06"));
        QCOMPARE(small.ruleOf("attnlrp", "p"), std::string("softmax-taylor"));
        QCOMPARE(small.ruleOf("attnlrp", "gate"), std::string("uniform"));
        QCOMPARE(small.ruleOf("cp_lrp", "mix"), std::string("signal-take-all, operand 1, epsilon 1e-06"));
        QCOMPARE(small.ruleOf("cp_lrp", "scores"), std::string("epsilon 1e-06"));
        QCOMPARE(small.ruleOf("cp_lrp", "p"), std::string("stop"));
        QCOMPARE(small.ruleOf("cp_lrp", "gate"), std::string("signal-take-all, operand 0, epsilon 1e-06"));
        QCOMPARE(small.ruleOf("attnlrp:gamma_linear=0.1", "head"), std::string("gamma 0.1, epsilon 1e-06"));
        const lrp::Composite chosen = lrp::builtinComposite("auto", *small.model).value();
        QCOMPARE(chosen.name, std::string("attnlrp"));
        QVERIFY(chosen.reason.find("the model has attention") != std::string::npos);
    }

    void tokensOfATransformer()
    {
        const SmallTransformer small;
        for (const char* composite : {"attnlrp", "cp_lrp", "epsilon", "gradient"}) {
            const Tensor embedded = small.relevanceOf(composite, "embed_out");
            const Tensor ids = small.relevanceOf(composite, "ids");
            QVERIFY(ids.dtype() == DType::Float64);
            Values sums;
            for (std::int64_t i = 0; i < 3; ++i) {
                sums.push_back(embedded.at(2 * i) + embedded.at(2 * i + 1));
            }
            QVERIFY(distance(valuesOf(ids), sums) < 1e-15);
            QVERIFY(ops::algebra::sumAbsolute(ids) > 1e-3);
        }
        const SmallTransformer turned(true);
        const Tensor there = turned.relevanceOf("attnlrp", "ids");
        QVERIFY(there.shape() == (tensor::Shape{3, 1}));
        QVERIFY(distance(valuesOf(there), valuesOf(small.relevanceOf("attnlrp", "ids"))) < 1e-15);
        const Tensor scores = small.relevanceOf("cp_lrp", "scores_out");
        QCOMPARE(ops::algebra::sumAbsolute(scores), 0.0);
    }
};

QTEST_GUILESS_MAIN(TransformerRulesTest)
#include "transformerrulestest.moc"
