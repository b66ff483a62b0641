// SPDX-License-Identifier: Apache-2.0
// Relevance as one graph: each rule on each structure against the engine, in double; free axes; what is refused.
#include "core/engine/explainer/relevancegraph.h"
#include "core/base/file.h"
#include "core/engine/explain/runforward.h"
#include "core/formats/onnx.h"
#include "core/formats/onnxmetadata.h"
#include "tests/core/rewrite/graphs.h"

#include <QTemporaryDir>
#include <QTest>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace retro;
using rewrite::testing::randomTensor;
using rewrite::testing::SharedGraph;
using rewrite::testing::ValueId;
using rewrite::testing::Writer;
using tensor::Tensor;

namespace
{

using Ints = std::vector<std::int64_t>;

engine::LoadedModelPointer modelOf(const SharedGraph& graph)
{
    auto rewritten = rewrite::rewrite(graph, {});
    if (!rewritten.ok()) {
        return nullptr;
    }
    auto model = std::make_shared<engine::LoadedModel>();
    model->name = "small";
    model->path = "small.json";
    model->rewritten = std::move(rewritten).value();
    model->read = graph;
    return model;
}

/// A small network around one node of interest, so that what arrives there is no constant.
struct Small
{
    std::string name;
    SharedGraph graph;
    std::vector<tensor::Shape> inputs;
    bool isAboveZero = false;
};

Writer start(ValueId& x, const tensor::Shape& shape)
{
    Writer writer;
    x = writer.input("x", shape);
    return writer;
}

Small finished(std::string name, Writer writer, ValueId y, std::vector<tensor::Shape> inputs)
{
    const ValueId flat = writer.node("Flatten", "flat", {y}, {{"axis", std::int64_t{1}}});
    writer.output(writer.node("Tanh", "scores", {flat}));
    return {std::move(name), writer.finish(), std::move(inputs)};
}

Small convolution(const std::string& name, const tensor::Shape& weight, const graph::Attributes& attributes,
                  bool behindRelu, const std::string& op = "Conv", bool hasBias = true)
{
    ValueId x;
    const tensor::Shape shape{2, 4, 7, 6};
    Writer writer = start(x, shape);
    const ValueId in = behindRelu ? writer.node("Relu", "in", {x}) : x;
    std::vector<ValueId> operands{in, writer.constant("w", randomTensor(weight, 3))};
    if (hasBias) {
        const auto group = attributes.contains("group") ? std::get<std::int64_t>(attributes.at("group")) : 1;
        const std::int64_t channels = op == "Conv" ? weight[0] : weight[1] * group;
        operands.push_back(writer.constant("b", randomTensor({channels}, 4)));
    }
    const ValueId y = writer.node(op, "layer", operands, attributes);
    return finished(name, std::move(writer), y, {shape});
}

std::vector<Small> linearMaps()
{
    std::vector<Small> all;
    all.push_back(convolution("conv", {3, 4, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, false));
    all.push_back(convolution("conv behind relu", {3, 4, 3, 2}, {{"strides", Ints{2, 1}}}, true));
    all.push_back(
        convolution("strided, pads apart", {3, 4, 3, 3}, {{"pads", Ints{0, 1, 2, 0}}, {"strides", Ints{2, 3}}}, false));
    all.push_back(
        convolution("dilated, grouped", {6, 2, 2, 3}, {{"group", std::int64_t{2}}, {"dilations", Ints{2, 1}}}, false));
    all.push_back(
        convolution("depthwise without bias", {4, 1, 3, 3}, {{"group", std::int64_t{4}}}, true, "Conv", false));
    all.push_back(
        convolution("same", {3, 4, 3, 4}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}, false));
    all.push_back(convolution("transposed", {4, 3, 3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}}, false,
                              "ConvTranspose"));
    all.push_back(convolution("transposed, more output", {4, 2, 2, 3},
                              {{"strides", Ints{3, 2}}, {"output_padding", Ints{1, 1}}, {"group", std::int64_t{2}}},
                              true, "ConvTranspose"));
    ValueId x;
    Writer dense = start(x, {3, 5});
    const ValueId gemm = dense.node(
        "Gemm", "layer", {x, dense.constant("w", randomTensor({4, 5}, 5)), dense.constant("b", randomTensor({4}, 6))},
        {{"transB", std::int64_t{1}}, {"alpha", -1.5}, {"beta", 0.5}});
    all.push_back(finished("gemm", std::move(dense), gemm, {{3, 5}}));
    Writer product = start(x, {2, 3, 5});
    const ValueId linear = product.node("MatMul", "layer", {x, product.constant("w", randomTensor({5, 4}, 7))});
    const ValueId biased = product.node("Add", "bias", {linear, product.constant("b", randomTensor({4}, 8))});
    all.push_back(finished("linear layer", std::move(product), biased, {{2, 3, 5}}));
    Writer left = start(x, {2, 5, 3});
    const ValueId y = left.node("MatMul", "layer", {left.constant("w", randomTensor({4, 5}, 9)), x});
    all.push_back(finished("weight on the left", std::move(left), y, {{2, 5, 3}}));
    return all;
}

