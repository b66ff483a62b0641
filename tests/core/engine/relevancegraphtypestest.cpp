// SPDX-License-Identifier: Apache-2.0
// Relevance as one graph of models that compute in float16, bfloat16 or several types: the forward pass keeps the types
// of the model, relevance is computed in the type of the engine's.
#include "core/formats/onnx.h"
#include "core/formats/onnxexport.h"
#include "tests/core/engine/relevancenetworks.h"

#include <QTest>

using namespace retro;
using namespace retro::engine::testing;
using tensor::DType;

namespace
{

/// A convolution with its normalisation and a dense layer, in one type; `first` of the input, cast where it is another.
SharedGraph network(DType type, DType first)
{
    graph::GraphBuilder builder("typed", 17);
    ValueId x = builder.addInput("x", first, tensor::Shape{2, 3, 8, 8});
    int count = 0;
    const auto weight = [&](const tensor::Shape& shape, double low = -1) {
        ++count;
        const Tensor drawn = randomTensor(shape, static_cast<unsigned>(count), low);
        return builder.addConstant(fmt::format("w{}", count), drawn.to(type));
    };
    const auto add = [&](const std::string& op, std::vector<ValueId> inputs, graph::Attributes attributes = {}) {
        const auto result = builder.addResult(fmt::format("{}{}_out", op, ++count));
        const std::int64_t opset = op == "Gelu" ? 20 : 17; // what an operator of many steps is written out with
        builder.addNode(
            {op, "", fmt::format("{}{}", op, count), "", opset, std::move(inputs), {result}, std::move(attributes)});
        return result;
    };
    const auto onnxType = [](DType of) {
        return std::int64_t{of == DType::Float16 ? 10 : of == DType::BFloat16 ? 16 : of == DType::Float64 ? 11 : 1};
    };
    if (first != type) {
        x = add("Cast", {x}, {{"to", onnxType(type)}});
    }
    const auto convolved = add("Conv", {x, weight({4, 3, 3, 3}), weight({4})}, {{"pads", Ints{1, 1, 1, 1}}});
    const auto normal = add("BatchNormalization", {convolved, weight({4}), weight({4}), weight({4}), weight({4}, 0.1)});
    const auto active = add("Relu", {normal});
    const auto pooled = add("MaxPool", {active}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    const auto flat = add("Flatten", {pooled});
    const auto dense = add("Add", {add("MatMul", {flat, weight({64, 5})}), weight({5})});
    const auto bent = add("Gelu", {dense}); // written in steps: newer than the operator set
    const auto last = add("Gemm", {bent, weight({5, 4}), weight({4})});
    builder.addOutput(first == type ? last : add("Cast", {last}, {{"to", onnxType(first)}}));
    auto built = std::move(builder).build();
    return built.ok() ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
}

/// How far the relevance of "x" by a written graph is from that of the engine, relative to its largest.
double fromEngine(const engine::LoadedModel& model, const engine::ExplainRequest& request, const SharedGraph& written)
{
    const auto explained = engine::explain(model, request).value();
    const std::vector<Tensor> inputs{request.inputs[0], Tensor::full(DType::Int64, {2}, -1)};
    const auto found = engine::runForward(*modelOf(written), inputs, request.precision).value();
    const auto at = std::ranges::find(found.names, "relevance/x") - found.names.begin();
    const auto value = explained.model->graph().findValue("x");
    return apart(found.outputs[static_cast<std::size_t>(at)], explained.relevance[value->index()]);
}

} // namespace

class RelevanceGraphTypesTest : public QObject
{
    Q_OBJECT

private slots:
    void forwardPassKeepsTheTypesOfTheModel_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("first");
        QTest::addColumn<int>("precision");
        const auto row = [](const char* name, DType type, DType first, execute::Precision precision) {
            QTest::newRow(name) << static_cast<int>(type) << static_cast<int>(first) << static_cast<int>(precision);
        };
        using execute::Precision;
        row("float16", DType::Float16, DType::Float16, Precision::Float);
        row("float16 inside float32", DType::Float16, DType::Float32, Precision::Float);
        row("bfloat16", DType::BFloat16, DType::BFloat16, Precision::Float);
        row("float32 inside float64", DType::Float32, DType::Float64, Precision::Declared);
        row("float16 in double", DType::Float16, DType::Float32, Precision::Double);
    }

