// SPDX-License-Identifier: Apache-2.0
// The gradient as a graph of standard operators: run like any model, it gives what the tape gives.
#include <QtTest>

#include "app/common/decodepicture.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/gradient/rules.h"
#include "core/engine/gradient/writegradientgraph.h"
#include "core/engine/inputs.h"
#include "core/execute/forward.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"

#include <map>
#include <random>

using namespace retro;
using graph::Attributes;
using graph::ValueId;
using tensor::Shape;
using tensor::Tensor;

namespace
{

constexpr auto kDouble = execute::Precision::Double;

Tensor drawn(const Shape& shape, std::uint32_t seed)
{
    std::minstd_rand engine(seed + 1);
    std::vector<double> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    std::ranges::generate(values, [&engine] { return static_cast<double>(engine() % 2000) / 1000 + 0.05; });
    return Tensor::of<double>(shape, values);
}

Tensor ints(const std::vector<std::int64_t>& values)
{
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

/// One operator over inputs of the given shapes and constants; constants stand behind the inputs.
struct Case
{
    std::string op;
    std::vector<Shape> inputs;
    std::vector<Tensor> constants;
    Attributes attributes;
    std::size_t outputs = 1;
    std::int64_t opset = 17;
    double shift = 0; ///< of what is drawn for the inputs
    double scale = 1; ///< of what is drawn and shifted
};

std::shared_ptr<const graph::Graph> graphOf(const Case& made)
{
    graph::GraphBuilder builder("one");
    builder.setOpset("", made.opset);
    graph::Node node;
    node.op = made.op;
    node.name = "the one";
    node.opset = made.opset;
    node.attributes = made.attributes;
    for (std::size_t i = 0; i < made.inputs.size(); ++i) {
        node.inputs.push_back(builder.addInput("x" + std::to_string(i), tensor::DType::Float64, made.inputs[i]));
    }
    for (std::size_t i = 0; i < made.constants.size(); ++i) {
        node.inputs.push_back(builder.addConstant("c" + std::to_string(i), made.constants[i]));
    }
    for (std::size_t k = 0; k < made.outputs; ++k) {
        node.outputs.push_back(builder.addResult("y" + std::to_string(k)));
    }
    const ValueId output = node.outputs.back();
    builder.addNode(std::move(node));
    builder.addOutput(output);
    auto built = std::move(builder).build();
    return built.ok() ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
}

std::shared_ptr<const execute::BoundModel> bound(const std::shared_ptr<const graph::Graph>& graph,
                                                 const std::vector<Tensor>& inputs, std::string& fault)
{
    std::vector<ops::TensorType> types;
    for (const Tensor& input : inputs) {
        types.push_back({input.dtype(), input.shape()});
    }
    auto model = execute::BoundModel::bind(graph, types, kDouble, inputs);
    fault = model.ok() ? fault : model.error().text();
    return model.ok() ? *model : nullptr;
}

double distance(const Tensor& a, const Tensor& b)
{
    if (a.shape() != b.shape()) {
        return 1e300;
    }
    const double size = std::max(1e-30, ops::algebra::sumAbsolute(b));
    return ops::algebra::sumAbsolute(ops::algebra::subtract(a.contiguous(), b.contiguous())) / size;
}

/// "" when the gradient graph of `target`, written as ONNX, read again and run, gives what the tape gives.
std::string difference(const std::shared_ptr<const execute::BoundModel>& model, const std::vector<Tensor>& inputs,
                       ValueId target, bool isJoined)
{
    const auto tape = tape::compileModel(model, inputs, engine::gradientRule(model));
    const Tensor seed = drawn(model->typeOf(target).shape, 9);
    tape::Slots<tape::Bundle> start(tape->tape.size());
    start[tape->idOf[target.index()]] = tape::Bundle(seed);
    const auto arrived = tape::skippingLoop<tape::Bundle>(tape->tape, std::move(start));
    const auto made = tape::gradientGraph(*model, target, isJoined);
    if (!arrived.ok() || !made.ok()) {
        return made.ok() ? arrived.error().message : made.error().text();
    }
    const auto bytes = formats::toOnnx(*made->graph);
    const auto read = bytes.ok() ? formats::parseOnnx(*bytes, "gradient.onnx") : bytes.error();
    if (!read.ok()) {
        return read.error().text();
    }
    std::vector<Tensor> given;
    for (const ValueId input : (*read)->inputs()) {
        const std::string& name = (*read)->value(input).name;
        const auto value = model->graph().findValue(name);
        given.push_back(name == made->seed ? seed : tape->tape.cell(tape->idOf[value->index()]).value.only());
    }
    std::string fault;
    const auto again = bound(*read, given, fault);
    if (!again) {
        return fault;
    }
    const auto result = execute::forward(again, given, execute::SavePolicy::Nothing);
    if (!result.ok()) {
        return result.error().text();
    }
    const std::size_t before = isJoined ? model->graph().outputs().size() : 0;
    std::size_t at = before;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if ((*arrived)[i] && tape->tape.cell(static_cast<tape::Id>(i)).isTracked) {
            const double far = distance(result->outputs.at(at++), (*arrived)[i]->only());
            // Constants of a float graph are rounded to float.
            const bool isFloat = model->graph().value(model->graph().inputs()[i]).dtype == tensor::DType::Float32;
            if (!(far <= (isFloat ? 1e-6 : 1e-9))) {
                return "input " + std::to_string(i) + " is off by " + std::to_string(far);
            }
        }
    }
    return at == before ? "no gradient at all" : "";
}

using Cases = std::vector<std::pair<std::string, Case>>;

void addMore(Cases& all)
{
    using Ints = std::vector<std::int64_t>;
    const Shape square{2, 3};
    for (const char* op : {"Asinh", "Atan", "Celu", "Cosh", "Elu", "HardSigmoid", "HardSwish", "Mish", "Selu", "Sinh",
                           "Softsign", "Tan", "ThresholdedRelu"}) {
        all.push_back({op, {op, {square}, {}, {}, 1, 18}});
    }
    for (const char* op :
         {"Elu", "Celu", "Selu", "HardSwish", "Mish", "PRelu", "HardSigmoid"}) { // on both sides of zero
        all.push_back({std::string(op) + " negative", {op, {square}, {}, {}, 1, 18}});
        all.back().second.shift = -1.1;
        if (std::string(op) == "PRelu") {
            all.back().second.inputs.push_back({3});
        }
    }
    for (const char* op : {"Asin", "Acos", "Atanh", "Acosh"}) {
        all.push_back({op, {op, {square}, {}, {}}});
        all.back().second.shift = std::string(op) == "Acosh" ? 1.0 : -1.05;
        all.back().second.scale = std::string(op) == "Acosh" ? 1.0 : 0.9;
    }
    all.push_back({"Gelu", {"Gelu", {square}, {}, {}, 1, 20}});
    all.push_back({"Gelu, tanh", {"Gelu", {square}, {}, {{"approximate", std::string("tanh")}}, 1, 20}});
    all.push_back({"Swish", {"Swish", {square}, {}, {{"alpha", 1.5}}, 1, 24}});
    all.push_back({"Clip", {"Clip", {{4, 5}}, {Tensor::scalar(0.4), Tensor::scalar(1.5)}, {}}});
    all.push_back({"Clip, old", {"Clip", {{4, 5}}, {}, {{"min", 0.4}, {"max", 1.5}}, 1, 10}});
    for (const char* op : {"Max", "Min", "Mean"}) {
        all.push_back({op, {op, {{4, 2, 3}, {2, 1}, {4, 2, 3}}, {}, {}}});
    }
    for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMin",
                           "ReduceProd", "ReduceSumSquare"}) {
        all.push_back({op, {op, {{2, 3, 4}}, {}, {{"axes", Ints{0, -1}}}}});
        all.push_back({std::string(op) + " without axes",
                       {op, {{2, 3, 4}}, {ints({1})}, {{"keepdims", std::int64_t{0}}}, 1, 18}});
    }
    // A zero among the factors: alone in its row, and with others.
    for (const std::int64_t axis : {1, 2}) {
        all.push_back({"ReduceProd of zeros, axis " + std::to_string(axis),
                       {"ReduceProd", {{2, 1, 3}}, {}, {{"axes", Ints{axis}}}}});
        all.back().second.scale = 0;
    }
    all.push_back({"GlobalMaxPool", {"GlobalMaxPool", {{2, 3, 4, 5}}, {}, {}}});
    all.push_back({"RMSNormalization", {"RMSNormalization", {{2, 3, 4}}, {drawn({4}, 1)}, {}, 1, 23}});
    all.push_back(
        {"InstanceNormalization", {"InstanceNormalization", {{2, 3, 4, 5}}, {drawn({3}, 1), drawn({3}, 2)}, {}}});
    all.push_back({"GroupNormalization",
                   {"GroupNormalization",
                    {{2, 6, 4, 5}},
                    {drawn({6}, 1), drawn({6}, 2)},
                    {{"num_groups", std::int64_t{3}}},
                    1,
                    21}});
    all.push_back({"Gather many", {"Gather", {{2, 5, 3}}, {ints({1, -1, 1, 4})}, {{"axis", std::int64_t{1}}}}});
    all.push_back({"Gather rows", {"Gather", {{5, 3}}, {ints({0, 2, 2}).reshaped({3, 1})}, {}}});
    all.push_back({"GatherElements", {"GatherElements", {{3, 3}}, {ints({1, 2, 0, 2, 0, 0}).reshaped({2, 3})}, {}}});
    all.push_back({"GatherND", {"GatherND", {{3, 3}}, {ints({1, 2, 1, 2}).reshaped({2, 2})}, {}}});
    all.push_back({"ScatterND", {"ScatterND", {{4, 3}}, {ints({2, 0}).reshaped({2, 1}), drawn({2, 3}, 4)}, {}}});
    all.push_back(
        {"ScatterElements", {"ScatterElements", {{4, 3}}, {ints({2, 0, 1}).reshaped({1, 3}), drawn({1, 3}, 4)}, {}}});
    all.push_back({"Tile", {"Tile", {{2, 3}}, {ints({3, 2})}, {}}});
    all.push_back({"Trilu", {"Trilu", {{4, 4}}, {Tensor::scalar<std::int64_t>(1)}, {{"upper", std::int64_t{0}}}}});
    all.push_back({"DepthToSpace", {"DepthToSpace", {{1, 8, 2, 3}}, {}, {{"blocksize", std::int64_t{2}}}}});
    all.push_back({"SpaceToDepth", {"SpaceToDepth", {{1, 2, 4, 6}}, {}, {{"blocksize", std::int64_t{2}}}}});
    for (const std::int64_t isExclusive : {0, 1}) {
        all.push_back({isExclusive != 0 ? "CumSum, exclusive" : "CumSum",
                       {"CumSum", {{2, 4}}, {Tensor::scalar<std::int64_t>(1)}, {{"exclusive", isExclusive}}}});
    }
    all.push_back({"Einsum", {"Einsum", {{2, 3, 4}, {2, 4, 5}}, {}, {{"equation", std::string("bij, bjk -> bik")}}}});
    all.push_back(
        {"Einsum, moved", {"Einsum", {{2, 3}, {3, 4}, {4, 2}}, {}, {{"equation", std::string("ab,bc,ca->ac")}}}});
    const std::vector<float> factors{1, 1, 2, 3};
    const Tensor scales = Tensor::of<float>({4}, factors);
    all.push_back({"Resize",
                   {"Resize",
                    {{1, 2, 3, 2}},
                    {Tensor::of<float>({0}, std::vector<float>()), scales},
                    {{"mode", std::string("nearest")}}}});
}

