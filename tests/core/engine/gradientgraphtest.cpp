// SPDX-License-Identifier: Apache-2.0
// The gradient as a graph of standard operators: run like any model, it gives what the tape gives.
#include <QtTest>

#include "core/engine/gradient/graphdot.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/gradient/rules.h"
#include "core/engine/gradient/writegradientgraph.h"
#include "core/engine/input/inputs.h"
#include "core/execute/forward.h"
#include "core/formats/graphjson.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "tests/core/engine/gradientgraphcases.h"

#include <map>
#include <utility>

using namespace retro;
using graph::Attributes;
using graph::ValueId;
using tensor::Shape;
using tensor::Tensor;
using namespace retro::tests;

namespace
{

constexpr auto kDouble = execute::Precision::Double;

std::shared_ptr<const graph::Graph> graphOf(const Case& made)
{
    graph::GraphBuilder builder("one", made.opset);
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
    const std::vector<ValueId> listed = node.inputs;
    for (std::size_t slot = 0; slot < made.order.size(); ++slot) {
        node.inputs[slot] = listed[made.order[slot]];
    }
    for (std::size_t k = 0; k < made.outputs; ++k) {
        node.outputs.push_back(builder.addResult("y" + std::to_string(k)));
    }
    const ValueId output = made.isOfFirst ? node.outputs.front() : node.outputs.back();
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

/// "" when the joined graph that `written` is gives, for what `tape` was asked, its gradients to within `tolerance`.
QString apart(const engine::GradientRequest& request, const engine::GradientResult& tape,
              const std::shared_ptr<const graph::Graph>& written, double tolerance)
{
    std::vector<Tensor> given = request.inputs;
    given.push_back(tape.target.start);
    std::string fault;
    const auto again = bound(written, given, fault);
    if (!again) {
        return QString::fromStdString(fault);
    }
    const auto result = execute::forward(again, given, execute::SavePolicy::Nothing);
    if (!result.ok()) {
        return QString::fromStdString(result.error().text());
    }
    const std::size_t others = result->outputs.size() - tape.gradients.size(); // the gradients come last
    for (std::size_t i = 0; i < tape.gradients.size(); ++i) {
        const double off = distance(result->outputs[others + i], tape.gradients[i]);
        if (!(off < tolerance)) {
            return QStringLiteral("gradient %1 is %2 apart").arg(i).arg(off);
        }
    }
    return {};
}

engine::LoadedModelPointer modelOf(const std::shared_ptr<const graph::Graph>& graph,
                                   const rewrite::RewriteOptions& options = rewrite::noRewrites())
{
    auto model = std::make_shared<engine::LoadedModel>();
    model->rewritten = rewrite::rewrite(graph, options).value();
    return model;
}

/// "" when the joined gradient graph of a model gives what the tape gives.
QString offTape(const engine::LoadedModelPointer& model, const std::vector<Tensor>& inputs, double tolerance = 1e-9)
{
    engine::GradientRequest request;
    request.inputs = inputs;
    request.precision = kDouble;
    const auto gradient = engine::gradientGraph(model, request, true);
    const auto tape = engine::gradient(*model, request);
    return gradient.ok() && tape.ok()
               ? apart(request, *tape, gradient->graph, tolerance)
               : QString::fromStdString(gradient.ok() ? tape.error().text() : gradient.error().text());
}

/// A graph as it is read again from the text or bytes of a file.
base::Result<std::shared_ptr<const graph::Graph>> readAgain(const graph::Graph& graph, bool isJson)
{
    if (isJson) {
        return formats::parseGraphJson(formats::toGraphJson(graph), "gradient.json");
    }
    const auto bytes = formats::toOnnx(graph);
    return bytes.ok() ? formats::parseOnnx(*bytes, "gradient.onnx") : bytes.error();
}

/// "" when every node that the rules wrote has the form of its operator set: bounds and widths were attributes once,
/// and operators came later.
std::string anachronism(const graph::Graph& graph)
{
    const std::map<std::string, std::int64_t> since{{"ScatterElements", 11}, {"GatherElements", 11}, {"CumSum", 11},
                                                    {"ScatterND", 11},       {"GatherND", 11},       {"Where", 9}};
    const std::int64_t opset = graph.opsets().at("");
    for (const graph::Node& node : graph.nodes()) {
        const std::size_t count = node.inputs.size();
        const auto at = since.find(node.op);
        const bool isLater = at != since.end() && opset < at->second;
        const bool isOtherForm =
            (node.op == "Slice" && (count == 1) != (opset < 10)) ||
            (node.op == "Pad" && (count == 1) != (opset < 11)) || (node.op == "Gemm" && count < 3 && opset < 11) ||
            (node.op == "Scatter" && opset > 10) || (node.op == "ReduceSum" && (count == 1) != (opset < 13)) ||
            (node.op == "ReduceMean" && (count == 1) != (opset < 18));
        const bool adds = node.attributes.contains("reduction") && opset < 16;
        if (isLater || isOtherForm || adds) {
            return node.op + " is not of operator set " + std::to_string(opset);
        }
    }
    return "";
}

/// "" when the gradient graph of `target`, written as ONNX or graph JSON, read again and run, gives what the tape
/// gives.
std::string difference(const std::shared_ptr<const execute::BoundModel>& model, const std::vector<Tensor>& inputs,
                       ValueId target, bool isJoined, bool isJson = false)
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
    if (std::string wrong = anachronism(*made->graph); !isJoined && !wrong.empty()) {
        return wrong;
    }
    const auto read = readAgain(*made->graph, isJson);
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

} // namespace

class GradientGraphTest : public QObject
{
    Q_OBJECT

private slots:
    void eachOperatorGivesWhatTheTapeGives_data()
    {
        QTest::addColumn<int>("index");
        int index = 0;
        for (const auto& [name, made] : gradientGraphCases()) {
            QTest::newRow(name.c_str()) << index++;
        }
    }

