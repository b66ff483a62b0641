// SPDX-License-Identifier: Apache-2.0
// Pictures and observations that enter as whole numbers: explained as floats, in the shape of the input.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/input/fittedinput.h"
#include "core/engine/verify/rewritechecks.h"
#include "tests/core/engine/relevancenetworks.h"

#include <QImage>
#include <QTemporaryDir>

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

base::Result<engine::ExplainResult> explained(const SharedGraph& graph, const std::vector<Tensor>& inputs,
                                              const std::string& composite = "epsilon_plus")
{
    const engine::LoadedModelPointer model = modelOf(graph);
    engine::ExplainRequest request;
    request.precision = execute::Precision::Double;
    request.composite = composite;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto& input = model->graph()->value(model->graph()->inputs()[i]);
        request.inputs.push_back(engine::fittedInput(inputs[i], input).value());
    }
    return engine::explain(*model, request);
}

constexpr double kStep = 0.0625;

Tensor scalar(double value) { return Tensor::full(DType::Float32, {}, value); }
Tensor level(std::int64_t value, DType type) { return Tensor::scalar<std::int64_t>(value).to(type); }
Tensor levels(const tensor::Shape& shape, unsigned seed)
{
    return rewrite::testing::randomTensor(shape, seed, -100, 100).to(DType::Int8);
}

/// What reads levels of an input: `x` of (1 × 4 × 4 × 3), by zero point −10.
struct Reader
{
    const char* name;
    std::function<graph::ValueId(graph::GraphBuilder&, graph::ValueId)> layer;
    double scale = kStep; ///< of the first floats
};

graph::ValueId turned(graph::GraphBuilder& builder, graph::ValueId x)
{
    return node(builder, "Transpose", "turned", {x}, {{"perm", Ints{0, 3, 1, 2}}});
}

std::vector<Reader> readers()
{
    using graph::ValueId;
    const auto zero = [](graph::GraphBuilder& b) { return b.addConstant("zero", level(-10, DType::Int8)); };
    const auto step = [](graph::GraphBuilder& b) { return b.addConstant("step", scalar(kStep)); };
    const auto rows = [](graph::GraphBuilder& b, ValueId x) {
        return node(b, "Reshape", "rows", {x, b.addConstant("shape", Tensor::of<std::int64_t>({2}, Ints{4, 12}))});
    };
    const auto weight = [](graph::GraphBuilder& b) { return b.addConstant("levels", levels({12, 5}, 8)); };
    return {
        {"DequantizeLinear behind a Pad of level 0",
         [=](graph::GraphBuilder& b, ValueId x) {
             const ValueId wide = node(
                 b, "Pad", "wide",
                 {turned(b, x), b.addConstant("pads", Tensor::of<std::int64_t>({8}, Ints{0, 0, 1, 1, 0, 0, 1, 1}))});
             const ValueId floats = node(b, "DequantizeLinear", "floats", {wide, step(b), zero(b)});
             return node(b, "Conv", "conv", {floats, b.addConstant("kernel", randomTensor({4, 3, 3, 3}, 1))});
         }},
        {"QLinearConv",
         [=](graph::GraphBuilder& b, ValueId x) {
             const ValueId none = b.addConstant("none", level(0, DType::Int8));
             const ValueId y = node(b, "QLinearConv", "conv",
                                    {turned(b, x), step(b), zero(b), b.addConstant("kernel", levels({4, 3, 3, 3}, 5)),
                                     b.addConstant("small", scalar(0.01)), none, b.addConstant("wide", scalar(0.5)),
                                     b.addConstant("y zero", level(3, DType::Int8))});
             return node(
                 b, "DequantizeLinear", "floats",
                 {y, b.addConstant("wide too", scalar(0.5)), b.addConstant("y zero too", level(3, DType::Int8))});
         }},
        {"QLinearMatMul",
         [=](graph::GraphBuilder& b, ValueId x) {
             const ValueId none = b.addConstant("none", level(0, DType::Int8));
             const ValueId y =
                 node(b, "QLinearMatMul", "product",
                      {rows(b, x), step(b), zero(b), weight(b), b.addConstant("small", scalar(0.01)), none,
                       b.addConstant("wide", scalar(0.5)), b.addConstant("y zero", level(3, DType::Int8))});
             return node(
                 b, "DequantizeLinear", "floats",
                 {y, b.addConstant("wide too", scalar(0.5)), b.addConstant("y zero too", level(3, DType::Int8))});
         }},
        {"MatMulInteger",
         [=](graph::GraphBuilder& b, ValueId x) {
             const ValueId sum = node(b, "MatMulInteger", "product", {rows(b, x), weight(b), zero(b)});
             const ValueId floats = node(b, "Cast", "floats", {sum}, {{"to", std::int64_t{1}}});
             return node(b, "Mul", "scaled", {floats, b.addConstant("both", scalar(0.001))});
         },
         1},
    };
}

