// SPDX-License-Identifier: Apache-2.0
// Operators that are written out while a file is read: what stands in their place, and what is refused.
#include "core/formats/known/knownfunctions.h"
#include "core/execute/boundmodel.h"
#include "core/execute/forward.h"
#include "core/formats/onnx.h"
#include "core/ops/registry.h"
#include "core/ops/schema/schema.h"
#include "tests/core/formats/protomodel.h"
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>

using namespace retro;
using namespace retro::tests;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;
using Texts = std::vector<std::string>;

namespace
{

using Read = base::Result<std::shared_ptr<const graph::Graph>>;

Read read(const ProtoModel& model, formats::FileNotes* notes = nullptr)
{
    return formats::parseOnnx(model.bytes(), "model.onnx", {}, {}, notes);
}

/// Operators in order: "Conv Relu"; or the error.
std::string operators(const ProtoModel& model)
{
    const Read graph = read(model);
    if (!graph.ok()) {
        return graph.error().text();
    }
    std::string text;
    for (const graph::Node& node : (*graph)->nodes()) {
        text += (text.empty() ? "" : " ") + node.op;
    }
    return text;
}

bool isRefused(const ProtoModel& model, const std::string& part)
{
    const std::string text = operators(model);
    if (text.find(part) == std::string::npos) {
        qWarning("%s", text.c_str());
        return false;
    }
    return true;
}

ProtoModel layer(const std::string& op, const graph::Attributes& attributes)
{
    ProtoModel model;
    model.input("x", {1, 2, 4, 4}).constant("w", wavy({3, 2, 3, 3}, 0)).output("y");
    return model.node(op, {"x", "w"}, {"y"}, attributes);
}

Tensor levels(Shape shape, const Floats& values, tensor::DType type = tensor::DType::UInt8)
{
    return Tensor::of<double>(std::move(shape), values).to(type);
}

Tensor floats(Shape shape, const Floats& values) { return levels(std::move(shape), values, tensor::DType::Float32); }

/// A quantised operand with its scale and zero point.
std::vector<Tensor> grid(const Tensor& x, double scale, double zero)
{
    return {x, floats({}, {scale}), levels({}, {zero}, x.dtype())};
}

std::vector<Tensor> joined(std::vector<Tensor> first, const std::vector<Tensor>& second)
{
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// Output k of an operator of com.microsoft on these operands; or the error.
QString valuesOf(const std::string& op, const std::vector<Tensor>& operands, const graph::Attributes& attributes = {},
                 std::size_t k = 0)
{
    ProtoModel model;
    Texts names;
    for (const Tensor& operand : operands) {
        names.push_back(operand.isValid() ? fmt::format("x{}", names.size()) : "");
        if (operand.isValid()) {
            model.constant(names.back(), operand);
        }
    }
    const Texts results = k == 0 ? Texts{"y"} : Texts{"first", "y"};
    const Read graph = read(model.output("y").node("com.microsoft:" + op, names, results, attributes));
    const auto bound = graph.ok() ? execute::BoundModel::bind(*graph, {}, execute::Precision::Float) : graph.error();
    const auto made = bound.ok() ? execute::forward(*bound, {}, execute::SavePolicy::All) : bound.error();
    return q(made.ok() ? textOf(made->outputs.front()) : made.error().text());
}

/// A classifier of three features whose labels are texts.
ProtoModel wordClassifier()
{
    ProtoModel model;
    model.input("x", {2, 3});
    return model.node("ai.onnx.ml:LinearClassifier", {"x"}, {"label", "scores"},
                      {{"coefficients", Floats{1, 2, 3, 4, 5, 6}},
                       {"intercepts", Floats{0, 1}},
                       {"post_transform", std::string("SOFTMAX")},
                       {"classlabels_strings", Texts{"cat", "dog"}}});
}

/// Weights in blocks: filters × channels filled up with zeros, as ONNX Runtime orders them.
Tensor inBlocks(const Tensor& plain, std::int64_t width, bool isBoth)
{
    const auto up = [width](std::int64_t extent) { return (extent + width - 1) / width * width; };
    const Shape& own = plain.shape();
    const Shape filled{up(own[0]), isBoth ? up(own[1]) : own[1], own[2], own[3]};
    const std::int64_t window = own[2] * own[3];
    std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(filled)));
    std::size_t at = 0;
    const std::int64_t inner = isBoth ? width : 1;
    for (std::int64_t ob = 0; ob < filled[0]; ob += width) {
        for (std::int64_t ib = 0; ib < filled[1]; ib += inner) {
            for (std::int64_t s = 0; s < window; ++s) {
                for (std::int64_t i = ib; i < ib + inner; ++i) {
                    for (std::int64_t o = ob; o < ob + width; ++o, ++at) {
                        const bool isReal = o < own[0] && i < own[1];
                        values[at] = isReal ? static_cast<float>(plain.at((o * own[1] + i) * window + s)) : 0.0F;
                    }
                }
            }
        }
    }
    return Tensor::of<float>(filled, values);
}