std::vector<Small> others()
{
    std::vector<Small> all;
    ValueId x;
    const tensor::Shape image{2, 3, 6, 5};
    const auto one = [&](const std::string& name, const std::string& op, const graph::Attributes& attributes,
                         const tensor::Shape& shape, bool behindRelu = false) {
        Writer writer = start(x, shape);
        const ValueId in = behindRelu ? writer.node("Relu", "in", {x}) : x;
        const ValueId y = writer.node(op, "layer", {in}, attributes);
        all.push_back(finished(name, std::move(writer), y, {shape}));
    };
    const Ints pads{1, 0, 1, 1};
    one("max pool", "MaxPool", {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, image);
    one("max pool that overlaps", "MaxPool", {{"kernel_shape", Ints{3, 2}}, {"pads", pads}}, image, true);
    one("average pool", "AveragePool", {{"kernel_shape", Ints{3, 2}}, {"pads", pads}}, image);
    one("average pool with its pads", "AveragePool",
        {{"kernel_shape", Ints{2, 3}}, {"pads", pads}, {"count_include_pad", std::int64_t{1}}, {"strides", Ints{2, 1}}},
        image, true);
    one("global average", "GlobalAveragePool", {}, image);
    one("global maximum", "GlobalMaxPool", {}, image);
    one("mean", "ReduceMean", {{"axes", Ints{-1, 1}}, {"keepdims", std::int64_t{0}}}, image);
    one("softmax", "Softmax", {{"axis", std::int64_t{-1}}}, {2, 3, 4});
    one("log softmax", "LogSoftmax", {{"axis", std::int64_t{1}}}, {2, 3, 4});
    one("sigmoid", "Sigmoid", {}, {2, 5});
    one("leaky", "LeakyRelu", {{"alpha", 0.2}}, {2, 5});
    one("relu", "Relu", {}, {2, 5});
    one("softplus", "Softplus", {}, {2, 5});
    one("transpose", "Transpose", {{"perm", Ints{0, 2, 3, 1}}}, image);
    one("negation", "Neg", {}, {2, 5});
    const auto two = [&](const std::string& name, const std::string& op, const tensor::Shape& a,
                         const tensor::Shape& b) {
        Writer writer = start(x, a);
        const ValueId u = writer.input("u", b);
        const ValueId y = writer.node(op, "layer", {x, u});
        all.push_back(finished(name, std::move(writer), y, {a, b}));
    };
    two("sum", "Add", {2, 3, 4}, {2, 3, 4});
    two("difference that broadcasts", "Sub", {2, 3, 4}, {3, 1});
    two("product", "Mul", {2, 3, 4}, {2, 1, 4});
    two("quotient", "Div", {2, 3, 4}, {2, 3, 1});
    two("product of matrices", "MatMul", {2, 3, 4}, {2, 4, 5});
    two("product of matrices that broadcasts", "MatMul", {2, 3, 4}, {4, 5});
    two("larger of two", "Max", {2, 3, 4}, {2, 3, 4});
    Writer joined = start(x, {2, 3, 4});
    const ValueId u = joined.input("u", {2, 2, 4});
    const ValueId both = joined.node("Concat", "layer", {x, u}, {{"axis", std::int64_t{1}}});
    all.push_back(finished("concatenation", std::move(joined), both, {{2, 3, 4}, {2, 2, 4}}));
    Writer cut = start(x, {2, 6, 4});
    const ValueId part = cut.node("Slice", "layer",
                                  {x, cut.constant("s", Tensor::of<std::int64_t>({1}, Ints{1})),
                                   cut.constant("e", Tensor::of<std::int64_t>({1}, Ints{-1})),
                                   cut.constant("a", Tensor::of<std::int64_t>({1}, Ints{1}))});
    all.push_back(finished("slice", std::move(cut), part, {{2, 6, 4}}));
    Writer chosen = start(x, {2, 6, 4});
    const ValueId row =
        chosen.node("Gather", "layer", {x, chosen.constant("i", Tensor::of<std::int64_t>({1}, Ints{-2}))},
                    {{"axis", std::int64_t{1}}});
    all.push_back(finished("one row", std::move(chosen), row, {{2, 6, 4}}));
    Writer norm = start(x, {2, 3, 5});
    const ValueId y =
        norm.node("LayerNormalization", "layer",
                  {x, norm.constant("w", randomTensor({5}, 11)), norm.constant("b", randomTensor({5}, 12))},
                  {{"axis", std::int64_t{-1}}, {"epsilon", 1e-3}});
    all.push_back(finished("layer normalization", std::move(norm), y, {{2, 3, 5}}));
    Writer batch = start(x, image);
    const ValueId positive = batch.node("Relu", "in", {x});
    all.push_back(finished("batch normalization", std::move(batch), batch.batchNorm("layer", positive, 3), {image}));
    return all;
}

const std::vector<std::string>& linearRules()
{
    static const std::vector<std::string> rules{"lrp-0",
                                                "epsilon:epsilon=0.01",
                                                "epsilon:epsilon=0.01,bias=zero",
                                                "epsilon:epsilon=0.01,bias=spread",
                                                "epsilon:epsilon=0.01,bias=spread,bias_factor=0.4",
                                                "epsilon:epsilon=0.1,stabiliser=clip",
                                                "epsilon:epsilon=0.1,stabiliser=rms",
                                                "epsilon:epsilon=0.1,signed=false",
                                                "epsilon:epsilon=0.01,filter=0.3",
                                                "z-plus",
                                                "z-plus:bias=zero",
                                                "z-plus:bias=spread",
                                                "z-plus:form=raw",
                                                "alpha-beta:alpha=2,beta=1",
                                                "alpha-beta:alpha=2,beta=1,bias_parts=both,epsilon=0.01",
                                                "alpha-beta:alpha=1.5,beta=0.5,bias=spread",
                                                "gamma:gamma=0.25",
                                                "gamma:gamma=0.5,form=original,epsilon=0.01",
                                                "gamma:gamma=0.5,scale_bias=false,bias=spread",
                                                "flat",
                                                "w-square",
                                                "w-square:bias=zero",
                                                "z-box:low=-3,high=3",
                                                "gradient",
                                                "stop"};
    return rules;
}

const std::vector<std::string>& otherRules()
{
    static const std::vector<std::string> rules{"pass",
                                                "gradient",
                                                "gradient:share=equal",
                                                "gradient:share=first",
                                                "norm:epsilon=0.01",
                                                "norm:epsilon=0.1,stabiliser=clip",
                                                "uniform",
                                                "abs-ratio",
                                                "signal-take-all:signal=1",
                                                "epsilon:epsilon=0.01",
                                                "epsilon:epsilon=0.01,bilinear=full",
                                                "epsilon:epsilon=0.01,bias=spread",
                                                "lrp-0",
                                                "winner-take-all",
                                                "softmax-weighted",
                                                "softmax-weighted:beta=4",
                                                "proportional:epsilon=0.1",
                                                "softmax-taylor",
                                                "detached-deviation:epsilon=0.01",
                                                "detached-gradient",
                                                "secant",
                                                "deconvnet",
                                                "guided-backprop",
                                                "beta-smooth:beta=3",
                                                "stop"};
    return rules;
}

std::vector<Tensor> inputsFor(const Small& small)
{
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < small.inputs.size(); ++i) {
        inputs.push_back(randomTensor(small.inputs[i], static_cast<unsigned>(31 + i)).to(tensor::DType::Float64));
    }
    return inputs;
}