    void eachOperatorGivesWhatTheTapeGives()
    {
        QFETCH(int, index);
        const Case made = gradientGraphCases()[static_cast<std::size_t>(index)].second;
        std::vector<Tensor> inputs;
        for (const Shape& shape : made.inputs) {
            const Tensor plain = drawn(shape, static_cast<std::uint32_t>(inputs.size()));
            const Tensor shifted = ops::algebra::add(plain, Tensor::full(tensor::DType::Float64, shape, made.shift));
            inputs.push_back(ops::algebra::scale(shifted, made.scale));
        }
        RETRO_MADE(graph, graphOf(made));
        std::string fault;
        const auto model = bound(graph, inputs, fault);
        QVERIFY2(model, fault.c_str());
        for (const bool isJoined : {true, false}) {
            const std::string off = difference(model, inputs, graph->outputs().front(), isJoined);
            QVERIFY2(off.empty(), off.c_str());
        }
    }

    void anOperatorOfManyStepsIsWrittenOut_data()
    {
        QTest::addColumn<QString>("op");
        QTest::addColumn<int>("opset");
        QTest::addColumn<bool>("isClipped");
        QTest::addColumn<bool>("isLearned");
        for (const char* op : {"LSTM", "GRU", "RNN"}) {
            for (const int opset : {9, 10, 11, 12, 13, 14, 17}) {
                for (const bool isLearned : {false, true}) {
                    QTest::addRow("%s, opset %d%s", op, opset, isLearned ? ", weights too" : "")
                        << QString::fromLatin1(op) << opset << (opset % 2 == 0) << isLearned;
                }
            }
        }
    }