Tensor filledUp(const Tensor& bias, std::int64_t width)
{
    std::vector<float> values(static_cast<std::size_t>((bias.size() + width - 1) / width * width));
    for (std::int64_t i = 0; i < bias.size(); ++i) {
        values[static_cast<std::size_t>(i)] = static_cast<float>(bias.at(i));
    }
    return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

/// Three layers in blocks: of the standard's layout, of blocks, depthwise.
ProtoModel blockedLayers(std::int64_t width)
{
    const std::string domain = "com.microsoft.nchwc:";
    const std::int64_t filled = width == 8 ? 24 : 32;
    ProtoModel model;
    model.input("x", {1, 3, 8, 8}).output("y");
    model.constant("w1", inBlocks(wavy({20, 3, 3, 3}, 1), width, false)).constant("b1", filledUp(wavy({20}, 2), width));
    model.constant("w2", inBlocks(wavy({18, 20, 1, 1}, 3), width, true));
    model.constant("w3", inBlocks(wavy({18, 1, 3, 3}, 4), width, false));
    model.node(domain + "Conv", {"x", "w1", "b1"}, {"h1"}, {{"activation", std::string("Relu")}});
    model.node(domain + "MaxPool", {"h1"}, {"p1"}, {{"kernel_shape", Ints{2, 2}}});
    model.node(domain + "Conv", {"p1", "w2"}, {"h2"});
    model.node(domain + "Conv", {"h2", "w3"}, {"h3"}, {{"group", filled}});
    model.node(domain + "ReorderOutput", {"h3"}, {"y"}, {{"channels", std::int64_t{18}}});
    return model;
}

Tensor constantOf(const graph::Graph& graph, const std::string& name)
{
    const auto id = graph.findValue(name);
    return id ? graph.value(*id).constant : Tensor();
}

/// A schema's names of operands, or of attributes, in order.
std::vector<std::string> wordsOf(std::string_view text)
{
    std::istringstream stream{std::string(text)};
    return {std::istream_iterator<std::string>(stream), {}};
}

/// A call with all operands but those that are left out, and the attributes that it must have.
onnxschema::NodeProto callOf(const formats::KnownFunction& function, const ops::OperatorSchema& schema,
                             const std::set<std::size_t>& leftOut)
{
    onnxschema::NodeProto call;
    call.set_name("call");
    call.set_domain(std::string(function.domain));
    call.set_op_type(std::string(function.op));
    for (std::size_t slot = 0; slot < wordsOf(schema.operands).size(); ++slot) {
        call.add_input(leftOut.contains(slot) ? "" : fmt::format("x{}", slot));
    }
    call.add_output("y");
    for (const std::string& word : wordsOf(schema.attributes)) {
        if (word.ends_with(":int!")) {
            formats::writeAttribute(word.substr(0, word.find(':')), std::int64_t{1}, *call.add_attribute());
        }
    }
    return call;
}

/// All operands as inputs of so many axes.
formats::GraphFacts factsOf(const onnxschema::NodeProto& call, int rank)
{
    onnxschema::GraphProto graph;
    for (const std::string& name : call.input()) {
        onnxschema::ValueInfoProto& input = *graph.add_input();
        input.set_name(name);
        auto& type = *input.mutable_type()->mutable_tensor_type();
        type.set_elem_type(1);
        for (int axis = 0; axis < rank; ++axis) {
            type.mutable_shape()->add_dim()->set_dim_value(8);
        }
    }
    graph.add_output()->set_name("y");
    return {graph, 17};
}

/// The first step that reads an operand which is not given, where its operator needs one; empty when all is well.
std::string stepWithoutOperand(const onnxschema::FunctionProto& made, const std::set<std::size_t>& leftOut)
{
    for (const onnxschema::NodeProto& step : made.node()) {
        graph::Node node;
        node.domain = step.domain();
        node.op = step.op_type();
        node.opset = step.resolved_opset() > 0 ? step.resolved_opset() : step.domain().empty() ? 17 : 1;
        for (const std::string& input : step.input()) {
            const bool isMissing = input.empty() || std::ranges::any_of(leftOut, [&](std::size_t slot) {
                                       return input == fmt::format("operand {}", slot);
                                   });
            node.inputs.push_back(isMissing ? graph::ValueId() : graph::ValueId(std::uint32_t{0}));
        }
        node.outputs.assign(static_cast<std::size_t>(step.output_size()), graph::ValueId(std::uint32_t{1}));
        if (const auto fault = ops::operandFault(node)) {
            return fmt::format("{} ({}): {}", step.name(), step.op_type(), *fault);
        }
    }
    return {};
}

} // namespace

class KnownFunctionsTest : public QObject
{
    Q_OBJECT

private slots:
    /// From the schema: all operands, each optional one left out, all of them left out.
    void stepsReadWhatIsGiven()
    {
        int written = 0;
        for (const formats::KnownFunction& function : formats::knownFunctions()) {
            const ops::OperatorSchema* schema = ops::schemaOf(function.domain, function.op, 1);
            const std::vector<std::string> names = schema != nullptr ? wordsOf(schema->operands) : Texts();
            std::vector<std::set<std::size_t>> choices{{}, {}};
            for (std::size_t slot = 0; slot < names.size(); ++slot) {
                if (names[slot].ends_with('?')) {
                    choices.push_back({slot});
                    choices[1].insert(slot);
                }
            }
            for (const std::set<std::size_t>& leftOut : choices) {
                for (const int rank : {1, 2, 3, 4}) {
                    if (schema == nullptr) {
                        continue;
                    }
                    const onnxschema::NodeProto call = callOf(function, *schema, leftOut);
                    const auto made = formats::knownFunction(call, factsOf(call, rank));
                    if (!made.ok() || !*made) {
                        continue;
                    }
                    ++written;
                    const std::string fault = stepWithoutOperand(**made, leftOut);
                    QVERIFY2(fault.empty(), fmt::format("{}: {}", function.op, fault).c_str());
                }
            }
        }
        QVERIFY(written > 50);
    }