double apart(const Tensor& a, const Tensor& b)
{
    if (!a.isValid() || !b.isValid() || a.shape() != b.shape()) {
        return HUGE_VAL;
    }
    double difference = 0;
    double largest = 0;
    for (std::int64_t i = 0; i < b.size(); ++i) {
        const double one = std::abs(a.at(i) - b.at(i));
        difference = std::isnan(one) ? HUGE_VAL : std::max(difference, one);
        largest = std::max(largest, std::abs(b.at(i)));
    }
    return difference == 0 ? 0 : difference / std::max(largest, 1e-300);
}

/// Why the graph of a rule at the node "layer" differs from the engine; empty where it does not. `isRefused` is set
/// where the rule has no form in a graph; `isNone` where the engine has no such rule for the node.
std::string fault(const Small& small, const std::string& rule, const engine::RelevanceGraphForm& form, bool& isRefused,
                  bool& isNone)
{
    const engine::LoadedModelPointer model = modelOf(small.graph);
    if (!model) {
        return "the model cannot be made";
    }
    engine::ExplainRequest request;
    request.composite = fmt::format("epsilon | name:layer={}", rule);
    request.precision = execute::Precision::Double;
    request.inputs = inputsFor(small);
    request.target.kind = engine::TargetRequest::Kind::Argmax;
    const auto explained = engine::explain(*model, request);
    if (!explained.ok()) {
        isNone = true;
        return {};
    }
    const auto made = engine::relevanceGraph(model, request, form);
    if (!made.ok()) {
        isRefused = true;
        return made.error().where.find("layer") != std::string::npos ? "" : made.error().text();
    }
    const engine::LoadedModelPointer graph = modelOf(made->graph);
    std::vector<Tensor> inputs = request.inputs;
    inputs.push_back(Tensor::full(tensor::DType::Int64, {request.inputs.front().shape().front()}, -1));
    const auto found = engine::runForward(*graph, inputs, execute::Precision::Double);
    if (!found.ok()) {
        return found.error().text();
    }
    for (std::size_t i = 0; i < found->names.size(); ++i) {
        if (!found->names[i].starts_with("relevance/")) {
            continue;
        }
        const auto value = explained->model->graph().findValue(found->names[i].substr(10));
        Tensor expected = explained->relevance[value->index()];
        if (!expected.isValid()) {
            expected = Tensor::zeros(tensor::DType::Float64, found->outputs[i].shape());
        }
        if (const double difference = apart(found->outputs[i], expected); !(difference <= 1e-9)) {
            return fmt::format("{} differs by {:.2g}", found->names[i], difference);
        }
    }
    return {};
}

} // namespace