    void anOperatorOfManyStepsIsWrittenOut()
    {
        QFETCH(QString, op);
        QFETCH(int, opset);
        QFETCH(bool, isClipped);
        QFETCH(bool, isLearned);
        const std::int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
        const std::int64_t directions = isLearned ? 2 : 1;
        std::vector<Tensor> inputs{drawn({3, 1, 4}, 5)};
        std::vector<Tensor> weights{drawn({directions, 5 * gates, 4}, 1), drawn({directions, 5 * gates, 5}, 2),
                                    drawn({directions, 10 * gates}, 3)};
        Case made{op.toStdString(), {{3, 1, 4}}, weights, {{"hidden_size", std::int64_t{5}}}, 1, opset};
        if (isLearned) {
            made.attributes["direction"] = std::string("bidirectional");
            if (op == "GRU") {
                made.attributes["linear_before_reset"] = static_cast<std::int64_t>(opset % 3 == 0);
            }
            for (const Tensor& one : std::exchange(made.constants, {})) {
                made.inputs.push_back(one.shape());
                inputs.push_back(one);
            }
        }
        if (isClipped) {
            made.attributes["clip"] = 3.5; // of some
        }
        const auto graph = graphOf(made);
        const engine::LoadedModelPointer whole = modelOf(graph);
        engine::GradientRequest request;
        request.inputs = inputs;
        request.precision = kDouble;
        RETRO_MADE(gradient, engine::gradientGraph(whole, request, true));
        for (const graph::Node& node : gradient->graph->nodes()) {
            QVERIFY2(node.domain.empty() && node.op != made.op, node.op.c_str());
        }
        const std::string wrong = anachronism(*gradient->graph);
        QVERIFY2(wrong.empty(), wrong.c_str());
        RETRO_MADE(read, readAgain(*gradient->graph, false));
        std::string fault;
        const auto model = bound(graph, request.inputs, fault);
        QVERIFY2(model, fault.c_str());
        RETRO_MADE(tape, engine::gradient(model, request));
        const QString off = apart(request, *tape, *read, 1e-9);
        QVERIFY2(off.isEmpty(), qPrintable(off));
    }

    /// The file leaves batch and steps open, so that only the inputs say what an LSTM comes to.
    void anOperatorOfManyStepsIsWrittenOutForTheInputs()
    {
        const std::filesystem::path folder = RETRO_SOURCE_DIR "/samples/marked-step";
        RETRO_MADE(loaded, engine::loadModel(folder / "marked-step.onnx", rewrite::noRewrites()));
        RETRO_MADE(inputs, engine::resolveInputs({(folder / "early.npy").string()}, *(*loaded)->graph(), {}));
        // Constants of a float graph are rounded to float.
        const QString off = offTape(*loaded, {inputs->front().to(tensor::DType::Float64)}, 1e-6);
        QVERIFY2(off.isEmpty(), qPrintable(off));
    }

    /// What an If hands on has a shape only when its branch is written out.
    void anOperatorOfManyStepsBehindABranchIsWrittenOut()
    {
        graph::GraphBuilder inner("branch", 17);
        const ValueId given = inner.addInput("given", tensor::DType::Float64, Shape{3, 1, 4});
        const ValueId bent = inner.addOp("Tanh", "bend", {given}, "bent");
        inner.addOutput(bent);
        const auto body = std::make_shared<const graph::Graph>(std::move(inner).build().value());
        graph::GraphBuilder builder("branched", 17);
        const ValueId x = builder.addInput("x", tensor::DType::Float64, Shape{3, 1, 4});
        const bool isThen = true;
        const ValueId is = builder.addConstant("is", Tensor::of<bool>({}, std::span<const bool>(&isThen, 1)));
        const ValueId y =
            builder.addOp("If", "choice", {is, x}, "y",
                          {{"then_branch", graph::Subgraph{body, 1}}, {"else_branch", graph::Subgraph{body, 1}}});
        const ValueId last = builder.addResult("last");
        builder.addNode(
            {"GRU",
             "",
             "steps",
             "",
             17,
             {y, builder.addConstant("W", drawn({1, 15, 4}, 1)), builder.addConstant("R", drawn({1, 15, 5}, 2))},
             {last},
             {{"hidden_size", std::int64_t{5}}}});
        builder.addOutput(last);
        const auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
        const QString off = offTape(modelOf(graph), {drawn({3, 1, 4}, 5)});
        QVERIFY2(off.isEmpty(), qPrintable(off));
    }

    /// Levels and bytes enter as the floats that they stand for, as for the tape.
    void wholeNumbersEnterAsFloats()
    {
        for (const bool hasLevels : {false, true}) {
            graph::GraphBuilder builder("levels", 17);
            const ValueId x = builder.addInput("x", tensor::DType::UInt8, Shape{2, 3});
            const ValueId scale = builder.addConstant("scale", Tensor::full(tensor::DType::Float32, {}, 0.25));
            const ValueId zero = builder.addConstant("zero", Tensor::full(tensor::DType::UInt8, {}, 3));
            const ValueId floats = hasLevels ? builder.addOp("DequantizeLinear", "levels", {x, scale, zero}, "floats")
                                             : builder.addOp("Cast", "bytes", {x}, "floats", {{"to", std::int64_t{1}}});
            builder.addOutput(
                builder.addOp("Sin", "bend", {builder.addOp("Mul", "part", {floats, scale}, "scaled")}, "y"));
            const auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
            const QString off = offTape(modelOf(graph, {}), {drawn({2, 3}, 8)});
            QVERIFY2(off.isEmpty(), qPrintable(off));
        }
    }

