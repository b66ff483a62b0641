// SPDX-License-Identifier: Apache-2.0
// Rewrites of a model: switched off by its card, switched without reading the file again.
#include "core/engine/model/loadmodel.h"
#include "core/engine/explain/explain.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "tests/core/formats/onnxsamples.h"

#include <QtTest>

using namespace retro;

namespace
{

/// y = x · w + b as MatMul and Add.
std::vector<std::byte> layerFile()
{
    graph::GraphBuilder builder("layer", 17);
    const auto x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
    const auto w = builder.addConstant("w", tensor::Tensor::of<float>({2, 2}, std::array<float, 4>{1, 2, 3, 4}));
    const auto b = builder.addConstant("b", tensor::Tensor::of<float>({2}, std::array<float, 2>{5, 6}));
    const auto product = builder.addOp("MatMul", "fc", {x, w}, "product");
    const auto y = builder.addOp("Add", "bias", {product, b}, "y");
    builder.addOutput(y);
    const auto graph = std::move(builder).build();
    const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
    return bytes.ok() ? *bytes : std::vector<std::byte>();
}

/// y = x · (stored · 0.5); float32 weights are not stored otherwise. Or y = x · Cast(stored + stored), which nothing
/// computes in few bits.
std::vector<std::byte> storedFile(tensor::DType type, bool isAdded = false)
{
    graph::GraphBuilder builder("stored", 23);
    const auto node = [&](const char* op, std::vector<base::ValueId> inputs, graph::Attributes attributes = {}) {
        return builder.addOp(op, op, std::move(inputs), std::string(op) + "_out", std::move(attributes));
    };
    const auto x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
    const auto stored = tensor::Tensor::of<float>({2, 2}, std::array<float, 4>{1, -2, 3, 4});
    auto w = builder.addConstant("w", stored.to(type));
    if (isAdded) {
        w = node("Cast", {node("Add", {w, w})}, {{"to", std::int64_t{1}}});
    } else {
        const auto scale = builder.addConstant("scale", tensor::Tensor::scalar(0.5F));
        w = node(type == tensor::DType::Float32 ? "Mul" : "DequantizeLinear", {w, scale});
    }
    builder.addOutput(node("MatMul", {x, w}));
    const auto graph = std::move(builder).build();
    const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
    return bytes.ok() ? *bytes : std::vector<std::byte>();
}

base::Result<engine::ExplainResult> explained(const engine::LoadedModel& model)
{
    engine::ExplainRequest request;
    request.inputs = {tensor::Tensor::of<float>({1, 2}, std::array<float, 2>{0.3F, -0.7F})};
    request.composite = "epsilon";
    return engine::explain(model, request);
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
    void weightsOfFewBitsAreWidened()
    {
        const auto plain = engine::parseModel(storedFile(tensor::DType::Float32), "float32.onnx", {});
        RETRO_MADE(wanted, explained(**plain));
        for (const tensor::DType type :
             {tensor::DType::Int4, tensor::DType::Float4E2M1, tensor::DType::Float8E4M3FN, tensor::DType::Float8E5M2}) {
            for (const char* card : {"", R"({"format": "retrograde-card/1", "no_rewrite": ["fold-constants"]})"}) {
                RETRO_MADE(model, engine::parseModel(storedFile(type), "stored.onnx", card));
                QCOMPARE((*model)->rewritten.before->value(*(*model)->rewritten.before->findValue("w")).dtype, type);
                RETRO_MADE(found, explained(**model));
                QVERIFY(found->outputs[0].bitEqual(wanted->outputs[0]));
                const auto x = found->model->graph().findValue("x")->index();
                const bool isFolded = std::string_view(card).empty(); // else the product has no constant operand
                QVERIFY(!isFolded || found->relevance[x].bitEqual(wanted->relevance[x]));
            }
        }
    }

    void whatDoesNotRunOpensAllTheSame()
    {
        RETRO_MADE(model, engine::parseModel(storedFile(tensor::DType::Int4, true), "added.onnx", {}));
        QCOMPARE((*model)->rewritten.before->nodeCount(), std::size_t{3});
        const auto refused = explained(**model);
        QVERIFY(!refused.ok());
        for (const char* word : {"node 'Add'", "int4", "DequantizeLinear"}) {
            QVERIFY2(refused.error().text().find(word) != std::string::npos, refused.error().text().c_str());
        }
    }

    void theCardSwitchesRewritesOff()
    {
        QCOMPARE((*loadWith({}))->graph()->nodeCount(), std::size_t{1});
        RETRO_MADE(model, loadWith(R"({"format": "retrograde-card/1", "no_rewrite": ["fuse-linear"]})"));
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

    /// Two calls of a function, and a node of its own; the step stays when rewrites are switched.
    void functionsOfTheFileAreAStepInFront()
    {
        onnxschema::ModelProto file = formats::samples::smallModel();
        file.mutable_graph()->clear_node();
        onnxschema::FunctionProto& twice = *file.add_functions();
        twice.set_domain("local");
        twice.set_name("Bend");
        twice.add_input("in");
        twice.add_output("out");
        twice.add_opset_import()->set_version(17);
        for (const auto& [op, from, to] : {std::array{"Tanh", "in", "middle"}, std::array{"Exp", "middle", "out"}}) {
            onnxschema::NodeProto& node = *twice.add_node();
            node.set_op_type(op);
            node.add_input(std::string(from));
            node.add_output(std::string(to));
        }
        formats::samples::addNode(file, "Bend", "first", {"x"}, {"m"}).set_domain("local");
        formats::samples::addNode(file, "Identity", "between", {"m"}, {"n"});
        formats::samples::addNode(file, "Bend", "second", {"n"}, {"y"}).set_domain("local");
        RETRO_MADE(model, engine::parseModel(formats::samples::bytesOf(file), "m.onnx", {}, {}));
        RETRO_MADE(again, engine::withRewrites(*model, rewrite::noRewrites()));
        for (const engine::LoadedModelPointer& one : {*model, *again}) {
            const rewrite::RewriteStep& step = one->rewritten.steps.at(0);
            QCOMPARE(step.name, std::string_view("inline-functions"));
            QCOMPARE(step.removed, (std::vector<std::string>{"first", "second"}));
            QCOMPARE(step.added.size(), 4U);
            for (const std::string& name : step.added) {
                QVERIFY2(one->rewritten.before->findNode(name), name.c_str());
            }
            QVERIFY2(step.text.starts_with("local::Bend, called 2 times"), step.text.c_str());
        }
        QCOMPARE((*model)->rewritten.steps.size(), 3U); // the Identity went, and what nobody reads
        QCOMPARE((*again)->rewritten.steps.size(), 1U);
    }

    void rewritesAreSwitchedThereAndBack()
    {
        RETRO_MADE(model, loadWith({}));
        const auto same = engine::withRewrites(*model, {});
        QCOMPARE(*same, *model);
        RETRO_MADE(off, engine::withRewrites(*model, rewrite::noRewrites()));
        QCOMPARE((*off)->graph()->nodeCount(), std::size_t{2});
        QCOMPARE((*off)->rewritten.before, (*model)->rewritten.before);
        QCOMPARE((*off)->rewritten.steps.size(), std::size_t{0});
        QVERIFY(!(*off)->rewritten.options.keepDigits); // as the model was loaded
        RETRO_MADE(back, engine::withRewrites(*off, {}));
        QCOMPARE(graph::structuralHash(*(*back)->graph()), graph::structuralHash(*(*model)->graph()));
        QCOMPARE((*back)->rewritten.steps.front().name, std::string_view("fuse-linear"));
    }
};

QTEST_APPLESS_MAIN(LoadModelTest)
#include "loadmodeltest.moc"
