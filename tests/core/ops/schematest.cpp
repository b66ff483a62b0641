// SPDX-License-Identifier: Apache-2.0
// Operands, outputs and attributes of nodes against the schemas of their operators.
#include "core/ops/schema/schema.h"

#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <algorithm>
#include <set>

using namespace retro::tests;
namespace graph = retro::graph;
namespace ops = retro::ops;

namespace
{

using Ints = std::vector<std::int64_t>;

/// A node with operands 0 … (an empty letter is left out) and attributes.
graph::Node nodeOf(const char* op, std::int64_t opset, const std::string& operands, graph::Attributes attributes = {},
                   std::size_t outputs = 1)
{
    graph::Node node;
    node.op = op;
    node.opset = opset;
    node.name = std::string("n");
    for (std::size_t i = 0; i < operands.size(); ++i) {
        node.inputs.push_back(operands[i] == '-' ? graph::ValueId() : graph::ValueId(i));
    }
    for (std::size_t k = 0; k < outputs; ++k) {
        node.outputs.push_back(graph::ValueId(operands.size() + k));
    }
    node.attributes = std::move(attributes);
    return node;
}

std::string faultOf(const graph::Node& node) { return ops::schemaFault(node).value_or("fits"); }

graph::Subgraph emptyGraph(std::size_t captured) { return {std::make_shared<const graph::Graph>(), captured}; }

std::vector<std::string> words(std::string_view text)
{
    std::vector<std::string> found;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        found.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return found;
}

} // namespace

class SchemaTest : public QObject
{
    Q_OBJECT
private slots:
    void everyOperatorHasOneAtEveryOpset()
    {
        for (const ops::OperatorDeclaration& d : ops::declarations()) {
            const ops::OperatorSchema* schema = ops::schemaOf(d.domain, d.op, d.sinceOpset);
            QVERIFY2(
                schema != nullptr,
                fmt::format("{}.{} at opset {} has no line in core/ops/schema", d.domain, d.op, d.sinceOpset).c_str());
        }
    }