    void whyStepsAreNotWrittenOutIsSaid()
    {
        const Case made{
            "GRU", {{20001, 1, 4}}, {drawn({1, 15, 4}, 6), drawn({1, 15, 5}, 2)}, {{"hidden_size", std::int64_t{5}}}};
        engine::GradientRequest request;
        request.inputs = {drawn({20001, 1, 4}, 5)};
        request.precision = kDouble;
        RETRO_REFUSED(engine::gradientGraph(modelOf(graphOf(made)), request, true),
                      "GRU of 20001 steps cannot be taken apart");
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
        RETRO_MADE(loaded, engine::loadModel(path, rewrite::noRewrites()));
        const std::string file = (path.parent_path() / (*loaded)->card->pictures.front().file).string();
        RETRO_MADE(inputs,
                   engine::resolveInputs({file}, *(*loaded)->graph(), engine::pictureOptions(&*(*loaded)->card)));
        std::vector<Tensor> wide;
        for (const Tensor& input : *inputs) {
            wide.push_back(tensor::isFloating(input.dtype()) ? input.to(tensor::DType::Float64) : input);
        }
        std::string fault;
        const auto model = bound((*loaded)->graph(), wide, fault);
        QVERIFY2(model, fault.c_str());
        for (const bool isJoined : {true, false}) {
            for (const bool isJson : {true, false}) {
                const std::string off = difference(model, wide, model->graph().outputs().front(), isJoined, isJson);
                QVERIFY2(off.empty(), off.c_str());
            }
        }
    }

    /// A node may be named like an input, and an output may be a constant.
    void everyThingInDotHasItsOwnName()
    {
        graph::GraphBuilder builder("names", 17);
        const ValueId x = builder.addInput("x", tensor::DType::Float64, Shape{2});
        const ValueId kept = builder.addConstant("kept", drawn({2}, 1));
        const ValueId y = builder.addOp("Add", "x", {x, kept}, "say \"y\" \\ z");
        builder.addOutput(y);
        builder.addOutput(kept);
        RETRO_MADE(built, std::move(builder).build());
        QCOMPARE(QString::fromStdString(engine::dotOf(*built)),
                 QStringLiteral("digraph gradient {\n  rankdir=TB;\n  node [shape=box];\n"
                                "  \"x\" [shape=ellipse];\n"
                                "  \"x~\" [label=\"Add\"];\n"
                                "  \"x\" -> \"x~\";\n"
                                "  \"output say \\\"y\\\" \\\\ z\" [shape=ellipse];\n"
                                "  \"x~\" -> \"output say \\\"y\\\" \\\\ z\";\n"
                                "  \"output kept\" [shape=ellipse];\n}\n"));
    }

    void anOperatorWithoutARuleIsNamed()
    {
        const Case made{"Det", {{3, 3}}, {}, {}};
        std::string fault;
        const auto model = bound(graphOf(made), {drawn({3, 3}, 1)}, fault);
        QVERIFY2(model, fault.c_str());
        const std::vector<engine::NodeRules> rules = engine::gradientRules(*model);
        QCOMPARE(rules.size(), 1U);
        QVERIFY(rules[0].onTape.isApplicable && !rules[0].asGraph.isApplicable && !rules[0].asGraph.reason.empty());
        RETRO_REFUSED(tape::gradientGraph(*model, model->graph().outputs().front(), true), "node 'the one' (Det)");
    }