    void forwardPassKeepsTheTypesOfTheModel()
    {
        QFETCH(int, type);
        QFETCH(int, first);
        QFETCH(int, precision);
        const auto own = static_cast<DType>(type);
        const auto ofInput = static_cast<DType>(first);
        const engine::LoadedModelPointer model = modelOf(network(own, ofInput));
        QVERIFY(model);
        for (const char* composite : {"epsilon", "epsilon_plus", "epsilon_alpha2_beta1", "epsilon_gamma_box"}) {
            engine::ExplainRequest request;
            request.composite = composite;
            request.precision = static_cast<execute::Precision>(precision);
            RETRO_MADE(made, engine::relevanceGraph(model, request, {}));
            request.inputs = {randomTensor({2, 3, 8, 8}, 9).to(ofInput)};
            const double difference = fromEngine(*model, request, made->graph);
            const bool isFloat = request.precision == execute::Precision::Float;
            QVERIFY2(difference <= (isFloat ? 1e-5 : 1e-9), fmt::format("{}: {}", composite, difference).c_str());
            const graph::Value& input = made->graph->value(made->graph->inputs().front());
            QCOMPARE(static_cast<int>(input.dtype), first);
            const bool isDouble = request.precision == execute::Precision::Double;
            const auto isOwn = [&](const graph::Value& one) { return one.dtype == own; };
            QCOMPARE(std::ranges::any_of(made->graph->values(), isOwn), !isDouble);
        }
    }

    /// A mean over a whole map is taken axis by axis in float32, where long sums lose digits. Other types keep
    /// the node.
    void meansOfMapsAreTakenAxisByAxis()
    {
        for (const DType type : {DType::Float32, DType::Float16}) {
            graph::GraphBuilder builder("mean", 17);
            const auto x = builder.addInput("x", type, tensor::Shape{2, 3, 33, 20});
            const auto mean = builder.addOp("GlobalAveragePool", "pool", {x}, "mean");
            const auto flat = builder.addOp("Flatten", "flatten", {mean}, "flat");
            builder.addOutput(flat);
            RETRO_MADE(built, std::move(builder).build());
            const auto model = modelOf(std::make_shared<const graph::Graph>(std::move(built).value()));
            engine::ExplainRequest request;
            request.composite = "epsilon";
            RETRO_MADE(made, engine::relevanceGraph(model, request, {}));
            const auto count = [&](std::string_view op) {
                return std::ranges::count_if(made->graph->nodes(), [&](const auto& node) { return node.op == op; });
            };
            const bool isSingle = type == DType::Float32;
            QCOMPARE(count("ReduceMean"), isSingle ? 2 : 0);
            QCOMPARE(count("GlobalAveragePool"), isSingle ? 0 : 1);
            request.inputs = {randomTensor({2, 3, 33, 20}, 5).to(type)};
            const double difference = fromEngine(*model, request, made->graph);
            QVERIFY2(difference <= 1e-5, fmt::format("{}", difference).c_str());
        }
    }

    /// Weights are stored once, in the type that the model has them in.
    void aFileIsNoLargerThanTheModel()
    {
        const SharedGraph graph = network(DType::Float16, DType::Float16);
        std::size_t weights = 0;
        for (const graph::Value& value : graph->values()) {
            weights += value.kind == graph::ValueKind::Constant ? value.constant.bytes() : 0;
        }
        engine::ExplainRequest request;
        request.composite = "epsilon_plus";
        RETRO_MADE(made, engine::relevanceGraph(modelOf(graph), request, {}));
        RETRO_MADE(written, formats::toOnnx(*made->graph));
        const std::size_t allowed = 2 * weights + 1024 * made->graph->nodeCount();
        QVERIFY2(written->size() <= allowed, fmt::format("{} bytes, {} allowed", written->size(), allowed).c_str());
    }
};

QTEST_APPLESS_MAIN(RelevanceGraphTypesTest)
#include "relevancegraphtypestest.moc"