    void layersAndActivations()
    {
        QCOMPARE(
            QString::fromStdString(operators(layer("com.microsoft:FusedConv", {{"activation", std::string("Relu")}}))),
            "Conv Relu");
        QCOMPARE(QString::fromStdString(operators(layer("com.microsoft:FusedConv", {}))), "Conv");
        QCOMPARE(
            QString::fromStdString(operators(layer("com.microsoft:FusedConv", {{"activation", std::string("Clip")},
                                                                               {"activation_params", Floats{0, 6}}}))),
            "Conv Clip");
        QCOMPARE(
            QString::fromStdString(operators(layer("com.microsoft:NhwcFusedConv", {{"kernel_shape", Ints{3, 3}}}))),
            "Transpose Conv Transpose");
    }

    /// Values as onnxruntime gives them.
    void functionsOfQuantisedValues()
    {
        const Tensor a = levels({4}, {0, 10, 128, 255});
        const std::vector<Tensor> pair = joined(grid(a, 0.1, 10), grid(levels({4}, {3, 4, 5, 200}), 0.2, 3));
        const auto result = [](double scale, double zero, tensor::DType type = tensor::DType::UInt8) {
            return std::vector<Tensor>{floats({}, {scale}), levels({}, {zero}, type)};
        };
        QCOMPARE(valuesOf("QLinearAdd", joined(pair, result(0.15, 20))), "[4] 13 21 101 255");
        QCOMPARE(valuesOf("QLinearMul", joined(pair, result(0.5, 20))), "[4] 20 20 29 255");
        const Tensor negative = levels({5}, {-100, -3, 0, 5, 127}, tensor::DType::Int8);
        QCOMPARE(valuesOf("QLinearLeakyRelu", joined(grid(negative, 0.1, 2), result(0.1, -4, negative.dtype())),
                          {{"alpha", 0.1}}),
                 "[5] -14 -4 -4 -1 121");
        QCOMPARE(valuesOf("QLinearSigmoid", joined(grid(a, 0.05, 100), result(1.0 / 256, 0))), "[4] 2 3 205 255");
        const Tensor picture = levels({1, 2, 2, 2}, {0, 30, 60, 90, 120, 150, 180, 210});
        const std::vector<Tensor> pool = joined(grid(picture, 0.1, 5), result(0.05, 7));
        QCOMPARE(valuesOf("QLinearGlobalAveragePool", pool, {{"channels_last", std::int64_t{0}}}),
                 "[1 × 2 × 1 × 1] 87 255");
        QCOMPARE(valuesOf("QLinearGlobalAveragePool", pool, {{"channels_last", std::int64_t{1}}}),
                 "[1 × 1 × 1 × 2] 177 237");
        const Tensor square = levels({1, 1, 3, 3}, {0, 28, 56, 84, 112, 140, 168, 196, 224});
        QCOMPARE(valuesOf("QLinearAveragePool", joined(grid(square, 0.1, 5), result(0.1, 7)),
                          {{"kernel_shape", Ints{2, 2}}}),
                 "[1 × 1 × 2 × 2] 58 86 142 170");
        QCOMPARE(valuesOf("QLinearSoftmax",
                          joined(grid(levels({1, 4}, {0, 100, 200, 255}), 0.02, 100), result(1.0 / 256, 0)),
                          {{"axis", std::int64_t{-1}}, {"opset", std::int64_t{13}}}),
                 "[1 × 4] 1 8 62 185");
        const std::vector<Tensor> two =
            joined(grid(levels({3}, {0, 50, 255}), 0.1, 5), grid(levels({2}, {7, 100}), 0.3, 7));
        QCOMPARE(valuesOf("QLinearConcat", joined(result(0.2, 10), two), {{"axis", std::int64_t{0}}}),
                 "[5] 8 32 135 10 150");
        const std::vector<Tensor> either =
            joined(grid(levels({3}, {0, 50, 255}), 0.1, 5), grid(levels({3}, {7, 100, 9}), 0.3, 7));
        const std::vector<Tensor> condition{levels({3}, {1, 0, 1}, tensor::DType::Bool)};
        QCOMPARE(valuesOf("QLinearWhere", joined(joined(condition, either), result(0.2, 10))), "[3] 8 150 135");
        QVERIFY(valuesOf("QLinearAdd", {a, floats({}, {1})}).contains("operand"));
        QVERIFY(valuesOf("QLinearConcat", joined(result(0.2, 10), {a}), {{"axis", std::int64_t{0}}})
                    .contains("operand 3 is missing"));
    }