    void whatIsWrittenOutHasTheRulesOfItsSteps()
    {
        const Attributes hidden{{"hidden_size", std::int64_t{5}}};
        const Tensor w = drawn({1, 15, 4}, 1);
        const Tensor r = drawn({1, 15, 5}, 2);
        const auto rulesFor = [](const Case& made, const std::vector<Tensor>& inputs) {
            std::string fault;
            const auto model = bound(graphOf(made), inputs, fault);
            return model ? engine::gradientRules(*model).front() : engine::NodeRules();
        };
        const engine::NodeRules written = rulesFor({"GRU", {{3, 1, 4}}, {w, r}, hidden}, {drawn({3, 1, 4}, 5)});
        QVERIFY(written.asGraph.isApplicable && written.isInSteps);
        const engine::NodeRules computed =
            rulesFor({"GRU", {{3, 1, 4}, {1, 15, 4}}, {r}, hidden}, {drawn({3, 1, 4}, 5), w});
        QVERIFY(computed.asGraph.isApplicable && computed.isInSteps);
        const engine::NodeRules longer = rulesFor({"GRU", {{20001, 1, 4}}, {w, r}, hidden}, {drawn({20001, 1, 4}, 5)});
        RETRO_SAYS(longer.asGraph.reason, "GRU of 20001 steps cannot be taken apart");
        const engine::NodeRules old = rulesFor({"GRU", {{3, 1, 4}}, {w, r}, hidden, 1, 7}, {drawn({3, 1, 4}, 5)});
        QVERIFY2(old.asGraph.reason.starts_with("gradient graphs are written in operator set 9"),
                 old.asGraph.reason.c_str());
        QVERIFY(!old.asGraph.isApplicable && !old.isInSteps);
    }

    void anExampleOfATypeGetsNothing()
    {
        const std::vector<Tensor> inputs{drawn({2, 3}, 1), drawn({2, 3}, 2)};
        std::string fault;
        const auto model = bound(graphOf({"CastLike", {{2, 3}, {2, 3}}, {}, {}}), inputs, fault);
        QVERIFY2(model, fault.c_str());
        engine::GradientRequest request;
        request.inputs = inputs;
        request.precision = kDouble;
        RETRO_MADE(tape, engine::gradient(model, request));
        QCOMPARE(ops::algebra::sumAbsolute(tape->gradients[0]), 2.0);
        QCOMPARE(ops::algebra::sumAbsolute(tape->gradients[1]), 0.0);
        RETRO_MADE(made, tape::gradientGraph(*model, model->graph().outputs().front(), false));
        QCOMPARE(made->gradients, std::vector<std::string>{"x0_gradient"});
    }

    /// Which rows are chosen is worked out from the input itself; the list is shorter than the axis, as long, and
    /// longer.
    void rowsThatAreChosenByWhatIsComputed()
    {
        for (const std::int64_t count : {3, 5, 7}) {
            graph::GraphBuilder builder("chosen", 17);
            const ValueId x = builder.addInput("x", tensor::DType::Float64, Shape{5, 2});
            const ValueId score = builder.addInput("score", tensor::DType::Float64, Shape{count});
            const ValueId level = builder.addConstant("level", Tensor::scalar(1.0));
            const ValueId isAbove = builder.addResult("is above");
            const ValueId y = builder.addResult("y");
            builder.addNode({"Greater", "", {}, "compare", 17, {score, level}, {isAbove}, {}});
            builder.addNode({"Compress", "", {}, "choose", 17, {x, isAbove}, {y}, {{"axis", std::int64_t{0}}}});
            builder.addOutput(y);
            RETRO_MADE(built, std::move(builder).build());
            const auto graph = std::make_shared<const graph::Graph>(std::move(built).value());
            const std::vector<double> scores{2, 0, 1.5, 0.5, 3, 0, 0.2};
            const std::vector<Tensor> inputs{drawn({5, 2}, 1),
                                             Tensor::of<double>({count}, std::span(scores).first(std::size_t(count)))};
            std::string fault;
            const auto model = bound(graph, inputs, fault);
            QVERIFY2(model, fault.c_str());
            for (const bool isJoined : {true, false}) {
                const std::string off = difference(model, inputs, y, isJoined);
                QVERIFY2(off.empty(), off.c_str());
            }
        }
    }

