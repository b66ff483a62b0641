// SPDX-License-Identifier: Apache-2.0
// Composed operators by the rules of their parts: bodies that compute the same, relevance as through the unfused chain.
#include "core/lrp/arithmetic/tensorarithmetic.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/oracle.h"
#include "core/lrp/traversal/traversal.h"
#include "core/ops/algebra.h"
#include "core/rewrite/body/functionbody.h"
#include "tests/core/lrp/rules/recurrentcases.h"
#include "tests/core/rewrite/attentionchains.h"

#include <QTest>

using namespace retro;
using namespace retro::rewrite::testing;
using execute::BoundModel;
using lrp::RelevanceTable;
using Bound = std::shared_ptr<const BoundModel>;

namespace
{

Bound boundTo(const SharedGraph& graph, const std::vector<Tensor>& inputs)
{
    std::vector<ops::TensorType> types;
    for (const Tensor& input : inputs) {
        types.push_back({input.dtype(), input.shape()});
    }
    return tests::made(BoundModel::bind(graph, types, Precision::Double));
}

std::vector<Tensor> inDouble(const std::vector<Tensor>& inputs)
{
    std::vector<Tensor> wide;
    for (const Tensor& input : inputs) {
        wide.push_back(tensor::isFloating(input.dtype()) ? input.to(DType::Float64) : input);
    }
    return wide;
}

/// A model with its rules, run.
struct Pass
{
    Bound model;
    lrp::RuleAssignment rules;
    execute::ForwardResult forward;
    lrp::TraversalGraph graph;
    Tensor start;
};

Pass passThrough(const Bound& model, const std::vector<Tensor>& inputs, const char* composite,
                 std::span<const rewrite::FusedNode> fused, execute::SavePolicy policy)
{
    auto rules = tests::made(lrp::assignRules(*lrp::builtinComposite(composite, *model), *model, fused));
    auto forward = execute::forward(model, inDouble(inputs), policy);
    const graph::ValueId output = model->graph().outputs()[0];
    auto graph = lrp::TraversalGraph::build(*model, output);
    const Tensor start = randomTensor(model->typeOf(output).shape, 99).to(DType::Float64);
    return {model, std::move(rules), std::move(forward).value(), std::move(graph).value(), start};
}

RelevanceTable byOracle(const Pass& pass, std::vector<event::LedgerEntry>* ledger = nullptr)
{
    return std::move(lrp::oracle(pass.forward.saved, pass.rules, pass.graph, pass.start, {}, ledger)).value();
}

Tensor byPromises(const Pass& pass, graph::NodeId node)
{
    event::NullSink sink;
    lrp::TensorArithmetic arithmetic(pass.forward.saved, pass.rules, pass.graph, sink, true);
    lrp::Traversal traversal(pass.graph, arithmetic, sink, arithmetic.adopt(pass.start));
    while (!traversal.finished()) {
        if (!traversal.step().ok()) {
            return {};
        }
    }
    const base::HandleId handle = traversal.relevance(node, 0);
    return handle.isValid() ? arithmetic.tensor(handle) : Tensor();
}

graph::NodeId inputNode(const BoundModel& model, std::size_t i) { return graph::NodeId(model.graph().nodeCount() + i); }

using Single = tests::SingleNode;

struct Built
{
    SharedGraph graph;
    std::vector<Tensor> inputs;
};

bool isOneOf(std::size_t slot, const std::vector<std::size_t>& some)
{
    return std::find(some.begin(), some.end(), slot) != some.end();
}

Built built(const Single& single)
{
    graph::GraphBuilder builder({}, 24);
    builder.setOpset(single.domain.empty() ? "other" : single.domain, 1);
    graph::Node node;
    node.op = single.op;
    node.domain = single.domain;
    node.name = "node";
    node.opset = single.opset;
    node.attributes = single.attributes;
    Built result;
    for (std::size_t slot = 0; slot < single.operands.size(); ++slot) {
        const Tensor& operand = single.operands[slot];
        const std::string name = fmt::format("v{}", slot);
        if (!operand.isValid()) {
            node.inputs.emplace_back();
        } else if (slot >= single.constantsFrom && !isOneOf(slot, single.alsoInputs)) {
            node.inputs.push_back(builder.addConstant(name, operand));
        } else {
            node.inputs.push_back(builder.addInput(name, operand.dtype(), operand.shape()));
            result.inputs.push_back(operand);
        }
    }
    for (std::size_t k = 0; k < single.outputs; ++k) {
        node.outputs.push_back(builder.addResult(fmt::format("y{}", k)));
        builder.addOutput(node.outputs.back());
    }
    builder.addNode(std::move(node));
    auto made = std::move(builder).build();
    result.graph = made.ok() ? std::make_shared<const Graph>(std::move(made).value()) : nullptr;
    return result;
}

Tensor flags(const Shape& shape, const std::vector<double>& values)
{
    return Tensor::of<double>(shape, values).to(DType::Bool);
}

Tensor integers(const Shape& shape, const std::vector<std::int64_t>& values)
{
    return Tensor::of<std::int64_t>(shape, values);
}

const Tensor kNone;

/// Queries of 4 heads over keys and values of 2, 3 tokens (rank 4), or the same side by side (rank 3).
Single attention(Attributes attributes, std::vector<Tensor> more = {}, bool isFlat = false)
{
    Single single{"Attention", "", 24, {}, std::move(attributes), 4};
    if (isFlat) {
        single.attributes["q_num_heads"] = std::int64_t{4};
        single.attributes["kv_num_heads"] = std::int64_t{2};
        single.operands = {randomTensor({2, 3, 8}, 1), randomTensor({2, 3, 4}, 2), randomTensor({2, 3, 6}, 3)};
    } else {
        single.operands = {randomTensor({2, 4, 3, 2}, 1), randomTensor({2, 2, 3, 2}, 2), randomTensor({2, 2, 3, 3}, 3)};
    }
    single.operands.insert(single.operands.end(), more.begin(), more.end());
    return single;
}

/// The same with a window of keys around the place of each query.
Single windowed(std::int64_t left, std::int64_t right, Attributes attributes, std::vector<Tensor> more = {})
{
    attributes["left_window_size"] = left;
    attributes["right_window_size"] = right;
    Single single = attention(std::move(attributes), std::move(more));
    single.opset = 25;
    return single;
}

std::vector<std::pair<const char*, Single>> attentionCases()
{
    const Tensor keep = flags({3, 2}, {1, 0, 1, 1, 0, 0}); // two keys of three
    const double far = -std::numeric_limits<double>::infinity();
    const Tensor bias =
        Tensor::of<double>({1, 1, 3, 2}, std::vector<double>{0.5, 0, far, far, 0, -0.25}).to(DType::Float32);
    const Attributes causal{{"is_causal", std::int64_t{1}}};
    const std::vector<Tensor> past{kNone, randomTensor({2, 2, 2, 2}, 6), randomTensor({2, 2, 2, 3}, 7)};
    Single constantMask = attention({}, {bias});
    constantMask.constantsFrom = 3;
    return {
        {"short choice", attention({}, {keep})},
        {"short mask that hides all", attention({}, {bias})},
        {"constant short mask", constantMask},
        {"lengths", attention({}, {kNone, kNone, kNone, integers({2}, {2, 0})}, true)},
        {"lengths, causal", attention(causal, {kNone, kNone, kNone, integers({2}, {3, 2})})},
        {"lengths, past", attention(causal, {kNone, past[1], past[2], integers({2}, {5, 4})})},
        {"window", windowed(1, 0, {})},
        {"window, causal", windowed(1, -1, causal)},
        {"window, past", windowed(1, 1, {}, past)},
        {"window and short choice", windowed(-1, 1, {}, {keep})},
        {"lengths and mask", attention({}, {keep, kNone, kNone, integers({2}, {1, 3})})},
    };
}

std::vector<std::pair<const char*, Single>> wholeSingles()
{
    const Tensor keep = flags({3, 3}, {1, 0, 0, 1, 1, 0, 0, 0, 0}); // the last query sees nothing
    return {
        {"attention", attention({})},
        {"flat", attention({}, {}, true)},
        {"causal", attention({{"is_causal", std::int64_t{1}}, {"scale", 0.4}}, {}, true)},
        {"softcap", attention({{"softcap", 1.5}, {"qk_matmul_output_mode", std::int64_t{1}}})},
        {"mask", attention({{"qk_matmul_output_mode", std::int64_t{2}}}, {randomTensor({1, 1, 3, 3}, 5)})},
        {"choice", attention({{"qk_matmul_output_mode", std::int64_t{3}}}, {keep})},
        {"past", attention({{"is_causal", std::int64_t{1}}, {"qk_matmul_output_mode", std::int64_t{3}}},
                           {kNone, randomTensor({2, 2, 2, 2}, 6), randomTensor({2, 2, 2, 3}, 7)})},
    };
}

std::vector<std::pair<const char*, Single>> singles()
{
    auto all = wholeSingles();
    for (const auto& more : {attentionCases(), tests::recurrentCases()}) {
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

} // namespace

class DecomposedRuleTest : public QObject
{
    Q_OBJECT

private slots:
    void bodiesComputeTheSame_data()
    {
        QTest::addColumn<int>("which");
        const auto all = singles();
        for (std::size_t i = 0; i < all.size(); ++i) {
            QTest::newRow(all[i].first) << static_cast<int>(i);
        }
    }
    void bodiesComputeTheSame()
    {
        QFETCH(int, which);
        const Built one = built(singles()[static_cast<std::size_t>(which)].second);
        QVERIFY(one.graph != nullptr);
        const Bound model = boundTo(one.graph, one.inputs);
        const graph::Node& node = one.graph->node(graph::NodeId(std::size_t{0}));
        std::vector<rewrite::BodyOperand> operands;
        for (const graph::ValueId input : node.inputs) {
            operands.push_back(input.isValid()
                                   ? rewrite::BodyOperand{model->typeOf(input), model->constant(input), true, false}
                                   : rewrite::BodyOperand{{}, {}, false, false});
        }
        RETRO_MADE(body, rewrite::functionBody(node, operands));
        const std::vector<Tensor> wide = inDouble(one.inputs);
        const auto whole = execute::forward(model, wide, execute::SavePolicy::All);
        std::vector<Tensor> given;
        std::size_t absent = 0;
        for (const std::size_t slot : body->operands) {
            absent = static_cast<std::size_t>(
                std::count_if(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(slot),
                              [](const rewrite::BodyOperand& o) { return !o.isGiven || o.constant.isValid(); }));
            given.push_back(wide[slot - absent]);
        }
        const auto parts = execute::forward(boundTo(body->graph, given), given, execute::SavePolicy::All);
        QVERIFY(whole.ok() && parts.ok());
        for (std::size_t i = 0; i < body->results.size(); ++i) {
            const std::size_t k = body->results[i];
            if (k < whole->outputs.size() &&
                singles()[static_cast<std::size_t>(which)].first != std::string("choice")) {
                QVERIFY2(deviation(parts->outputs[i], whole->outputs[k]) < 1e-12,
                         QByteArray::number(static_cast<int>(k)).constData());
            } else if (k == 0) {
                QVERIFY(deviation(parts->outputs[i], whole->outputs[k]) < 1e-12);
            }
        }
    }

    void relevancePassesThem_data() { bodiesComputeTheSame_data(); }
    void relevancePassesThem()
    {
        QFETCH(int, which);
        Single single = singles()[static_cast<std::size_t>(which)].second;
        single.outputs = 1;
        const Built one = built(single);
        const Bound model = boundTo(one.graph, one.inputs);
        for (const char* composite : {"attnlrp", "cp_lrp", "epsilon", "dynamic"}) {
            const Pass little = passThrough(model, one.inputs, composite, {}, execute::SavePolicy::Autograd);
            const Pass all = passThrough(model, one.inputs, composite, {}, execute::SavePolicy::All);
            std::vector<event::LedgerEntry> ledger;
            const RelevanceTable table = byOracle(all, &ledger);
            for (const event::LedgerEntry& row : ledger) {
                QVERIFY2(std::abs(row.unexplained()) <= 1e-9 * row.magnitude, composite);
            }
            const Tensor first = table[inputNode(*model, 0).index()][0];
            QVERIFY(first.isValid() && ops::algebra::allFinite(first));
            QVERIFY(first.bitEqual(byPromises(little, inputNode(*model, 0))));
            QVERIFY(first.bitEqual(byPromises(all, inputNode(*model, 0))));
        }
    }

    void fusedChainsAreAsTheUnfused()
    {
        W w;
        const ValueId mask = w.writer.constant("mask", randomTensor({1, 1, 3, 3}, 3));
        const ValueId keys = w.transposed(w.heads("kt", {1, 3, 2, 4}), {0, 2, 3, 1});
        const ValueId scores = w.node("Add", {w.scaled(w.product(w.q, keys)), mask});
        const SharedGraph before = w.finish(w.node("Tanh", {w.attended(scores, w.v)}));
        const auto fused = rewrite::rewrite(before, only(&rewrite::RewriteOptions::fuseAttention));
        QVERIFY(fused.ok() && fused->fused.size() == 1);
        for (const char* composite : {"attnlrp", "cp_lrp", "epsilon", "dynamic:softmax=attn", "gradient"}) {
            const Bound whole = boundTo(fused->graph, w.inputs);
            QCOMPARE(lrp::builtinComposite("auto", *whole)->name, std::string("attnlrp"));
            const Bound parts = boundTo(before, w.inputs);
            const auto policy = execute::SavePolicy::All;
            const RelevanceTable a = byOracle(passThrough(whole, w.inputs, composite, fused->fused, policy));
            const RelevanceTable b = byOracle(passThrough(parts, w.inputs, composite, {}, policy));
            for (const char* name : {"q", "v", "kt"}) {
                const auto at = [&](const Bound& model, const RelevanceTable& table) {
                    return table[model->graph().nodeOf(*model->graph().findValue(name)).index()][0];
                };
                QVERIFY2(deviation(at(whole, a), at(parts, b)) < 1e-12, composite);
            }
        }
    }

    void einsumChainsWithAGuardAreAsTheUnfused()
    {
        W w;
        const ValueId q = w.heads("qt", {1, 3, 2, 4});
        const ValueId k = w.heads("kt", {1, 3, 2, 4});
        const ValueId v = w.heads("vt", {1, 3, 2, 4});
        const double far = -std::numeric_limits<double>::infinity();
        const std::vector<double> hidden{0, far, 0, 0, 0, 0, far, far, far}; // the last query sees nothing
        const ValueId scores = w.scaled(w.node("Einsum", {q, k}, {{"equation", std::string("bqhd,bkhd->bhqk")}}));
        const ValueId logits = w.node("Add", {scores, w.writer.constant("m", Tensor::of<double>({3, 3}, hidden))});
        const ValueId p = w.node("Softmax", {logits}, {{"axis", std::int64_t{-1}}});
        const ValueId kept = w.node("Where", {w.node("IsNaN", {p}), w.number(0), p});
        const ValueId y = w.node("Einsum", {kept, v}, {{"equation", std::string("bhqk,bkhd->bqhd")}});
        const SharedGraph before = w.finish(w.node("Tanh", {y}));
        const auto fused = rewrite::rewrite(before, only(&rewrite::RewriteOptions::fuseAttention));
        QVERIFY(fused.ok() && fused->fused.size() == 1);
        for (const char* composite : {"attnlrp", "cp_lrp", "epsilon"}) {
            const Bound whole = boundTo(fused->graph, w.inputs);
            const Bound parts = boundTo(before, w.inputs);
            const Pass pass = passThrough(whole, w.inputs, composite, fused->fused, execute::SavePolicy::All);
            const Pass little = passThrough(whole, w.inputs, composite, fused->fused, execute::SavePolicy::Autograd);
            std::vector<event::LedgerEntry> ledger;
            const RelevanceTable a = byOracle(pass, &ledger);
            const RelevanceTable b = byOracle(passThrough(parts, w.inputs, composite, {}, execute::SavePolicy::All));
            for (const event::LedgerEntry& row : ledger) {
                QVERIFY2(std::abs(row.unexplained()) <= 1e-9 * row.magnitude, composite);
            }
            for (std::size_t i = 3; i < 6; ++i) {
                const Tensor& inside = a[inputNode(*whole, i).index()][0];
                QVERIFY2(ops::algebra::allFinite(inside), composite);
                QVERIFY2(deviation(inside, b[inputNode(*parts, i).index()][0]) < 1e-12, composite);
                QVERIFY(inside.bitEqual(byPromises(little, inputNode(*whole, i))));
            }
        }
    }

    void whatCannotBeTakenApartIsRefused()
    {
        const Single lstm{"LSTM",
                          "",
                          14,
                          {randomTensor({2, 1, 3}, 1), randomTensor({1, 8, 3}, 2), randomTensor({1, 8, 2}, 3)},
                          {{"hidden_size", std::int64_t{2}}}};
        const Built one = built(lstm);
        const Bound model = boundTo(one.graph, one.inputs);
        const auto rules = lrp::assignRules(*lrp::builtinComposite("epsilon", *model), *model);
        QVERIFY(!rules.ok());
        const QString text = QString::fromStdString(rules.error().text());
        RETRO_SAYS(text, "LSTM whose operand 1 is computed cannot be taken apart; make its weights constants; "
                         "add an entry before it");
        QVERIFY(text.contains("node \"node\" (LSTM, composed)"));
    }

    void operandsWithoutRelevanceHaveNoneInside()
    {
        W w;
        const SharedGraph plain = w.finish(w.attended(w.product(w.q, w.swapped(w.k)), w.v));
        RETRO_MADE(detached, rewrite::withDetached(*plain, {false, true, true}));
        const auto graph = std::make_shared<const Graph>(std::move(detached).value());
        const Bound model = boundTo(graph, w.inputs);
        QVERIFY(model->isTracked(*graph->findValue("q")));
        QVERIFY(!model->isTracked(*graph->findValue("k")));
        QVERIFY(deviation(graph, plain, w.inputs, Precision::Double) == 0);
    }

private:
    using W = AttentionWriter;
};

QTEST_GUILESS_MAIN(DecomposedRuleTest)
#include "decomposedruletest.moc"