    /// Every key that is seen counts as much: means of the values, those of the past in front.
    void attentionWithItsProjection()
    {
        const Tensor x = floats({1, 3, 1}, {3, 6, 30});
        const Tensor w = floats({1, 3}, {0, 0, 1});
        const graph::Attributes one{{"num_heads", std::int64_t{1}}};
        const auto whole = [](Shape shape, const Floats& values) {
            return levels(std::move(shape), values, tensor::DType::Int32);
        };
        QCOMPARE(valuesOf("Attention", {x, w}, one), "[1 × 3 × 1] 13 13 13");
        QCOMPARE(valuesOf("Attention", {x, w, floats({3}, {0, 0, 2})}, one), "[1 × 3 × 1] 15 15 15");
        QCOMPARE(valuesOf("Attention", {x, w, {}, whole({1}, {2})}, one), "[1 × 3 × 1] 4.5 4.5 4.5");
        QCOMPARE(valuesOf("Attention", {x, w, {}, whole({2}, {2, 1})}, one), "[1 × 3 × 1] 6 6 6");
        QCOMPARE(valuesOf("Attention", {x, w, {}, whole({1, 3}, {0, 1, 1})}, one), "[1 × 3 × 1] 18 18 18");
        QCOMPARE(valuesOf("Attention", {x, w, {}, {}, {}, floats({1, 1, 1, 3}, {0, -1e9, 0})}, one),
                 "[1 × 3 × 1] 16.5 16.5 16.5");
        const Tensor whole8 = levels({1, 3, 1}, {3, 6, 30});
        const Tensor weight8 = levels({1, 3}, {0, 0, 2}, tensor::DType::Int8);
        QCOMPARE(
            valuesOf("QAttention", {whole8, weight8, floats({3}, {0, 0, 0}), floats({}, {1}), floats({}, {0.5})}, one),
            "[1 × 3 × 1] 13 13 13");
        graph::Attributes causal = one;
        causal["unidirectional"] = std::int64_t{1};
        const std::vector<Tensor> past{floats({1, 2, 1}, {6, 11}), w, {}, {}, floats({2, 1, 1, 2, 1}, {7, 8, 1, 2})};
        QCOMPARE(valuesOf("Attention", past, causal), "[1 × 2 × 1] 3 5");
        QCOMPARE(valuesOf("Attention", past, causal, 1), "[2 × 1 × 1 × 4 × 1] 7 8 0 0 1 2 6 11");
        graph::Attributes wide = one;
        wide["qkv_hidden_sizes"] = Ints{1, 1, 2};
        const Tensor two = floats({1, 4}, {0, 0, 1, 2});
        QCOMPARE(valuesOf("Attention", {x, two}, wide), "[1 × 3 × 2] 13 26 13 26 13 26");
        QVERIFY(valuesOf("Attention", {x, two}, wide, 1).contains("of one width, but they have 1 and 2"));
        QVERIFY(valuesOf("Attention", {x, two}, one).contains("4 columns of weights do not split"));
        graph::Attributes rotated = one;
        rotated["do_rotary"] = std::int64_t{1};
        QVERIFY(valuesOf("Attention", {x, w}, rotated).contains("export the model without them"));
    }

    void refusals()
    {
        const auto with = [](const graph::Attributes& attributes) {
            return layer("com.microsoft:FusedConv", attributes);
        };
        QVERIFY(isRefused(with({{"activation", std::string("Relo")}}), "the activation 'Relo' is not known"));
        QVERIFY(
            isRefused(with({{"activations", std::string("Relu")}}), "attribute 'activations' is none of FusedConv"));
        QVERIFY(isRefused(with({{"activation", std::int64_t{1}}}),
                          "attribute 'activation' is an integer, but must be a text"));
        QVERIFY(isRefused(with({{"activation", std::string("Clip")}}), "activation_params has 0 numbers"));
        ProtoModel wide;
        wide.input("x", {1, 3}).output("y").node("com.microsoft:BiasGelu", {"x", "x", "x"}, {"y"});
        QVERIFY(isRefused(wide, "takes at most 2"));
        ProtoModel scaler;
        scaler.input("x", {1, 3}).output("y").node("ai.onnx.ml:Scaler", {"x"}, {"y"}, {{"scale", Floats{1, 2, 3}}});
        QVERIFY(isRefused(scaler, "node 'y/made' (Scaler)"));
    }

    /// What ONNX Runtime 1.32 takes, and what it refuses.
    void skipsOfOtherShapes()
    {
        for (const char* op :
             {"com.microsoft:SkipLayerNormalization", "com.microsoft:SkipSimplifiedLayerNormalization"}) {
            const auto model = [op](const Ints& x, const Ints& skip) {
                ProtoModel made;
                made.input("x", x).input("s", skip).constant("g", wavy({4}, 0)).output("y");
                return made.node(op, {"x", "s", "g"}, {"y"});
            };
            for (const Ints& skip : {Ints{2, 3, 4}, Ints{1, 3, 4}, Ints{3, 4}}) {
                QCOMPARE(QString::fromStdString(operators(model({2, 3, 4}, skip))).left(4), QString("Add "));
            }
            QCOMPARE(QString::fromStdString(operators(model({3, 4}, {3, 4}))).left(4), QString("Add "));
            for (const Ints& skip : {Ints{2, 1, 4}, Ints{1, 1, 4}, Ints{1, 4}, Ints{6, 4}, Ints{1, 2, 4}}) {
                QVERIFY(isRefused(model({2, 3, 4}, skip), "tokens (its second last axis), but operand 0 has 3"));
            }
            QVERIFY(isRefused(model({2, 3, 4}, {3, 3, 4}), "skip (operand 1) is of 3 images, but operand 0 of 2"));
            QVERIFY(isRefused(model({1, 3, 4}, {2, 3, 4}), "skip (operand 1) is of 2 images, but operand 0 of 1"));
            QVERIFY(isRefused(model({2, 3, 4}, {4}), "operand 0 has 3 axes and skip (operand 1) 1"));
            QVERIFY(isRefused(model({2, 3, 4}, {1, 2, 3, 4}), "operand 0 has 3 axes and skip (operand 1) 4"));
            QVERIFY(isRefused(model({3, 4}, {1, 3, 4}), "operand 0 has 2 axes and skip (operand 1) 3"));
            QVERIFY(isRefused(model({2, 5, 3, 4}, {2, 5, 3, 4}), "operand 0 has 4 axes"));
        }
    }