/// image → layer → relu → classes. With `scale` the image is floats, of which QuantizeLinear makes the levels.
SharedGraph quantised(const Reader& reader, bool isFloat)
{
    graph::GraphBuilder builder;
    builder.setOpset("", 17);
    const auto image = builder.addInput("image", isFloat ? DType::Float32 : DType::Int8, tensor::Shape{1, 4, 4, 3});
    const auto x = !isFloat ? image
                            : node(builder, "QuantizeLinear", "rounded",
                                   {image, builder.addConstant("first step", scalar(reader.scale)),
                                    builder.addConstant("first zero", level(-10, DType::Int8))});
    const auto flat = builder.addConstant("flat shape", Tensor::of<std::int64_t>({2}, Ints{1, -1}));
    const auto y = node(builder, "Relu", "relu", {reader.layer(builder, x)});
    const auto scores = node(builder, "Reshape", "flat", {y, flat});
    builder.addOutput(node(builder, "Tanh", "bent", {scores}));
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
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
        QVERIFY(input.dtype == DType::Float32 && input.given == graph::GivenNumbers{DType::UInt8});
        RETRO_MADE(drawn, engine::resolveInputs({"random:1"}, *model->graph(), {}));
        double most = 0;
        for (std::int64_t i = 0; i < (*drawn)[0].size(); ++i) {
            const double number = (*drawn)[0].at(i);
            QVERIFY(number == std::floor(number));
            most = std::max(most, number);
        }
        QVERIFY(most > 100);

        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("a.png"));
        QImage grey(4, 4, QImage::Format_RGB888);
        grey.fill(QColor(200, 200, 200));
        QVERIFY(grey.save(file));
        engine::PictureOptions options;
        options.layout = "NHWC";
        RETRO_MADE(picture, engine::resolveInputs({file.toStdString()}, *model->graph(), options));
        QCOMPARE((*picture)[0].at(0), 200.0);
        const auto isSigned =
            engine::resolveInputs({file.toStdString()}, *modelOf(classifier(DType::Int8))->graph(), options);
        QVERIFY(isSigned.ok());
        QCOMPARE((*isSigned)[0].at(0), 72.0);
    }

    void levelsAreExplainedAtTheFirstFloats()
    {
        const Tensor numbers = pixels(DType::Int8);
        for (const Reader& reader : readers()) {
            const SharedGraph graph = quantised(reader, false);
            const Tensor floats = engine::floatsOf(numbers, {DType::Int8, reader.scale, -10});
            QCOMPARE(floats.at(0), (numbers.at(0) + 10) * reader.scale);
            QVERIFY(engine::numbersOf(floats, {DType::Int8, reader.scale, -10}).bitEqual(numbers));
            for (const char* const composite : {"epsilon_plus", "gradient_x_input"}) {
                const auto found = explained(graph, {numbers}, composite);
                const auto expected = explained(quantised(reader, true), {floats}, composite);
                const std::string where =
                    fmt::format("{}, {}: {}", reader.name, composite, found.ok() ? "differs" : found.error().text());
                QVERIFY2(found.ok() && expected.ok(), where.c_str());
                const auto of = [](const engine::ExplainResult& result) {
                    return result.relevance[result.model->graph().inputs().front().index()];
                };
                QVERIFY2(found->relevanceInputs != 0, where.c_str());
                QVERIFY2(rewrite::testing::deviation(of(*found), of(*expected)) < 1e-12, where.c_str());
                QVERIFY2(rewrite::testing::deviation(found->outputs[0], expected->outputs[0]) < 1e-12, where.c_str());
            }
        }
    }

    void scalesPerAxisAreRefusedByName()
    {
        const Reader perAxis{
            "scales", [](graph::GraphBuilder& b, graph::ValueId x) {
                const auto steps = b.addConstant("steps", randomTensor({3}, 4, 0.1, 1));
                return node(b, "DequantizeLinear", "floats", {turned(b, x), steps}, {{"axis", std::int64_t{1}}});
            }};
        const SharedGraph graph = quantised(perAxis, false);
        const auto found = explained(graph, {pixels(DType::Int8)});
        QVERIFY(!found.ok());
        for (const char* const word : {"int8", "floats_node", "DequantizeLinear", "export the model"}) {
            QVERIFY2(found.error().text().find(word) != std::string::npos, found.error().text().c_str());
        }
        const engine::LoadedModelPointer model = modelOf(graph);
        QVERIFY(std::ranges::any_of(model->rewritten.steps, [](const rewrite::RewriteStep& step) {
            return step.isNote && step.name == "float-inputs" && step.text.find("floats_node") != std::string::npos;
        }));
    }

    void everyRewriteIsCheckedAgainstTheGraphBeforeIt()
    {
        for (std::size_t i = 0; i <= readers().size(); ++i) {
            const bool isPicture = i == readers().size();
            const auto model = modelOf(isPicture ? classifier(DType::UInt8) : quantised(readers()[i], false));
            const graph::Value& input = model->graph()->value(model->graph()->inputs()[0]);
            const Tensor numbers = pixels(isPicture ? DType::UInt8 : DType::Int8);
            const auto results =
                engine::checkRewrites(*model, {engine::fittedInput(numbers, input).value()}, {}, 1, {});
            const std::string name = isPicture ? "picture" : readers()[i].name;
            QVERIFY2(results.ok(), results.ok() ? "" : (name + results.error().text()).c_str());
            bool isThere = false;
            for (const engine::PropertyResult& one : *results) {
                QVERIFY2(one.state == engine::PropertyState::Held, (name + one.id + ": " + one.detail).c_str());
                isThere = isThere || one.id == "float-inputs";
            }
            QVERIFY2(isThere, name.c_str());
        }
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
