// SPDX-License-Identifier: Apache-2.0
// Relevance as one graph: each rule on each structure against the engine, in double; free axes; what is refused.
#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/formats/onnxmetadata.h"
#include "tests/core/engine/relevancenetworks.h"

#include <QTemporaryDir>
#include <QTest>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

using namespace retro;
using namespace retro::engine::testing;

namespace
{

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

/// Networks with a branch that is NaN or infinite where a Where replaces it, around the node "layer" in that branch.
std::vector<Small> masked()
{
    std::vector<Small> all;
    const tensor::Shape shape{2, 5};
    const auto full = [](double number) { return Tensor::full(tensor::DType::Float32, {}, number); };
    const auto chosen = [&](const std::string& name, const std::function<ValueId(Writer&, ValueId)>& branch) {
        ValueId x;
        Writer writer = start(x, shape);
        const ValueId isAbove = writer.node("Greater", "above", {x, writer.constant("zero", full(0))});
        const ValueId y = writer.node("Where", "choice", {isAbove, branch(writer, x), x});
        all.push_back(finished(name, std::move(writer), y, {shape}));
    };
    const auto one = [=](Writer& w) { return w.constant("one", full(1)); };
    chosen("logarithm", [=](Writer& w, ValueId x) {
        return w.node("Add", "more", {w.node("Log", "layer", {x}), one(w)});
    });
    chosen("sum with a logarithm", [=](Writer& w, ValueId x) {
        return w.node("Add", "layer", {w.node("Log", "log", {x}), x});
    });
    chosen("product with a root", [=](Writer& w, ValueId x) {
        return w.node("Mul", "layer", {w.node("Sqrt", "root", {x}), x});
    });
    chosen("quotient by a root", [=](Writer& w, ValueId x) {
        return w.node("Div", "layer", {x, w.node("Sqrt", "root", {x})});
    });
    chosen("power", [=](Writer& w, ValueId x) {
        const ValueId exponents = w.constant("exponents", randomTensor({5}, 5, 0.2, 0.8));
        return w.node("Sub", "less", {w.node("Pow", "layer", {x, exponents}), one(w)});
    });
    for (const bool isOfTwo : {false, true}) { // computed matrices
        ValueId x;
        Writer rows = start(x, {1, 2, 5});
        const ValueId shift = rows.constant("shift", Tensor::of<float>({2, 1}, std::vector<float>{-9, 9}));
        const ValueId root = rows.node("Sqrt", "root", {rows.node("Add", "shifted", {x, shift})});
        const ValueId other = isOfTwo ? rows.node("Transpose", "turned", {x}, {{"perm", Ints{0, 2, 1}}})
                                      : rows.constant("w", randomTensor({5, 4}, 6));
        const ValueId layer = rows.node("MatMul", "layer", {root, other});
        const ValueId isKept = rows.node("Greater", "kept", {shift, rows.constant("none", full(0))});
        const ValueId y = rows.node("Where", "choice", {isKept, layer, rows.constant("low", full(-9))});
        all.push_back(
            finished(isOfTwo ? "rows of a product" : "rows of a linear layer", std::move(rows), y, {{1, 2, 5}}));
    }
    return all;
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

    void maskedBranchesHandNothingOn()
    {
        for (const Small& small : masked()) {
            std::size_t written = 0;
            std::vector<std::string> rules = otherRules();
            rules.insert(rules.end(), linearRules().begin(), linearRules().end());
            for (const std::string& rule : rules) {
                bool isRefused = false;
                bool isNone = false;
                const std::string text = fault(small, rule, {}, isRefused, isNone);
                QVERIFY2(text.empty(), fmt::format("{}, {}: {}", small.name, rule, text).c_str());
                written += !isRefused && !isNone ? 1 : 0;
            }
            QVERIFY2(written >= 2, fmt::format("{}: only {} graphs", small.name, written).c_str());
        }
    }

    void freeAxesStayFree_data()
    {
        QTest::addColumn<bool>("hangsOver");
        QTest::newRow("whole windows") << false;
        QTest::newRow("last windows beyond the edge") << true;
    }

    void freeAxesStayFree()
    {
        QFETCH(bool, hangsOver);
        graph::GraphBuilder builder("free", 17);
        const auto x = builder.addInput(
            "x", tensor::DType::Float32,
            std::vector<graph::Dimension>{{std::nullopt, "N"}, {3, {}}, {std::nullopt, "H"}, {std::nullopt, "W"}});
        const auto add = [&](const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes) {
            return builder.addOp(op, op, std::move(inputs), op + "_out", std::move(attributes));
        };
        const auto layer = add("Conv",
                               {x, builder.addConstant("w", randomTensor({4, 3, 3, 3}, 1)),
                                builder.addConstant("b", randomTensor({4}, 2))},
                               {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
        const auto active = add("Relu", {layer}, {});
        const auto pooled = add("MaxPool", {active},
                                {{"kernel_shape", Ints{3, 3}},
                                 {"strides", Ints{2, 2}},
                                 {"pads", Ints{1, 1, 1, 1}},
                                 {"ceil_mode", std::int64_t{hangsOver ? 1 : 0}}});
        const auto mean = add("GlobalAveragePool", {pooled}, {});
        builder.addOutput(add("Flatten", {mean}, {}));
        RETRO_MADE(built, std::move(builder).build());
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
            if (hangsOver && usesTaps) { // how far over, follows from the extents
                QVERIFY(!made.ok() && made.error().where.find("'MaxPool'") != std::string::npos);
                continue;
            }
            RETRO_OK(made);
            for (const tensor::Shape& shape :
                 {tensor::Shape{1, 3, 9, 11}, {2, 3, 16, 16}, {8, 3, 13, 10}, {1, 3, 75, 48}}) {
                request.inputs = {randomTensor(shape, 5).to(tensor::DType::Float64)};
                RETRO_MADE(explained, engine::explain(*model, request));
                RETRO_MADE(found,
                           engine::runForward(*modelOf(made->graph),
                                              {request.inputs[0], Tensor::full(tensor::DType::Int64, {shape[0]}, -1)},
                                              execute::Precision::Double));
                const auto at = std::ranges::find(found->names, "relevance/x") - found->names.begin();
                const auto value = explained->model->graph().findValue("x");
                QVERIFY(apart(found->outputs[static_cast<std::size_t>(at)], explained->relevance[value->index()]) <=
                        1e-9);
            }
        }
    }

    void olderOperatorSetsAreWrittenInTheNewerForm()
    {
        graph::GraphBuilder builder("old", 9);
        const auto x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{2, 3, 6, 6});
        const auto add = [&](const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes) {
            return builder.addOp(op, op, std::move(inputs), op + "_out", std::move(attributes));
        };
        const auto layer = add("Conv", {x, builder.addConstant("w", randomTensor({4, 3, 3, 3}, 1))}, {});
        const auto clipped = add("Clip", {layer}, {{"min", 0.0}, {"max", 6.0}});
        const auto padded = add("Pad", {clipped}, {{"pads", Ints{0, 0, 1, 0, 0, 0, 0, 1}}});
        const auto mean = add("GlobalAveragePool", {padded}, {});
        const auto flat = add("Squeeze", {mean}, {{"axes", Ints{2, 3}}});
        builder.addOutput(add("Softmax", {flat}, {}));
        RETRO_MADE(built, std::move(builder).build());
        const engine::LoadedModelPointer model =
            modelOf(std::make_shared<const graph::Graph>(std::move(built).value()));
        engine::ExplainRequest request;
        request.composite = "epsilon_plus";
        request.precision = execute::Precision::Double;
        RETRO_MADE(made, engine::relevanceGraph(model, request, {}));
        for (const graph::Node& node : made->graph->nodes()) {
            QCOMPARE(node.opset, std::int64_t{17});
        }
        request.inputs = {randomTensor({2, 3, 6, 6}, 5).to(tensor::DType::Float64)};
        RETRO_MADE(explained, engine::explain(*model, request));
        const auto found =
            engine::runForward(*modelOf(made->graph), {request.inputs[0], Tensor::full(tensor::DType::Int64, {2}, -1)},
                               execute::Precision::Double);
        RETRO_OK(found);
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
            RETRO_MADE(made, engine::relevanceGraph(model, request, {}));
            QCOMPARE(made->chooser, std::string("target"));
            request.inputs = inputsFor(small);
            request.target = {engine::TargetRequest::Kind::Class, 2};
            RETRO_MADE(explained, engine::explain(*model, request));
            RETRO_MADE(found, engine::runForward(*modelOf(made->graph),
                                                 {request.inputs[0], Tensor::full(tensor::DType::Int64, {3}, 2)},
                                                 execute::Precision::Double));
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
            RETRO_MADE(made, engine::relevanceGraph(modelOf(small.graph), request, {}));
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
        RETRO_MADE(made, engine::relevanceGraph(model, request, form));
        QVERIFY(made->metadata.at("retrograde.target").ends_with(":2,0,argmax"));
        request.inputs = inputsFor(small);
        RETRO_MADE(explained, engine::explain(*model, request));
        RETRO_MADE(found, engine::runForward(*modelOf(made->graph), request.inputs, execute::Precision::Double));
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
        RETRO_MADE(made, engine::relevanceGraph(modelOf(writer.finish()), {}, {}));
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

    /// How many rows are chosen is known when the numbers are: a graph of one choice would be silent about others.
    void shapesThatDependOnDataAreRefused()
    {
        graph::GraphBuilder builder("chosen", 17);
        const auto x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{4, 3});
        const auto mask = builder.addInput("mask", tensor::DType::Int64, tensor::Shape{4});
        const auto put = [&](const char* op, const char* name, std::vector<ValueId> operands,
                             graph::Attributes attributes = {}) {
            const ValueId result = builder.addResult(name);
            builder.addNode({op, "", std::string(name) + "_node", "", 17, std::move(operands), {result}, attributes});
            return result;
        };
        const ValueId places = put("NonZero", "places", {mask});
        const ValueId flat = builder.addConstant("flat", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{-1}));
        const ValueId rows = put("Gather", "rows", {x, put("Reshape", "list", {places, flat})});
        builder.addOutput(put("ReduceMean", "scores", {rows}, {{"axes", Ints{0}}, {"keepdims", std::int64_t{1}}}));
        const auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
        RETRO_REFUSED(engine::relevanceGraph(modelOf(graph), {}, {}), "shapes in the model depend on the data");
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
        RETRO_MADE(made, engine::relevanceGraph(modelOf(linearMaps()[0].graph), {}, {}));
        QCOMPARE(made->metadata.at("retrograde.start"), std::string("logit"));
        QVERIFY(made->metadata.at("retrograde.rules").find("layer") != std::string::npos);
        for (const graph::Node& node : made->graph->nodes()) {
            QVERIFY2(node.domain.empty(), node.op.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(RelevanceGraphTest)
#include "relevancegraphtest.moc"