class RelevanceGraphTest : public QObject
{
    Q_OBJECT

private slots:
    void ruleAgreesWithTheEngine_data()
    {
        QTest::addColumn<int>("network");
        const std::size_t count = linearMaps().size() + others().size();
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t linear = linearMaps().size();
            QTest::newRow((i < linear ? linearMaps()[i].name : others()[i - linear].name).c_str())
                << static_cast<int>(i);
        }
    }

    void ruleAgreesWithTheEngine()
    {
        QFETCH(int, network);
        const auto at = static_cast<std::size_t>(network);
        const std::size_t linear = linearMaps().size();
        const Small small = at < linear ? linearMaps()[at] : others()[at - linear];
        QVERIFY(small.graph);
        std::size_t written = 0;
        for (const std::string& rule : at < linear ? linearRules() : otherRules()) {
            for (const bool usesTaps : {false, true}) {
                engine::RelevanceGraphForm form;
                form.usesTaps = usesTaps;
                bool isRefused = false;
                bool isNone = false;
                const std::string text = fault(small, rule, form, isRefused, isNone);
                QVERIFY2(text.empty(), fmt::format("{}, {}: {}", small.name, rule, text).c_str());
                QVERIFY2(at >= linear || isNone || !isRefused,
                         fmt::format("{}, {} is refused", small.name, rule).c_str());
                written += !isRefused && !isNone ? 1 : 0;
            }
        }
        QVERIFY2(written >= (at < linear ? 40U : 4U), fmt::format("only {} graphs", written).c_str());
    }

    void freeAxesStayFree()
    {
        Writer writer;
        graph::GraphBuilder builder("free");
        builder.setOpset("", 17);
        const auto x = builder.addInput(
            "x", tensor::DType::Float32,
            std::vector<graph::Dimension>{{std::nullopt, "N"}, {3, {}}, {std::nullopt, "H"}, {std::nullopt, "W"}});
        const auto add = [&](const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes) {
            const auto result = builder.addResult(op + "_out");
            builder.addNode({op, "", op, "", 17, std::move(inputs), {result}, std::move(attributes)});
            return result;
        };
        const auto layer = add("Conv",
                               {x, builder.addConstant("w", randomTensor({4, 3, 3, 3}, 1)),
                                builder.addConstant("b", randomTensor({4}, 2))},
                               {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
        const auto active = add("Relu", {layer}, {});
        const auto pooled = add("MaxPool", {active},
                                {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
        const auto mean = add("GlobalAveragePool", {pooled}, {});
        builder.addOutput(add("Flatten", {mean}, {}));
        auto built = std::move(builder).build();
        QVERIFY(built.ok());
        const engine::LoadedModelPointer model =
            modelOf(std::make_shared<const graph::Graph>(std::move(built).value()));
        QVERIFY(model);
        for (const bool usesTaps : {false, true}) {
            engine::ExplainRequest request;
            request.composite = "epsilon_plus";
            request.precision = execute::Precision::Double;
            engine::RelevanceGraphForm form;
            form.usesTaps = usesTaps;
            const auto made = engine::relevanceGraph(model, request, form);
            QVERIFY2(made.ok(), made.ok() ? "" : made.error().text().c_str());
            for (const tensor::Shape& shape : {tensor::Shape{1, 3, 9, 11}, {2, 3, 16, 16}, {8, 3, 13, 10}}) {
                request.inputs = {randomTensor(shape, 5).to(tensor::DType::Float64)};
                const auto explained = engine::explain(*model, request);
                QVERIFY(explained.ok());
                const auto found = engine::runForward(
                    *modelOf(made->graph), {request.inputs[0], Tensor::full(tensor::DType::Int64, {shape[0]}, -1)},
                    execute::Precision::Double);
                QVERIFY2(found.ok(), found.ok() ? "" : found.error().text().c_str());
                const auto at = std::ranges::find(found->names, "relevance/x") - found->names.begin();
                const auto value = explained->model->graph().findValue("x");
                QVERIFY(apart(found->outputs[static_cast<std::size_t>(at)], explained->relevance[value->index()]) <=
                        1e-9);
            }
        }
    }

    void olderOperatorSetsAreWrittenInTheNewerForm()
    {
        graph::GraphBuilder builder("old");
        builder.setOpset("", 9);
        const auto x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{2, 3, 6, 6});
        const auto add = [&](const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes) {
            const auto result = builder.addResult(op + "_out");
            builder.addNode({op, "", op, "", 9, std::move(inputs), {result}, std::move(attributes)});
            return result;
        };
        const auto layer = add("Conv", {x, builder.addConstant("w", randomTensor({4, 3, 3, 3}, 1))}, {});
        const auto clipped = add("Clip", {layer}, {{"min", 0.0}, {"max", 6.0}});
        const auto padded = add("Pad", {clipped}, {{"pads", Ints{0, 0, 1, 0, 0, 0, 0, 1}}});
        const auto mean = add("GlobalAveragePool", {padded}, {});
        const auto flat = add("Squeeze", {mean}, {{"axes", Ints{2, 3}}});
        builder.addOutput(add("Softmax", {flat}, {}));
        auto built = std::move(builder).build();
        QVERIFY(built.ok());
        const engine::LoadedModelPointer model =
            modelOf(std::make_shared<const graph::Graph>(std::move(built).value()));
        engine::ExplainRequest request;
        request.composite = "epsilon_plus";
        request.precision = execute::Precision::Double;
        const auto made = engine::relevanceGraph(model, request, {});
        QVERIFY2(made.ok(), made.ok() ? "" : made.error().text().c_str());
        for (const graph::Node& node : made->graph->nodes()) {
            QCOMPARE(node.opset, std::int64_t{17});
        }
        request.inputs = {randomTensor({2, 3, 6, 6}, 5).to(tensor::DType::Float64)};
        const auto explained = engine::explain(*model, request);
        QVERIFY(explained.ok());
        const auto found =
            engine::runForward(*modelOf(made->graph), {request.inputs[0], Tensor::full(tensor::DType::Int64, {2}, -1)},
                               execute::Precision::Double);
        QVERIFY2(found.ok(), found.ok() ? "" : found.error().text().c_str());
        const auto at = std::ranges::find(found->names, "relevance/x") - found->names.begin();
        const auto value = explained->model->graph().findValue("x");
        QVERIFY(apart(found->outputs[static_cast<std::size_t>(at)], explained->relevance[value->index()]) <= 1e-9);
    }

    void startIsChosenWhenItRuns()
    {
        const Small small = linearMaps()[8]; // the dense layer, 4 classes
        const engine::LoadedModelPointer model = modelOf(small.graph);
        for (const auto kind : {engine::StartKind::Logit, engine::StartKind::One, engine::StartKind::Contrastive}) {
            engine::ExplainRequest request;
            request.composite = "epsilon";
            request.start.kind = kind;
            request.precision = execute::Precision::Double;
            const auto made = engine::relevanceGraph(model, request, {});
            QVERIFY(made.ok());
            QCOMPARE(made->chooser, std::string("target"));
            request.inputs = inputsFor(small);
            request.target = {engine::TargetRequest::Kind::Class, 2};
            const auto explained = engine::explain(*model, request);
            QVERIFY(explained.ok());
            const auto found = engine::runForward(*modelOf(made->graph),
                                                  {request.inputs[0], Tensor::full(tensor::DType::Int64, {3}, 2)},
                                                  execute::Precision::Double);
            QVERIFY(found.ok());
            const auto at = std::ranges::find(found->names, "relevance/x") - found->names.begin();
            const auto value = explained->model->graph().findValue("x");
            QVERIFY(apart(found->outputs[static_cast<std::size_t>(at)], explained->relevance[value->index()]) <= 1e-9);
        }
    }

    void anIndexThatDoesNotExistIsNoNumber()
    {
        const Small small = linearMaps()[8]; // the dense layer, 4 classes, 3 samples
        for (const auto kind : {engine::StartKind::Logit, engine::StartKind::One, engine::StartKind::Contrastive}) {
            engine::ExplainRequest request;
            request.composite = "epsilon";
            request.start.kind = kind;
            const auto made = engine::relevanceGraph(modelOf(small.graph), request, {});
            QVERIFY(made.ok());
            const Tensor chosen = Tensor::of<std::int64_t>({3}, Ints{3, 4, -1});
            const auto found =
                engine::runForward(*modelOf(made->graph), {inputsFor(small)[0], chosen}, execute::Precision::Float);
            QVERIFY(found.ok());
            const auto at = std::ranges::find(found->names, "relevance/x") - found->names.begin();
            const Tensor& relevance = found->outputs[static_cast<std::size_t>(at)];
            const std::int64_t row = relevance.size() / 3;
            for (std::int64_t i = 0; i < relevance.size(); ++i) {
                QCOMPARE(std::isnan(relevance.at(i)), i / row == 1);
            }
        }
    }

    void severalTargetsStartTogether()
    {
        const Small small = linearMaps()[8];
        const engine::LoadedModelPointer model = modelOf(small.graph);
        engine::ExplainRequest request;
        request.composite = "epsilon";
        request.precision = execute::Precision::Double;
        request.target = {engine::TargetRequest::Kind::Class, 2};
        request.alsoTargets = {{engine::TargetRequest::Kind::Class, 0}, {}};
        engine::RelevanceGraphForm form;
        form.start = engine::GraphStart::Fixed;
        const auto made = engine::relevanceGraph(model, request, form);
        QVERIFY2(made.ok(), made.ok() ? "" : made.error().text().c_str());
        QVERIFY(made->metadata.at("retrograde.target").ends_with(":2,0,argmax"));
        request.inputs = inputsFor(small);
        const auto explained = engine::explain(*model, request);
        QVERIFY(explained.ok());
        const auto found = engine::runForward(*modelOf(made->graph), request.inputs, execute::Precision::Double);
        QVERIFY(found.ok());
        const auto at = std::ranges::find(found->names, "relevance/x") - found->names.begin();
        const auto value = explained->model->graph().findValue("x");
        QVERIFY(apart(found->outputs[static_cast<std::size_t>(at)], explained->relevance[value->index()]) <= 1e-9);
        request.alsoTargets[0].classIndex = 4;
        QVERIFY(!engine::relevanceGraph(model, request, form).ok());
    }

    void aSoftmaxBehindTheTargetIsSaid()
    {
        ValueId x;
        Writer writer = start(x, {1, 5});
        const ValueId scores = writer.node("MatMul", "dense", {x, writer.constant("w", randomTensor({5, 4}, 5))});
        writer.output(writer.node("Softmax", "probabilities", {scores}));
        const auto made = engine::relevanceGraph(modelOf(writer.finish()), {}, {});
        QVERIFY(made.ok());
        QVERIFY(std::ranges::any_of(
            made->warnings, [](const std::string& warning) { return warning.find("softmax") != std::string::npos; }));
    }

    void whatHasNoFormIsRefusedByName()
    {
        const Small small = others()[2]; // average pooling
        engine::ExplainRequest request;
        request.composite = "epsilon | name:layer=abs-ratio";
        const auto made = engine::relevanceGraph(modelOf(small.graph), request, {});
        QVERIFY(!made.ok());
        QVERIFY(made.error().where.find("layer") != std::string::npos);
        QVERIFY(made.error().message.find("abs-ratio") != std::string::npos);
        request.composite = "epsilon";
        const auto unknown = engine::relevanceGraph(modelOf(small.graph), request, {.values = {"nothing"}});
        QVERIFY(!unknown.ok());
        QVERIFY(unknown.error().message.find("nothing") != std::string::npos);
    }

    void aFileOfOneSaysWhatItIs()
    {
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("explainer.onnx").toStdString();
        engine::ExplainRequest request;
        request.composite = "epsilon";
        QVERIFY(engine::writeRelevanceGraph(file, modelOf(linearMaps()[0].graph), request, {}).ok());
        QCOMPARE(formats::onnxMetadata(file).at("retrograde.start"), std::string("logit"));
        QVERIFY(formats::explanationText(file).find("under epsilon") != std::string::npos);
        std::filesystem::resize_file(file, 10); // cut off
        QVERIFY(formats::onnxMetadata(file).empty());
        const std::filesystem::path plain = folder.filePath("plain.onnx").toStdString();
        QVERIFY(base::writeFile(plain, formats::toOnnx(*linearMaps()[0].graph).value()).ok());
        QVERIFY(formats::explanationText(plain).empty());
        QVERIFY(formats::explanationText(folder.filePath("missing.onnx").toStdString()).empty());
    }

    void graphSaysWhatItIs()
    {
        const auto made = engine::relevanceGraph(modelOf(linearMaps()[0].graph), {}, {});
        QVERIFY(made.ok());
        QCOMPARE(made->metadata.at("retrograde.start"), std::string("logit"));
        QVERIFY(made->metadata.at("retrograde.rules").find("layer") != std::string::npos);
        for (const graph::Node& node : made->graph->nodes()) {
            QVERIFY2(node.domain.empty(), node.op.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(RelevanceGraphTest)
#include "relevancegraphtest.moc"