    /// double → float → double: what the rule of the part in float makes is float.
    void constantsHaveTheTypeOfTheirPart()
    {
        graph::GraphBuilder builder("mixed", 17);
        const ValueId x = builder.addInput("x", tensor::DType::Float64, Shape{3});
        const ValueId narrow = builder.addResult("narrow");
        const ValueId y = builder.addResult("y");
        const ValueId wide = builder.addResult("wide");
        builder.addNode({"Cast", "", {}, "down", 17, {x}, {narrow}, {{"to", std::int64_t{1}}}});
        builder.addNode({"Sigmoid", "", {}, "sigmoid", 17, {narrow}, {y}, {}});
        builder.addNode({"Cast", "", {}, "up", 17, {y}, {wide}, {{"to", std::int64_t{11}}}});
        builder.addOutput(wide);
        RETRO_MADE(built, std::move(builder).build());
        const auto graph = std::make_shared<const graph::Graph>(std::move(built).value());
        const std::vector<Tensor> inputs{drawn({3}, 1)};
        std::string fault;
        const auto model = bound(graph, inputs, fault);
        QVERIFY2(model, fault.c_str());
        for (const bool isJoined : {true, false}) {
            const std::string off = difference(model, inputs, graph->outputs().front(), isJoined);
            QVERIFY2(off.empty(), off.c_str());
        }
        RETRO_MADE(made, tape::gradientGraph(*model, graph->outputs().front(), false));
        std::vector<std::int64_t> casts;
        for (const graph::Node& node : made->graph->nodes()) {
            if (node.op == "Cast") {
                casts.push_back(std::get<std::int64_t>(node.attributes.at("to")));
            }
        }
        QCOMPARE(casts, (std::vector<std::int64_t>{1, 11}));
        QCOMPARE(made->graph->value(*made->graph->findValue(made->seed)).dtype, tensor::DType::Float64);
        QCOMPARE(made->graph->value(*made->graph->findValue("y")).dtype, tensor::DType::Float32);
        for (std::size_t i = 0; i < made->graph->valueCount(); ++i) {
            const graph::Value& value = made->graph->value(ValueId(i));
            if (value.kind == graph::ValueKind::Constant) {
                QCOMPARE(value.constant.dtype(), tensor::DType::Float32);
            }
        }
    }

    void whatARuleCannotDoIsSaid_data()
    {
        QTest::addColumn<int>("index");
        QTest::addColumn<QString>("words");
        QTest::newRow("reduction") << 0 << QStringLiteral("it reduces by mul");
        QTest::newRow("old operator set") << 1 << QStringLiteral("operator set 8: gradient graphs are written in");
        QTest::newRow("overlapping windows") << 2 << QStringLiteral("Slice in steps, of operator set 10");
        QTest::newRow("diagonal") << 4 << QStringLiteral("a letter stands twice in one term");
        QTest::newRow("repeated places") << 3 << QStringLiteral("an update may be written over");
    }

    void whatARuleCannotDoIsSaid()
    {
        QFETCH(int, index);
        QFETCH(QString, words);
        std::vector<Case> all{
            {"ScatterND",
             {{5, 6}},
             {ints({1}).reshaped({1, 1}), drawn({1, 6}, 2)},
             {{"reduction", std::string("mul")}}},
            {"Relu", {{5, 6}}, {}, {}, 1, 8},
            {"MaxPool", {{1, 1, 5, 6}}, {}, {{"kernel_shape", std::vector<std::int64_t>{3, 3}}}, 1, 9},
            {"Scatter", {{5, 6}, {1, 3}}, {ints({1, 2, 1}).reshaped({1, 3})}, {{"axis", std::int64_t{1}}}, 1, 10},
        };
        all.back().order = {0, 2, 1};
        all.push_back({"Einsum", {{3, 3}}, {}, {{"equation", std::string("ii->i")}}});
        const Case& made = all[static_cast<std::size_t>(index)];
        std::vector<Tensor> inputs;
        std::ranges::transform(made.inputs, std::back_inserter(inputs), [](const Shape& s) { return drawn(s, 1); });
        std::string fault;
        const auto model = bound(graphOf(made), inputs, fault);
        QVERIFY2(model, fault.c_str());
        RETRO_REFUSED(tape::gradientGraph(*model, model->graph().outputs().front(), true), words);
    }
};

QTEST_APPLESS_MAIN(GradientGraphTest)
#include "gradientgraphtest.moc"