Cases cases()
{
    const Shape square{2, 3};
    const Shape image{1, 4, 7, 6};
    std::vector<std::pair<std::string, Case>> all;
    for (const char* op : {"Abs", "Cos", "Dropout", "Erf", "Exp", "Identity", "LeakyRelu", "Log", "Neg", "Reciprocal",
                           "Relu", "Sigmoid", "Sin", "Softplus", "Sqrt", "Tanh"}) {
        all.push_back({op, {op, {square}, {}, {}}});
    }
    all.push_back({"Dropout, ratio given", {"Dropout", {square, {}}, {}, {}}});
    for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
        all.push_back({op, {op, {square, square}, {}, {}}});
        all.push_back({std::string(op) + " broadcast", {op, {{4, 2, 3}, {2, 1}}, {}, {}}});
    }
    all.push_back({"Sum", {"Sum", {square, {3}, square}, {}, {}}});
    all.push_back({"Pow", {"Pow", {square}, {Tensor::scalar(2.5)}, {}}});
    all.push_back({"MatMul", {"MatMul", {{4, 2, 3}, {3, 5}}, {}, {}}});
    all.push_back({"Gemm",
                   {"Gemm",
                    {{3, 2}, {4, 3}, {4}},
                    {},
                    {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}, {"alpha", 0.5}, {"beta", 2.0}}}});
    all.push_back({"Gemm plain", {"Gemm", {{2, 3}, {3, 4}}, {}, {}}});
    const Attributes strided{{"strides", std::vector<std::int64_t>{2, 2}},
                             {"pads", std::vector<std::int64_t>{1, 0, 1, 1}},
                             {"group", std::int64_t{2}}};
    all.push_back({"Conv", {"Conv", {image}, {drawn({6, 2, 3, 3}, 3)}, strided}});
    all.push_back({"ConvTranspose", {"ConvTranspose", {image}, {drawn({4, 3, 3, 3}, 4)}, strided}});
    all.push_back({"BatchNormalization",
                   {"BatchNormalization", {image}, {drawn({4}, 1), drawn({4}, 2), drawn({4}, 3), drawn({4}, 4)}, {}}});
    all.push_back({"MaxPool",
                   {"MaxPool",
                    {image},
                    {},
                    {{"kernel_shape", std::vector<std::int64_t>{3, 3}},
                     {"strides", std::vector<std::int64_t>{2, 2}},
                     {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}}});
    all.push_back(
        {"AveragePool",
         {"AveragePool",
          {image},
          {},
          {{"kernel_shape", std::vector<std::int64_t>{3, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}}}});
    all.push_back({"GlobalAveragePool", {"GlobalAveragePool", {image}, {}, {}}});
    all.push_back({"ReduceSum", {"ReduceSum", {{2, 3, 4}}, {ints({1})}, {{"keepdims", std::int64_t{0}}}}});
    all.push_back({"ReduceMean", {"ReduceMean", {{2, 3, 4}}, {}, {{"axes", std::vector<std::int64_t>{0, -1}}}}});
    all.push_back({"Softmax", {"Softmax", {{2, 3, 4}}, {}, {{"axis", std::int64_t{1}}}}});
    all.push_back({"LogSoftmax", {"LogSoftmax", {{2, 3}}, {}, {}}});
    all.push_back({"LayerNormalization", {"LayerNormalization", {{2, 3, 4}}, {drawn({4}, 1), drawn({4}, 2)}, {}}});
    all.push_back({"Concat", {"Concat", {{2, 3}, {2, 1}}, {}, {{"axis", std::int64_t{-1}}}}});
    all.push_back({"Split", {"Split", {{2, 6}}, {ints({4, 2})}, {{"axis", std::int64_t{1}}}, 2}});
    all.push_back({"Slice", {"Slice", {{5, 6}}, {ints({-4, 1}), ints({100, -1}), ints({0, 1})}, {}}});
    all.push_back({"Pad", {"Pad", {{2, 3}}, {ints({1, 0, 0, 2})}, {}}});
    all.push_back({"Expand", {"Expand", {{3, 1}}, {ints({2, 3, 4})}, {}}});
    all.push_back({"Gather", {"Gather", {{2, 5, 3}}, {Tensor::scalar<std::int64_t>(-2)}, {{"axis", std::int64_t{1}}}}});
    all.push_back({"Flatten", {"Flatten", {{2, 3, 4}}, {}, {}}});
    all.push_back({"Reshape", {"Reshape", {{2, 6}}, {ints({3, -1})}, {}}});
    all.push_back({"Squeeze", {"Squeeze", {{2, 1, 3}}, {ints({1})}, {}}});
    all.push_back({"Unsqueeze", {"Unsqueeze", {{2, 3}}, {ints({0})}, {}}});
    all.push_back({"Transpose", {"Transpose", {{2, 3, 4}}, {}, {{"perm", std::vector<std::int64_t>{2, 0, 1}}}}});
    addMore(all);
    return all;
}

} // namespace

