// SPDX-License-Identifier: Apache-2.0
// The transformer of the golden vectors with every rewrite on: layer normalisation, linear layers and attention are one
// node each, and what is left of the values has the relevance that the vectors have without them.
#include "core/base/file.h"
#include "core/execute/forward.h"
#include "core/formats/onnx.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/oracle.h"
#include "core/rewrite/rewrite.h"
#include "core/tensor/npy.h"

#include <nlohmann/json.hpp>

#include <QTest>

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace retro;
using nlohmann::json;
using tensor::Tensor;

namespace
{

const std::filesystem::path kFolder = std::filesystem::path(RETRO_SOURCE_DIR) / "tests/data/golden/lrp/encoder";
constexpr std::uint64_t kMostBytes = 1U << 20U;

json read(const std::filesystem::path& file)
{
    const auto text = base::readTextFile(file, kMostBytes);
    return text.ok() ? json::parse(*text, nullptr, false) : json();
}

/// max|a − b| / max|b|.
double deviation(const Tensor& a, const Tensor& b)
{
    double largest = a.isValid() && a.shape() == b.shape() ? 0 : INFINITY;
    double scale = 0;
    for (std::int64_t i = 0; i < b.size() && std::isfinite(largest); ++i) {
        largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
        scale = std::max(scale, std::abs(b.at(i)));
    }
    return largest / scale;
}

int countOf(const graph::Graph& graph, const std::string& op)
{
    return static_cast<int>(std::count_if(graph.nodes().begin(), graph.nodes().end(),
                                          [&](const graph::Node& node) { return node.op == op; }));
}

} // namespace

class GoldenFusedTest : public QObject
{
    Q_OBJECT

private slots:
    void relevanceIsThatOfTheUnfusedGraph_data()
    {
        QTest::addColumn<QString>("rule");
        QTest::addColumn<QString>("file");
        for (const char* rule : {"attnlrp", "cp_lrp"}) {
            for (const char* file : {"model.onnx", "model_opset17.onnx"}) {
                QTest::addRow("%s %s", rule, file) << rule << file;
            }
        }
    }

    void relevanceIsThatOfTheUnfusedGraph()
    {
        QFETCH(QString, rule);
        QFETCH(QString, file);
        const json meta = read(kFolder / rule.toStdString() / "meta.json");
        QVERIFY(meta.is_object());
        RETRO_MADE(plain, formats::readOnnx(kFolder / file.toStdString()));
        RETRO_MADE(rewritten, rewrite::rewrite(*plain, {}));
        QCOMPARE(countOf(*rewritten->graph, "Attention"), 1);
        QCOMPARE(countOf(*rewritten->graph, "LayerNormalization"), 3);
        QCOMPARE(countOf(*rewritten->graph, "Softmax"), 0);

        const std::vector<Tensor> inputs{tensor::readNpy(kFolder / "input.npy").value()};
        const std::vector<ops::TensorType> types{{inputs[0].dtype(), inputs[0].shape()}};
        RETRO_MADE(model, execute::BoundModel::bind(rewritten->graph, types, execute::Precision::Double));
        const auto composite = lrp::builtinComposite(rule.toStdString() + ":epsilon=0", **model);
        RETRO_MADE(rules, lrp::assignRules(*composite, **model, rewritten->fused));
        RETRO_MADE(forward, execute::forward(*model, inputs, execute::SavePolicy::All));
        const auto graph = lrp::TraversalGraph::build(**model, rewritten->graph->outputs()[0]);
        std::vector<double> start(3, 0);
        const auto target = meta.at("target").get<std::size_t>();
        start[target] = forward->outputs[0].at(static_cast<std::int64_t>(target));
        RETRO_MADE(table, lrp::oracle(forward->saved, *rules, *graph, Tensor::of<double>({1, 3}, start)));
        int compared = 0;
        for (const auto& [name, entry] : meta.at("tensors").items()) {
            const auto value = rewritten->graph->findValue(name);
            if (!value || !graph->contains(rewritten->graph->nodeOf(*value))) {
                continue; // inside a fused node
            }
            const auto stored =
                tensor::readNpy(kFolder / rule.toStdString() / entry.at("file").get<std::string>()).value();
            const Tensor got = (*table)[rewritten->graph->nodeOf(*value).index()][0];
            QVERIFY2(deviation(got, stored) < 1e-6, name.c_str());
            ++compared;
        }
        QVERIFY(compared >= 15);
    }
};

QTEST_GUILESS_MAIN(GoldenFusedTest)
#include "goldenfusedtest.moc"
