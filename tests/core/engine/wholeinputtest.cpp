// SPDX-License-Identifier: Apache-2.0
// Pictures and observations that enter as whole numbers: explained as floats, in the shape of the input.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/input/inputs.h"
#include "tests/core/engine/relevancenetworks.h"

using namespace retro;
using namespace retro::engine::testing;
using tensor::DType;

namespace
{

graph::ValueId node(graph::GraphBuilder& builder, const std::string& op, const std::string& name,
                    std::vector<graph::ValueId> inputs, graph::Attributes attributes = {})
{
    const auto result = builder.addResult(name);
    builder.addNode({op, "", name + "_node", "", 17, std::move(inputs), {result}, std::move(attributes)});
    return result;
}

/// image (1 × 4 × 4 × 3) → channels first → Cast → / 255 → convolution → classes.
SharedGraph classifier(DType type, bool isCast = true)
{
    graph::GraphBuilder builder({}, 17);
    const auto image = builder.addInput("image", type, tensor::Shape{1, 4, 4, 3});
    auto x = node(builder, "Transpose", "turned", {image}, {{"perm", Ints{0, 3, 1, 2}}});
    x = isCast ? node(builder, "Cast", "floats", {x}, {{"to", std::int64_t{1}}}) : x;
    x = node(builder, "Div", "scaled", {x, builder.addConstant("most", Tensor::full(DType::Float32, {}, 255))});
    x = node(builder, "Conv", "conv", {x, builder.addConstant("kernel", randomTensor({4, 3, 3, 3}, 1))});
    x = node(builder, "Relu", "relu", {x});
    x = node(builder, "Flatten", "flat", {x}, {{"axis", std::int64_t{1}}});
    builder.addOutput(node(builder, "MatMul", "scores", {x, builder.addConstant("weight", randomTensor({16, 3}, 2))}));
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

Tensor pixels(DType type)
{
    Ints numbers;
    for (std::int64_t i = 0; i < 48; ++i) {
        numbers.push_back(i * 37 % (type == DType::Int8 ? 100 : 256) - (type == DType::Int8 ? 50 : 0));
    }
    return Tensor::of<std::int64_t>({1, 4, 4, 3}, numbers).to(type);
}

base::Result<engine::ExplainResult> explained(const SharedGraph& graph, const std::vector<Tensor>& inputs)
{
    const engine::LoadedModelPointer model = modelOf(graph);
    engine::ExplainRequest request;
    request.precision = execute::Precision::Double;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        request.inputs.push_back(inputs[i].to(model->graph()->value(model->graph()->inputs()[i]).dtype));
    }
    return engine::explain(*model, request);
}

} // namespace

class WholeInputTest : public QObject
{
    Q_OBJECT
private slots:
    void picturesAreExplainedAsFloats()
    {
        for (const DType type : {DType::UInt8, DType::Int8, DType::Int32, DType::Int64}) {
            RETRO_MADE(found, explained(classifier(type), {pixels(type)}));
            RETRO_MADE(expected, explained(classifier(DType::Float32, false), {pixels(type).to(DType::Float32)}));
            const auto of = [](const engine::ExplainResult& result) {
                return result.relevance[result.model->graph().inputs().front().index()];
            };
            QCOMPARE(of(*found).shape(), (tensor::Shape{1, 4, 4, 3}));
            QVERIFY(rewrite::testing::deviation(of(*found), of(*expected)) == 0);
            QVERIFY(rewrite::testing::deviation(found->outputs[0], expected->outputs[0]) == 0);
        }
    }

    void theInputKnowsWhatItWas()
    {
        const engine::LoadedModelPointer model = modelOf(classifier(DType::UInt8));
        const graph::Value& input = model->graph()->value(model->graph()->inputs()[0]);
        QVERIFY(input.dtype == DType::Float32 && input.given == DType::UInt8);
        RETRO_MADE(drawn, engine::resolveInputs({"random:1"}, *model->graph(), {}, {}));
        double most = 0;
        for (std::int64_t i = 0; i < (*drawn)[0].size(); ++i) {
            const double number = (*drawn)[0].at(i);
            QVERIFY(number == std::floor(number));
            most = std::max(most, number);
        }
        QVERIFY(most > 100);

        const auto decode = [](const std::filesystem::path&, bool) {
            return base::Result<engine::PixelArray>(engine::PixelArray{4, 4, std::vector<std::uint8_t>(48, 200)});
        };
        engine::PictureOptions options;
        options.layout = "NHWC";
        RETRO_MADE(picture, engine::resolveInputs({"a.png"}, *model->graph(), options, decode));
        QCOMPARE((*picture)[0].at(0), 200.0);
    }

    void masksBesideTokensStay()
    {
        graph::GraphBuilder builder({}, 17);
        const auto ids = builder.addInput("input_ids", DType::Int64, tensor::Shape{1, 3});
        const auto counts = builder.addInput("attention_mask", DType::Int64, tensor::Shape{1, 3});
        const auto rows = node(builder, "Gather", "rows", {builder.addConstant("table", randomTensor({9, 4}, 1)), ids});
        const auto plain = node(builder, "Cast", "plain", {counts}, {{"to", std::int64_t{1}}});
        const auto column = node(builder, "Unsqueeze", "column",
                                 {plain, builder.addConstant("axis", Tensor::of<std::int64_t>({1}, Ints{2}))});
        builder.addOutput(node(builder, "Mul", "scores", {rows, column}));
        const SharedGraph graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
        const engine::LoadedModelPointer model = modelOf(graph);
        for (const graph::ValueId input : model->graph()->inputs()) {
            QVERIFY(model->graph()->value(input).dtype == DType::Int64);
        }
    }
};

QTEST_GUILESS_MAIN(WholeInputTest)
#include "wholeinputtest.moc"