    void positionsThatTokensDoNotHave()
    {
        const auto model = [](std::int64_t rows, bool hasTokens, const char* segments = "") {
            ProtoModel made;
            made.input("ids", {2, 3}).constant("w", wavy({9, 4}, 0));
            auto& ids = *made.proto().mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
            ids.set_elem_type(onnxschema::TensorProto::INT32);
            if (!hasTokens) {
                ids.mutable_shape()->mutable_dim(1)->set_dim_param("tokens");
            }
            made.constant("p", wavy({rows, 4}, 1)).constant("g", wavy({4}, 2)).constant("b", wavy({4}, 3)).output("y");
            return made.node("com.microsoft:EmbedLayerNormalization", {"ids", "", "w", "p", segments, "g", "b"}, {"y"});
        };
        QCOMPARE(QString::fromStdString(operators(model(3, true, "w"))), // all tokens are of the first segment
                 "Gather Shape Slice Add Gather Add LayerNormalization");
        const QString plain = "Gather Shape Slice Add LayerNormalization";
        QCOMPARE(QString::fromStdString(operators(model(3, true))), plain);
        QCOMPARE(QString::fromStdString(operators(model(3, false))), plain); // the sum does not fit other lengths
        QVERIFY(isRefused(model(1, true), "(operand 3) has 1 row, but there are 3 tokens"));
        QVERIFY(isRefused(model(2, true), "(operand 3) has 2 rows, but there are 3 tokens"));
        const ProtoModel open = model(1, false);
        QCOMPARE(QString::fromStdString(operators(open)), "Gather Shape Slice Concat Reshape Add LayerNormalization");
        const Read graph = read(open);
        for (const std::int64_t tokens : {1, 3}) {
            const auto bound = execute::BoundModel::bind(
                *graph, std::vector<ops::TensorType>{{tensor::DType::Int32, {2, tokens}}}, execute::Precision::Float);
            QCOMPARE(bound.ok(), tokens == 1);
        }
    }

    void attentionOfHeads()
    {
        const auto heads = [](const Texts& operands) {
            ProtoModel model;
            model.input("q", {2, 3, 8}).input("k", {2, 5, 8}).input("p", {2, 2, 5, 4}).constant("b", wavy({24}, 0));
            return model.output("y").node("com.microsoft:MultiHeadAttention", operands, {"y"},
                                          {{"num_heads", std::int64_t{2}}});
        };
        QCOMPARE(QString::fromStdString(operators(heads({"q", "k", "k"}))), "Attention");
        QCOMPARE(QString::fromStdString(operators(heads({"q", "k", "k", "b"}))),
                 "Shape Shape Shape Concat Split Add Add Add Attention");
        QCOMPARE(QString::fromStdString(operators(heads({"q", "p", "p", "b"}))), // queries alone have a bias
                 "Transpose Reshape Transpose Reshape Shape Shape Shape Concat Split Add Attention");
        QCOMPARE(QString::fromStdString(operators(heads({"q", "p", "p"}))),
                 "Transpose Reshape Transpose Reshape Attention");
        QCOMPARE(QString::fromStdString(operators(heads({"q", "k", "k", "", "", "", "p", "p"}))), "Attention");
        QVERIFY(isRefused(heads({"q", "k"}), "its operands must be queries, keys and values"));
        QVERIFY(isRefused(heads({"q", "k", "k", "", "p"}), "key_padding_mask (operand 4)"));
        QVERIFY(isRefused(heads({"q", "k", "k", "", "", "", "p"}), "go together"));
        QVERIFY(isRefused(heads({"q", "k", "k", "", "", "", "p", "p", "k"}), "beam search"));
        QVERIFY(isRefused(heads({"q", "k", "k", "", "", "", "p", "p", "k"}), "node 'y/made' (MultiHeadAttention)"));
    }