    void linesAreWellFormed()
    {
        static const std::set<std::string> kKinds{"int",    "float", "text",  "tensor", "ints",
                                                  "floats", "texts", "graph", "flag"};
        const auto all = ops::schemas();
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::string place = fmt::format("{}.{} {}", all[i].domain, all[i].op, all[i].sinceOpset);
            const auto key = [&](std::size_t at) { return std::tuple(all[at].domain, all[at].op, all[at].sinceOpset); };
            QVERIFY2(i == 0 || key(i - 1) < key(i), place.c_str());
            QVERIFY2(!words(all[i].outputs).empty(), place.c_str());
            std::set<std::string> names;
            for (const std::string& word : words(all[i].attributes == "*" ? "" : all[i].attributes)) {
                const std::size_t colon = word.find(':');
                QVERIFY2(colon != std::string::npos && colon > 0, (place + ": " + word).c_str());
                QVERIFY2(names.insert(word.substr(0, colon)).second, (place + ": " + word).c_str());
                std::string kind = word.substr(colon + 1);
                kind.erase(std::remove(kind.begin(), kind.end(), '!'), kind.end());
                QVERIFY2(kKinds.contains(kind) || kind == "tensors" || kind == "type", (place + ": " + word).c_str());
            }
        }
    }

    void operands()
    {
        QCOMPARE(faultOf(nodeOf("Conv", 11, "abc")), std::string("fits"));
        QCOMPARE(faultOf(nodeOf("Conv", 11, "ab")), std::string("fits"));
        QCOMPARE(faultOf(nodeOf("Conv", 11, "ab---")), std::string("fits"));
        QCOMPARE(faultOf(nodeOf("Conv", 11, "a")), std::string("operand 1 is missing (W of Conv)"));
        QCOMPARE(faultOf(nodeOf("Conv", 11, "-b")), std::string("operand 0 is missing (X of Conv)"));
        QCOMPARE(faultOf(nodeOf("Conv", 11, "abcd")),
                 std::string("operand 3 is one too many; Conv takes at most 3 at this opset"));
        QCOMPARE(faultOf(nodeOf("Conv", 11, "ab", {}, 2)),
                 std::string("2 outputs, but Conv has at most 1 at this opset"));
        QCOMPARE(faultOf(nodeOf("Sum", 13, "abcdef")), std::string("fits"));
        QCOMPARE(faultOf(nodeOf("Sum", 13, "a-c")), std::string("operand 1 is missing (data_0 of Sum)"));
        QCOMPARE(faultOf(nodeOf("Sum", 13, "")), std::string("operand 0 is missing (data_0 of Sum)"));
        // Since opset 13 the axes are an operand.
        QCOMPARE(faultOf(nodeOf("ReduceSum", 11, "a", {{"axes", Ints{0}}})), std::string("fits"));
        QVERIFY(faultOf(nodeOf("ReduceSum", 13, "a", {{"axes", Ints{0}}})).starts_with("attribute 'axes' is none of"));
        QVERIFY(faultOf(nodeOf("ReduceSum", 11, "ab")).starts_with("operand 1 is one too many"));
        QCOMPARE(faultOf(nodeOf("Sorcery", 11, "")), std::string("fits")); // has no schema
    }

    void attributes()
    {
        QCOMPARE(faultOf(nodeOf("Conv", 11, "ab", {{"dilation", Ints{2, 2}}})),
                 std::string("attribute 'dilation' is none of Conv at this opset (it has auto_pad, dilations, group, "
                             "kernel_shape, pads, strides); did you mean 'dilations'?"));
        QCOMPARE(faultOf(nodeOf("Relu", 14, "a", {{"bogus", std::int64_t{1}}})),
                 std::string("attribute 'bogus' is none of Relu at this opset (it has none)"));
        QCOMPARE(faultOf(nodeOf("Conv", 11, "ab", {{"__note", std::int64_t{1}}})), std::string("fits"));
        QCOMPARE(faultOf(nodeOf("Conv", 11, "ab", {{"group", 1.0}})),
                 std::string("attribute 'group' is a float, but must be an integer"));
        QCOMPARE(faultOf(nodeOf("LeakyRelu", 16, "a", {{"alpha", std::int64_t{1}}})),
                 std::string("attribute 'alpha' is an integer, but must be a float"));
        QCOMPARE(faultOf(nodeOf("MaxPool", 12, "a")),
                 std::string("attribute 'kernel_shape' is missing; MaxPool needs it"));
    }

    /// Values that inner graphs read from around them are operands behind the node's own.
    void controlFlow()
    {
        const graph::Attributes branches{{"then_branch", emptyGraph(2)}, {"else_branch", emptyGraph(2)}};
        QCOMPARE(faultOf(nodeOf("If", 13, "abc", branches)), std::string("fits"));
        QCOMPARE(faultOf(nodeOf("If", 13, "ab", branches)), std::string("operand 0 is missing (cond of If)"));
        QCOMPARE(faultOf(nodeOf("If", 13, "", branches)), std::string("operand 0 is missing (cond of If)"));
        QVERIFY(faultOf(nodeOf("If", 13, "abcd", branches)).starts_with("operand 1 is one too many"));
        QCOMPARE(faultOf(nodeOf("If", 13, "a", {{"then_branch", emptyGraph(0)}})),
                 std::string("attribute 'else_branch' is missing; If needs it"));
        QCOMPARE(faultOf(nodeOf("Loop", 13, "--", {{"body", emptyGraph(0)}})), std::string("fits"));
    }

    void bindingAndListingRefuse()
    {
        OpCase misspelt("LeakyRelu", 16);
        misspelt.operand(Tensor::zeros(DType::Float32, {2})).with("alhpa", 0.5);
        QVERIFY2(misspelt.refusal().find("did you mean 'alpha'?") != std::string::npos, misspelt.error().c_str());

        const auto unsupported = ops::unsupported(*misspelt.makeGraph());
        QCOMPARE(unsupported.size(), std::size_t{1});
        QVERIFY(unsupported[0].reason.starts_with("attribute 'alhpa' is none of LeakyRelu"));

        const auto whole = ops::expectSchemas(*misspelt.makeGraph());
        QVERIFY(!whole.ok());
        QVERIFY2(whole.error().where == "node 'n' (LeakyRelu, opset 16)", whole.error().where.c_str());
    }
};

QTEST_GUILESS_MAIN(SchemaTest)
#include "schematest.moc"