class GradientGraphTest : public QObject
{
    Q_OBJECT

private slots:
    void eachOperatorGivesWhatTheTapeGives_data()
    {
        QTest::addColumn<int>("index");
        int index = 0;
        for (const auto& [name, made] : cases()) {
            QTest::newRow(name.c_str()) << index++;
        }
    }

    void eachOperatorGivesWhatTheTapeGives()
    {
        QFETCH(int, index);
        const Case made = cases()[static_cast<std::size_t>(index)].second;
        std::vector<Tensor> inputs;
        for (const Shape& shape : made.inputs) {
            const Tensor plain = drawn(shape, static_cast<std::uint32_t>(inputs.size()));
            const Tensor shifted = ops::algebra::add(plain, Tensor::full(tensor::DType::Float64, shape, made.shift));
            inputs.push_back(ops::algebra::scale(shifted, made.scale));
        }
        const auto graph = graphOf(made);
        QVERIFY(graph);
        std::string fault;
        const auto model = bound(graph, inputs, fault);
        QVERIFY2(model, fault.c_str());
        for (const bool isJoined : {true, false}) {
            const std::string off = difference(model, inputs, graph->outputs().front(), isJoined);
            QVERIFY2(off.empty(), off.c_str());
        }
    }

    void anOperatorOfManyStepsIsWrittenOut()
    {
        Case made{
            "LSTM", {{3, 1, 4}}, {drawn({1, 20, 4}, 1), drawn({1, 20, 5}, 2)}, {{"hidden_size", std::int64_t{5}}}};
        auto whole = std::make_shared<engine::LoadedModel>();
        const auto graph = graphOf(made);
        whole->rewritten = rewrite::rewrite(graph, rewrite::noRewrites()).value();
        engine::GradientRequest request;
        request.inputs = {drawn({3, 1, 4}, 5)};
        request.precision = kDouble;
        const auto gradient = engine::gradientGraph(whole, request, true);
        QVERIFY2(gradient.ok(), gradient.ok() ? "" : gradient.error().text().c_str());
        for (const graph::Node& node : gradient->graph->nodes()) {
            QVERIFY2(node.domain.empty() && node.op != "LSTM", node.op.c_str());
        }
        std::string fault;
        const auto model = bound(graph, request.inputs, fault);
        QVERIFY2(model, fault.c_str());
        const auto tape = engine::gradient(model, request);
        QVERIFY2(tape.ok(), tape.ok() ? "" : tape.error().text().c_str());
        std::vector<Tensor> given = request.inputs;
        given.push_back(tape->target.start);
        const auto again = bound(gradient->graph, given, fault);
        QVERIFY2(again, fault.c_str());
        const auto result = execute::forward(again, given, execute::SavePolicy::Nothing);
        QVERIFY2(result.ok(), result.ok() ? "" : result.error().text().c_str());
        QVERIFY(distance(result->outputs.back(), tape->gradients.front()) < 1e-9);
    }