    void groupsOfHeads()
    {
        const auto groups = [](const Texts& operands, const graph::Attributes& more = {}, std::int64_t heads = 4) {
            ProtoModel model;
            model.input("q", {1, 3, 64}).input("k", {1, 3, 32}).input("p", {1, 2, 5, 16}).constant("w", wavy({4}, 0));
            model.constant("c", wavy({8, 8}, 1))
                .constant("s", Tensor::of<std::int32_t>({1}, std::vector<std::int32_t>{2}));
            model.constant("t", Tensor::of<std::int32_t>({}, std::vector<std::int32_t>{3}));
            graph::Attributes attributes{{"num_heads", heads}, {"kv_num_heads", std::int64_t{2}}};
            attributes.insert(more.begin(), more.end());
            return model.output("y").node("com.microsoft:GroupQueryAttention", operands, {"y"}, attributes);
        };
        QCOMPARE(QString::fromStdString(operators(groups({"q", "k", "k", "", "", "s", "t"}))),
                 "Reshape Reshape Reshape Transpose CacheAppend Transpose Transpose CacheAppend Attention Transpose "
                 "Reshape");
        const Texts packed{"q", "", "", "", "", "s", "t", "c", "c"};
        QCOMPARE(QString::fromStdString(operators(groups(packed, {{"do_rotary", std::int64_t{1}}}))),
                 "Reshape Split Transpose CacheAppend Transpose Transpose RotaryEmbedding RotaryEmbedding CacheAppend "
                 "Attention Transpose Reshape");
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s"}), "operand 6 is missing (total_sequence_length of"));
        QVERIFY(isRefused(groups({"q", "k", "", "", "", "s", "t"}), "go together"));
        QVERIFY(isRefused(groups({"q", "k", "k", "p", "", "s", "t"}), "go together"));
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s", "t"}, {}, 3), "kv_num_heads"));
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s", "t"}, {{"do_rotary", std::int64_t{1}}}), "cos_cache"));
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s", "t"}, {{"k_quant_type", std::string("PER_TENSOR")}}),
                          "a quantised cache"));
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s", "t", "", "", "", "", "", "w"}), "a quantised cache"));
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s", "t"}, {{"sliding_window_cache", std::int64_t{1}}}),
                          "local_window_size"));
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s", "t"}, {{"local_window_size", std::int64_t{0}}}),
                          "local_window_size is 0, but must be positive, or -1"));
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s", "t"}, {}, 6),
                          "query (operand 0, num_heads) has 64 columns, which do not divide into 6 heads"));
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s", "t"}, {}, 8), "keys (operand 1) 16 wide"));
        QVERIFY(isRefused(groups({"q", "", "", "", "", "s", "t"}, {}, 6), "do not divide into 10 heads"));
        QVERIFY(isRefused(groups({"q", "k", "k", "", "", "s", "t"}, {{"head_count", std::int64_t{1}}}),
                          "attribute 'head_count' is none of GroupQueryAttention"));
    }

    void experts()
    {
        const auto mixture = [](const Texts& operands, const graph::Attributes& attributes) {
            ProtoModel model;
            model.input("x", {3, 4}).input("r", {3, 2}).input("v", {2, 6, 4});
            model.constant("a", wavy({2, 6, 4}, 0)).constant("b", wavy({2, 4, 6}, 1)).constant("o", wavy({3, 4, 6}, 2));
            return model.output("y").node("com.microsoft:MoE", operands, {"y"}, attributes);
        };
        QCOMPARE(QString::fromStdString(operators(mixture({"x", "r", "a", "", "b"}, {}))),
                 "Shape Concat Reshape TopK Softmax GatherElements Pad Equal Where ReduceMin GatherElements Less Where "
                 "ExpertProduct Relu Where ExpertProduct Mul Equal Where ReduceMin GatherElements Less Where "
                 "ExpertProduct Relu Where "
                 "ExpertProduct Mul Sum");
        QVERIFY(isRefused(mixture({"x", "r", "v", "", "b"}, {}), "operand 2) must be an initializer"));
        QVERIFY(isRefused(mixture({"x", "r", "a", "", "o"}, {}), "operand 4) must be an initializer"));
        QVERIFY(isRefused(mixture({"x", "r", "a", "", "b"}, {{"k", std::int64_t{3}}}), "k is 3"));
        QVERIFY(isRefused(mixture({"x", "r", "a", "", "b"}, {{"activation_type", std::string("tanh")}}), "'tanh'"));
        QVERIFY(isRefused(mixture({"x", "r", "a", "", "b"}, {{"use_sparse_mixer", std::int64_t{1}}}), "sparse"));
        QVERIFY(isRefused(mixture({"x", "r", "a", "", "b"}, {{"activation_type", std::string("swiglu")}}),
                          "swiglu_fusion is 0"));
        const auto routed = [](const Shape& router) {
            ProtoModel model;
            model.input("x", {3, 4}).input("r", router);
            model.constant("a", wavy({2, 6, 4}, 0)).constant("b", wavy({2, 4, 6}, 1));
            return model.output("y").node("com.microsoft:MoE", {"x", "r", "a", "", "b"}, {"y"});
        };
        QVERIFY(isRefused(routed({3, 5}), "router_probs (operand 1) has 5 columns, but there are 2 experts"));
        QVERIFY(isRefused(routed({3, 1}), "node 'y/made' (MoE)"));
        QVERIFY(isRefused(routed({1, 3, 2}), "router_probs (operand 1) has 3 axes"));
    }

    /// A router whose columns are known as late as its operands, or that has not a row per token.
    void routersOfUnknownWidth()
    {
        for (const Shape& router : {Shape{3, 5}, Shape{3, 1}, Shape{1, 2}, Shape{6, 2}}) {
            ProtoModel model;
            model.input("x", {3, 4}).input("s", router);
            model.constant("a", wavy({2, 6, 4}, 0)).constant("b", wavy({2, 4, 6}, 1)).output("y");
            model.node("Identity", {"s"}, {"r"});
            const Read graph = read(model.node("com.microsoft:MoE", {"x", "r", "a", "", "b"}, {"y"}));
            RETRO_OK(graph);
            const std::array types{ops::TensorType{tensor::DType::Float32, {3, 4}},
                                   ops::TensorType{tensor::DType::Float32, router}};
            RETRO_REFUSED(execute::BoundModel::bind(*graph, types, execute::Precision::Float), "y/made/router_probs");
        }
    }

    /// Outputs that are declared and that nothing reads are left out.
    void unreadOutputs()
    {
        const auto groups = [](std::int64_t scores, bool isRead) {
            ProtoModel model;
            model.input("q", {1, 3, 64}).input("k", {1, 3, 32});
            model.constant("s", Tensor::of<std::int32_t>({1}, std::vector<std::int32_t>{2}));
            model.constant("t", Tensor::of<std::int32_t>({}, std::vector<std::int32_t>{3})).output("y");
            if (isRead) {
                model.output("scores");
            }
            return model.node(
                "com.microsoft:GroupQueryAttention", {"q", "k", "k", "", "", "s", "t"}, {"y", "a", "b", "scores"},
                {{"num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}, {"qk_output", scores}});
        };
        const std::string plain = operators(groups(0, false));
        QVERIFY2(plain.starts_with("Reshape"), plain.c_str());
        QCOMPARE(QString::fromStdString(operators(groups(2, false))), QString::fromStdString(plain));
        QCOMPARE(QString::fromStdString(operators(groups(2, true))), QString::fromStdString(plain));
        QVERIFY(operators(groups(1, true)).find("IsInf Where") != std::string::npos);
        QVERIFY(isRefused(groups(0, true), "qk_output is 0"));
        QVERIFY(isRefused(groups(3, false), "qk_output is 3"));
    }

    /// Twice such a number of columns is no number of 64 bits.
    void hugeExperts_data()
    {
        QTest::addColumn<std::int64_t>("columns");
        QTest::newRow("above") << (std::int64_t{1} << 62);
        QTest::newRow("below 0") << std::numeric_limits<std::int64_t>::min() + 1;
    }
    void hugeExperts()
    {
        QFETCH(const std::int64_t, columns);
        ProtoModel model;
        model.input("x", {3, 4}).input("r", {3, 4}).constant("s", wavy({4, 8}, 0));
        for (const char* name : {"a", "b"}) {
            auto& weights = *model.proto().mutable_graph()->add_initializer();
            weights.set_name(name);
            weights.set_data_type(onnxschema::TensorProto::UINT8);
            for (const std::int64_t extent : {std::int64_t{4}, std::int64_t{0}, columns}) {
                weights.add_dims(extent);
            }
        }
        model.output("y").node("com.microsoft:QMoE", {"x", "r", "a", "s", "", "b", "s"}, {"y"},
                               {{"expert_weight_bits", std::int64_t{4}}});
        QVERIFY(isRefused(model, "which no file holds"));
    }

    /// A function of the model goes before what is known of its name.
    void ownFunctionsGoFirst()
    {
        ProtoModel model = layer("com.microsoft:FusedConv", {});
        auto& function = *model.proto().add_functions();
        function.set_domain("com.microsoft");
        function.set_name("FusedConv");
        function.add_input(std::string("a"));
        function.add_input(std::string("w"));
        function.add_output(std::string("b"));
        auto& node = *function.add_node();
        node.set_op_type("Neg");
        node.add_input("a");
        node.add_output("b");
        QCOMPARE(QString::fromStdString(operators(model)), "Neg");
    }

    void transformsOfScores()
    {
        ProtoModel regressor;
        regressor.input("x", {2, 3}).output("y");
        regressor.node("ai.onnx.ml:LinearRegressor", {"x"}, {"y"},
                       {{"coefficients", Floats{1, 2, 3}}, {"post_transform", std::string("LOGISTIC")}});
        QCOMPARE(operators(regressor), std::string("Gemm Sigmoid"));
        ProtoModel probit;
        probit.input("x", {2, 3}).output("y");
        probit.node("ai.onnx.ml:LinearRegressor", {"x"}, {"y"},
                    {{"coefficients", Floats{1, 2, 3}}, {"post_transform", std::string("PROBIT")}});
        QVERIFY(operators(probit).starts_with("Gemm Mul Sub Sub Add Mul Log"));
        ProtoModel labels;
        labels.input("x", {2, 3}).output("y");
        labels.node(
            "ai.onnx.ml:LabelEncoder", {"x"}, {"y"},
            {{"keys_floats", Floats{1, std::numeric_limits<double>::quiet_NaN()}}, {"values_int64s", Ints{5, 6}}});
        QVERIFY(operators(labels).starts_with("Unsqueeze Equal IsNaN IsNaN And Or Cast ArgMax"));
    }

    void mapsAreTheirRows()
    {
        ProtoModel model;
        model.input("x", {2, 3}).node("ai.onnx.ml:ZipMap", {"x"}, {"z"}, {{"classlabels_int64s", Ints{0, 1, 2}}});
        auto& output = *model.proto().mutable_graph()->add_output();
        output.set_name("z");
        auto& map = *output.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
        map.set_key_type(onnxschema::TensorProto::INT64);
        map.mutable_value_type()->mutable_tensor_type()->set_elem_type(onnxschema::TensorProto::FLOAT);
        QCOMPARE(QString::fromStdString(operators(model)), "Identity");
    }

    /// CatBoost's files import ai.onnx.ml alone; what a function hands on is a node of ai.onnx all the same.
    void mapsOfAFileWithoutTheStandard()
    {
        ProtoModel model;
        model.input("x", {2, 3}).node("ai.onnx.ml:ZipMap", {"x"}, {"z"}, {{"classlabels_int64s", Ints{0, 1, 2}}});
        model.output("z");
        model.proto().clear_opset_import();
        auto& domain = *model.proto().add_opset_import();
        domain.set_domain("ai.onnx.ml");
        domain.set_version(2);
        const Read graph = read(model);
        RETRO_OK(graph);
        QVERIFY(ops::find("", (*graph)->node(graph::NodeId(0U)).op, (*graph)->node(graph::NodeId(0U)).opset) !=
                nullptr);
    }

    void outputsOfTextsAreLeftOut()
    {
        ProtoModel model = wordClassifier();
        model.output("label").output("scores");
        formats::FileNotes notes;
        const Read graph = read(model, &notes);
        RETRO_OK(graph);
        QCOMPARE((*graph)->outputs().size(), 1U);
        QCOMPARE((*graph)->value((*graph)->outputs()[0]).name, std::string("scores"));
        QVERIFY(std::any_of(notes.inlined.begin(), notes.inlined.end(), [](const formats::InlinedFunction& one) {
            return one.note.find("output \"label\" holds texts") != std::string::npos;
        }));
        QVERIFY(isRefused(wordClassifier().output("label"), "all outputs of the model hold texts"));
    }

    /// What makes numbers of texts stays, and is refused where it stands.
    void textsThatAreReadAreRefused()
    {
        ProtoModel model;
        model.input("x", {2, 3}).texts("words", {"a", "b"}).output("y");
        model.node("Equal", {"words", "words"}, {"y"});
        QVERIFY(isRefused(model, "initializer 'words'"));
    }

    /// Lists of tensors that are made and read in one place are no lists.
    void listsAreTakenApart()
    {
        const auto list = [](std::int64_t keepdims, bool hasParts) {
            ProtoModel model;
            model.input("x", {2, 4}).constant("i", Tensor::scalar(std::int64_t{1})).output("y");
            model.constant("parts", Tensor::scalar(std::int64_t{2}));
            model.node("SplitToSequence", hasParts ? Texts{"x", "parts"} : Texts{"x"}, {"s"},
                       {{"axis", std::int64_t{1}}, {"keepdims", keepdims}});
            return model.node("SequenceAt", {"s", "i"}, {"y"});
        };
        QCOMPARE(QString::fromStdString(operators(list(0, false))), "Gather");
        QCOMPARE(QString::fromStdString(operators(list(1, false))), "Unsqueeze Gather");
        QCOMPARE(QString::fromStdString(operators(list(1, true))), "SplitToSequence SequenceAt"); // refused when run
        const auto made = [](const std::string& op, const Texts& operands, const graph::Attributes& attributes) {
            ProtoModel model;
            model.input("x", {2, 3}).input("z", {2, 3}).output("y");
            model.constant("last", Tensor::scalar(std::int64_t{-1})).node("SequenceConstruct", {"x", "z"}, {"s"});
            return model.node(op, operands, {"y"}, attributes);
        };
        QCOMPARE(QString::fromStdString(operators(made("SequenceAt", {"s", "last"}, {}))), "Identity");
        QCOMPARE(QString::fromStdString(operators(made("ConcatFromSequence", {"s"}, {{"axis", std::int64_t{1}}}))),
                 "Concat");
        QCOMPARE(QString::fromStdString(operators(
                     made("ConcatFromSequence", {"s"}, {{"axis", std::int64_t{1}}, {"new_axis", std::int64_t{1}}}))),
                 "Unsqueeze Unsqueeze Concat");
    }

    void blocksOfChannels()
    {
        for (const std::int64_t width : {8, 16}) {
            const Read graph = read(blockedLayers(width));
            RETRO_OK(graph);
            QCOMPARE(QString::fromStdString(operators(blockedLayers(width))), "Conv Relu MaxPool Conv Conv Identity");
            QVERIFY(constantOf(**graph, "h1/weight in order").bitEqual(wavy({20, 3, 3, 3}, 1)));
            QVERIFY(constantOf(**graph, "h1/bias in order").bitEqual(wavy({20}, 2)));
            QVERIFY(constantOf(**graph, "h2/weight in order").bitEqual(wavy({18, 20, 1, 1}, 3)));
            QVERIFY(constantOf(**graph, "h3/weight in order").bitEqual(wavy({18, 1, 3, 3}, 4)));
        }
        ProtoModel old = blockedLayers(8); // constants are inputs, too
        old.input("w1", {24, 3, 3, 3}).input("b1", {24});
        const Read graph = read(old);
        QVERIFY(graph.ok() && (*graph)->inputs().size() == 1);
        ProtoModel other = blockedLayers(8);
        other.proto().mutable_graph()->mutable_node(1)->set_op_type("Softsign");
        QVERIFY(isRefused(other, "this operator of com.microsoft.nchwc is not known"));
    }
};

QTEST_GUILESS_MAIN(KnownFunctionsTest)
#include "knownfunctionstest.moc"
