// SPDX-License-Identifier: Apache-2.0
// Rewrites of a model: switched off by its card, switched without reading the file again.
#include "core/engine/loadmodel.h"
#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace retro;

namespace
{

/// y = x · w + b as MatMul and Add.
std::vector<std::byte> layerFile()
{
    graph::GraphBuilder builder("layer");
    builder.setOpset("", 17);
    const auto x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
    const auto w = builder.addConstant("w", tensor::Tensor::of<float>({2, 2}, std::array<float, 4>{1, 2, 3, 4}));
    const auto b = builder.addConstant("b", tensor::Tensor::of<float>({2}, std::array<float, 2>{5, 6}));
    const auto product = builder.addResult("product");
    const auto y = builder.addResult("y");
    builder.addNode({"MatMul", "", "fc", "", 17, {x, w}, {product}, {}});
    builder.addNode({"Add", "", "bias", "", 17, {product, b}, {y}, {}});
    builder.addOutput(y);
    const auto graph = std::move(builder).build();
    const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
    return bytes.ok() ? *bytes : std::vector<std::byte>();
}

base::Result<engine::LoadedModelPointer> loadWith(const std::string& card)
{
    return engine::parseModel(layerFile(), "layer.onnx", card);
}

} // namespace

class LoadModelTest : public QObject
{
    Q_OBJECT

private slots:
    void theCardSwitchesRewritesOff()
    {
        QCOMPARE((*loadWith({}))->graph()->nodeCount(), std::size_t{1});
        const auto model = loadWith(R"({"format": "retrograde-card/1", "no_rewrite": ["fuse-linear"]})");
        QVERIFY(model.ok());
        QCOMPARE((*model)->graph()->nodeCount(), std::size_t{2});
        QCOMPARE(rewrite::switchedOff((*model)->rewritten.options), std::vector<std::string>{"fuse-linear"});
    }

    void aRewriteThatNobodyKnowsIsAFaultOfTheCard()
    {
        const auto model = loadWith(R"({"format": "retrograde-card/1", "no_rewrite": ["fuse-all"]})");
        QVERIFY(!model.ok());
        QCOMPARE(int(model.error().code), int(base::ErrorCode::Input));
        for (const char* word : {"layer.onnx", "no_rewrite", "fuse-all", "fuse-linear"}) {
            QVERIFY2(model.error().text().find(word) != std::string::npos, model.error().text().c_str());
        }
    }

    void rewritesAreSwitchedThereAndBack()
    {
        const auto model = loadWith({});
        QVERIFY(model.ok());
        const auto same = engine::withRewrites(*model, {});
        QCOMPARE(*same, *model);
        const auto off = engine::withRewrites(*model, rewrite::noRewrites());
        QVERIFY(off.ok());
        QCOMPARE((*off)->graph()->nodeCount(), std::size_t{2});
        QCOMPARE((*off)->rewritten.before, (*model)->rewritten.before);
        QCOMPARE((*off)->rewritten.steps.size(), std::size_t{0});
        QVERIFY(!(*off)->rewritten.options.keepDigits); // as the model was loaded
        const auto back = engine::withRewrites(*off, {});
        QVERIFY(back.ok());
        QCOMPARE(graph::structuralHash(*(*back)->graph()), graph::structuralHash(*(*model)->graph()));
        QCOMPARE((*back)->rewritten.steps.front().name, std::string_view("fuse-linear"));
    }
};

QTEST_APPLESS_MAIN(LoadModelTest)
#include "loadmodeltest.moc"