    void samplesGiveWhatTheTapeGives_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : {"clever-hans/clever-hans", "one-segment/one-segment", "silent-groups/silent-groups"}) {
            QTest::newRow(name) << QString::fromLatin1(name);
        }
    }

    void samplesGiveWhatTheTapeGives()
    {
        QFETCH(QString, name);
        const std::filesystem::path path = RETRO_SOURCE_DIR "/samples/" + name.toStdString() + ".onnx";
        const auto loaded = engine::loadModel(path, rewrite::noRewrites());
        QVERIFY(loaded.ok());
        const std::string file = (path.parent_path() / (*loaded)->card->pictures.front().file).string();
        auto inputs = engine::resolveInputs({file}, *(*loaded)->graph(), engine::pictureOptions(&*(*loaded)->card),
                                            app::decodePicture);
        QVERIFY(inputs.ok());
        std::vector<Tensor> wide;
        for (const Tensor& input : *inputs) {
            wide.push_back(tensor::isFloating(input.dtype()) ? input.to(tensor::DType::Float64) : input);
        }
        std::string fault;
        const auto model = bound((*loaded)->graph(), wide, fault);
        QVERIFY2(model, fault.c_str());
        for (const bool isJoined : {true, false}) {
            const std::string off = difference(model, wide, model->graph().outputs().front(), isJoined);
            QVERIFY2(off.empty(), off.c_str());
        }
    }

    void anOperatorWithoutARuleIsNamed()
    {
        const Case made{"LpPool", {{1, 2, 3, 3}}, {}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}}};
        std::string fault;
        const auto model = bound(graphOf(made), {drawn({1, 2, 3, 3}, 1)}, fault);
        QVERIFY2(model, fault.c_str());
        const std::vector<engine::NodeRules> rules = engine::gradientRules(*model);
        QCOMPARE(rules.size(), 1U);
        QVERIFY(rules[0].onTape.isApplicable && !rules[0].asGraph.isApplicable && !rules[0].asGraph.reason.empty());
        const auto refused = tape::gradientGraph(*model, model->graph().outputs().front(), true);
        QVERIFY(!refused.ok());
        QVERIFY2(refused.error().text().find("node 'the one' (LpPool)") != std::string::npos,
                 refused.error().text().c_str());
    }

    void whatARuleCannotDoIsSaid_data()
    {
        QTest::addColumn<int>("index");
        QTest::addColumn<QString>("words");
        QTest::newRow("steps") << 0 << QStringLiteral("only steps of 1");
        QTest::newRow("exponent of another type") << 1 << QStringLiteral("cast it in the model");
        QTest::newRow("old operator set") << 2 << QStringLiteral("operator set 8: gradient graphs are written in");
    }

    void whatARuleCannotDoIsSaid()
    {
        QFETCH(int, index);
        QFETCH(QString, words);
        const std::vector<Case> all{
            {"Slice", {{5, 6}}, {ints({0}), ints({5}), ints({0}), ints({2})}, {}},
            {"Pow", {{5, 6}}, {ints({3})}, {}},
            {"Relu", {{5, 6}}, {}, {}, 1, 8},
        };
        std::string fault;
        const auto model = bound(graphOf(all[static_cast<std::size_t>(index)]), {drawn({5, 6}, 1)}, fault);
        QVERIFY2(model, fault.c_str());
        const auto refused = tape::gradientGraph(*model, model->graph().outputs().front(), true);
        QVERIFY(!refused.ok());
        QVERIFY2(QString::fromStdString(refused.error().text()).contains(words), refused.error().text().c_str());
    }
};

QTEST_APPLESS_MAIN(GradientGraphTest)
#include "gradientgraphtest.moc"
