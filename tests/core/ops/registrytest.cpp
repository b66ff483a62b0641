// SPDX-License-Identifier: Apache-2.0
// The table of operators: order, lookup, and what a graph needs beyond it.
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <map>
#include <set>

using namespace retro::tests;
namespace ops = retro::ops;

class RegistryTest : public QObject
{
    Q_OBJECT
private slots:
    void declarationsAreSortedAndComplete()
    {
        const auto all = ops::declarations();
        QVERIFY(all.size() > 40);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto& d = all[i];
            QVERIFY(d.bind != nullptr && !d.structure.empty() && !d.op.empty());
            QVERIFY(d.untilOpset == 0 || d.untilOpset >= d.sinceOpset);
            if (i > 0) {
                const auto& before = all[i - 1];
                const auto key = [](const ops::OperatorDeclaration& x) {
                    return std::tuple(x.domain, x.op, x.sinceOpset);
                };
                QVERIFY2(key(before) < key(d), std::string(d.op).c_str());
            }
        }
    }

    void structuresAreNamed()
    {
        std::set<std::string_view> known;
        for (std::size_t kind = 0; kind <= static_cast<std::size_t>(ops::StructureKind::NoRelevance); ++kind) {
            known.insert(ops::nameOf(static_cast<ops::StructureKind>(kind)));
        }
        QCOMPARE(known.size(), 17U);
        known.insert("control flow"); // replaced by plain nodes before anything is bound
        for (const auto& d : ops::declarations()) {
            std::string_view rest = d.structure;
            while (!rest.empty()) {
                const std::size_t comma = rest.find(", ");
                QVERIFY2(known.contains(rest.substr(0, comma)), std::string(d.structure).c_str());
                rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 2);
            }
        }
    }

    void elementsFollowFromTheOperator()
    {
        using enum ops::Elements;
        const std::map<std::pair<std::string, std::string>, ops::Elements> said{
            {{"", "Reshape"}, Reshaped},       {{"", "Relu"}, Function}, {{"", "Sub"}, Subtracted},
            {{"", "Mul"}, Multiplied},         {{"", "Conv"}, Mixed},    {{"", "Where"}, Chosen},
            {{"", "Cast"}, Converted},         {{"", "Pow"}, Combined},  {{"", "Nothing"}, Mixed},
            {{"retrograde", "Gate"}, Combined}};
        for (const auto& [op, elements] : said) {
            QVERIFY2(ops::elementsOf(op.first, op.second) == elements, op.second.c_str());
        }
    }

    void lookup()
    {
        QVERIFY(ops::find("", "Conv", 11) != nullptr);
        QVERIFY(ops::find("ai.onnx", "Conv", 11) == ops::find("", "Conv", 11));
        QVERIFY(ops::find("", "Conv", ops::kNewestOpset) != nullptr);
        QVERIFY(ops::find("", "Conv", ops::kNewestOpset + 1) == nullptr);
        QVERIFY(ops::find("", "Conv", 0) == nullptr);
        QVERIFY(ops::find("", "And", 6) == nullptr);
        QVERIFY(ops::find("ai.retrograde", "Stack", 1) != nullptr);
        QVERIFY(ops::find("ai.retrograde", "Stack", 2) == nullptr);
        QVERIFY(ops::find("", "Stack", 1) == nullptr);
        QVERIFY(ops::find("ai.retrograde", "LUT", 1) != nullptr);
        QVERIFY(ops::find("", "", 1) == nullptr);
    }

    void unsupportedNodes()
    {
        retro::graph::GraphBuilder builder("g");
        const auto x = builder.addInput("x", DType::Float32, Shape{1});
        const auto y = builder.addResult("y");
        const auto z = builder.addResult("z");
        builder.addNode({"Relu", "", "fine", "", 13, {x}, {y}, {}});
        builder.addNode({"Sorcery", "", "odd", "", 13, {y}, {z}, {}});
        builder.addOutput(z);
        const auto graph = std::move(builder).build().value();
        const auto found = ops::unsupported(graph);
        QCOMPARE(found.size(), 1U);
        QCOMPARE(graph.node(found[0].node).name, std::string("odd"));
        QVERIFY(found[0].reason.find("Sorcery") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(RegistryTest)
#include "registrytest.moc"
