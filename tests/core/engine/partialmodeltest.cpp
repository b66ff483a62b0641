// SPDX-License-Identifier: Apache-2.0
// Models of which a part cannot run: operators that are not implemented, weights that are not there, labels before
// scores. What does not depend on it can be explained.
#include "core/base/file.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/plan/planning.h"
#include "core/engine/results/resultkey.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "tests/core/formats/onnxsamples.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace retro;
using tensor::Tensor;

namespace
{

/// Adds nodes by name; the result of node "a" is "a_out".
class Net
{
public:
    Net()
    {
        m_builder.setOpset("", 17);
        m_builder.setOpset("own", 1);
        x = m_builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 3});
    }

    base::ValueId x;

    base::ValueId node(const std::string& op, const std::string& name, std::vector<base::ValueId> inputs,
                       const std::string& domain = {}, graph::Attributes attributes = {})
    {
        const base::ValueId result = m_builder.addResult(name + "_out");
        m_builder.addNode(
            {op, domain, name, "", domain.empty() ? 17 : 1, std::move(inputs), {result}, std::move(attributes)});
        return result;
    }

    /// The norm of x + x, which has 3 columns, and the sum itself.
    std::array<base::ValueId, 2> normOfSum(std::int64_t columns)
    {
        m_builder.setOpset("com.microsoft", 1);
        const base::ValueId gamma = m_builder.addConstant("gamma", Tensor::zeros(tensor::DType::Float32, {columns}));
        const std::array made{m_builder.addResult("normalised"), m_builder.addResult("sum")};
        m_builder.addNode({"SkipSimplifiedLayerNormalization",
                           "com.microsoft",
                           "norm",
                           "",
                           1,
                           {x, x, gamma},
                           {made[0], base::ValueId(), base::ValueId(), made[1]},
                           {}});
        return made;
    }

    base::ValueId weights(const std::string& name)
    {
        return m_builder.addConstant(name, Tensor::of<float>({3, 2}, std::array<float, 6>{1, -1, 2, 0.5F, -3, 4}));
    }

    void output(base::ValueId value, tensor::DType dtype = tensor::DType::Float32)
    {
        m_builder.declare(value, dtype, std::nullopt);
        m_builder.addOutput(value);
    }

    engine::LoadedModelPointer load()
    {
        const auto graph = std::move(m_builder).build();
        const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
        const auto model = bytes.ok() ? engine::parseModel(*bytes, "net.onnx", {}) : bytes.error();
        return model.ok() ? *model : nullptr;
    }

private:
    graph::GraphBuilder m_builder{"net"};
};

std::vector<Tensor> someInput() { return {Tensor::of<float>({1, 3}, std::array<float, 3>{0.3F, -0.7F, 1.5F})}; }

base::Result<engine::ExplainResult> explained(const engine::LoadedModel& model, const std::string& target = "argmax")
{
    engine::ExplainRequest request;
    request.inputs = someInput();
    request.composite = "epsilon";
    request.target = *engine::parseTarget(target);
    return engine::explain(model, request);
}

std::string targetOf(const engine::ExplainResult& result)
{
    return result.model->graph().value(result.target.value).name;
}

/// x · w, and behind it an operator that nobody knows.
engine::LoadedModelPointer sideBranch()
{
    Net net;
    const base::ValueId scores = net.node("MatMul", "fc", {net.x, net.weights("w")});
    const base::ValueId odd = net.node("Odd", "odd", {scores}, "own");
    net.output(net.node("Relu", "behind", {odd}));
    net.output(scores);
    return net.load();
}

bool says(const std::vector<std::string>& lines, const std::string& words)
{
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

} // namespace

class PartialModelTest : public QObject
{
    Q_OBJECT

private slots:
    void anUnknownOperatorBlocksWhatIsBehindItAlone()
    {
        RETRO_MADE(model, sideBranch());
        RETRO_MADE(result, explained(*model));
        QCOMPARE(targetOf(*result), std::string("fc_out"));
        QVERIFY(says(result->warnings, "'odd' (Odd) and 1 node behind left out"));
        QVERIFY(says(result->warnings, "\"behind_out\" is not computed"));

        Net whole;
        whole.output(whole.node("MatMul", "fc", {whole.x, whole.weights("w")}));
        RETRO_MADE(plain, explained(*whole.load()));
        const Tensor& a = result->relevance[result->model->graph().inputs()[0].index()];
        const Tensor& b = plain->relevance[plain->model->graph().inputs()[0].index()];
        QVERIFY(std::ranges::equal(a.span<float>(), b.span<float>()));
    }

    /// An operator of several outputs that was written out: it fits as a whole, or makes nothing.
    void aStepThatDoesNotFitTakesItsOperatorAlong()
    {
        for (const std::int64_t columns : {3, 7}) {
            Net net;
            for (const base::ValueId value : net.normOfSum(columns)) {
                net.output(value);
            }
            RETRO_MADE(model, net.load());
            const auto made = engine::runForward(*model, someInput(), execute::Precision::Float);
            QCOMPARE(made.ok(), columns == 3);
            QVERIFY(made.ok() || made.error().text().find("norm/") != std::string::npos);
        }
    }

    void aBlockedTargetIsRefusedByName()
    {
        const auto model = sideBranch();
        const auto refused = explained(*model, "behind_out");
        QVERIFY(!refused.ok() && refused.error().code == base::ErrorCode::Input);
        const std::string text = refused.error().text();
        RETRO_SAYS(text, "behind_out", "Odd");
        QVERIFY(explained(*model, "fc_out:0,1").ok());
    }

    void aModelThatIsBlockedAsAWholeSaysWhy()
    {
        Net net;
        const base::ValueId hidden = net.node("MatMul", "fc", {net.x, net.weights("w")});
        net.output(net.node("Odd", "odd", {hidden}, "own"));
        const auto model = net.load();
        const auto refused = explained(*model);
        QVERIFY(!refused.ok() && refused.error().text().find("Odd") != std::string::npos);
        const auto inside = explained(*model, "fc_out"); // another target is explained
        RETRO_OK(inside);
        QCOMPARE(targetOf(*inside), std::string("fc_out"));
    }

    void everyOtherUseDoesTheSame()
    {
        const auto model = sideBranch();
        engine::GradientRequest request;
        request.inputs = someInput();
        RETRO_MADE(gradient, engine::gradient(*model, request));
        QVERIFY(says(gradient->target.notes, "Odd"));
        RETRO_MADE(run, engine::runForward(*model, someInput(), execute::Precision::Float));
        QCOMPARE(run->names, (std::vector<std::string>{"fc_out"}));
        QCOMPARE(run->outputs.size(), std::size_t{1});
        QVERIFY(says(run->leftOut, "Odd"));
    }

    void theFirstOutputThatRelevanceReachesIsTheTarget()
    {
        Net net;
        const base::ValueId scores = net.node("MatMul", "fc", {net.x, net.weights("w")});
        const base::ValueId label = net.node("ArgMax", "label", {scores}, {}, {{"axis", std::int64_t{1}}});
        net.output(label, tensor::DType::Int64);
        net.output(net.node("Cast", "labelled", {label}, {}, {{"to", std::int64_t{1}}}));
        net.output(scores);
        RETRO_MADE(model, net.load());
        RETRO_MADE(result, explained(*model));
        QCOMPARE(targetOf(*result), std::string("fc_out"));
        QVERIFY(says(result->warnings, "\"label_out\" is int64"));
        QVERIFY(says(result->warnings, "\"labelled_out\" depends on no floating input"));
        const auto integers = explained(*model, "label_out");
        QVERIFY(!integers.ok() && integers.error().code == base::ErrorCode::Input);
        QVERIFY(integers.error().text().find("int64") != std::string::npos);
    }

    void aModelOfLabelsAloneHasNothingToExplain()
    {
        Net net;
        const base::ValueId scores = net.node("MatMul", "fc", {net.x, net.weights("w")});
        net.output(net.node("ArgMax", "label", {scores}, {}, {{"axis", std::int64_t{1}}}), tensor::DType::Int64);
        const auto model = net.load();
        const auto refused = explained(*model);
        QVERIFY(!refused.ok() && refused.error().text().find("--target 'fc_out'") != std::string::npos);
        QVERIFY(explained(*model, "fc_out").ok());
    }

    void whatIsRefusedWhenItIsBoundBlocksNoOtherTarget()
    {
        Net net;
        const base::ValueId scores = net.node("MatMul", "fc", {net.x, net.weights("w")});
        net.output(scores);
        net.output(net.node("Transpose", "turned", {scores}, {}, {{"perm", std::vector<std::int64_t>{0, 1, 2}}}));
        const auto model = net.load();
        RETRO_MADE(result, explained(*model));
        QVERIFY(says(result->warnings, "turned"));
        QVERIFY(!explained(*model, "turned_out").ok());
    }

    void missingWeightsBlockWhatNeedsThem()
    {
        QTemporaryDir folder;
        onnxschema::ModelProto file = formats::samples::smallModel();
        onnxschema::TensorProto& w = *file.mutable_graph()->mutable_initializer(0);
        w.clear_float_data();
        w.set_data_location(onnxschema::TensorProto::EXTERNAL);
        w.add_external_data()->set_key("location");
        w.mutable_external_data(0)->set_value("weights.bin");
        formats::samples::addNode(file, "Neg", "free", {"x"}, {"minus"});
        formats::samples::addValueInfo(*file.mutable_graph()->add_output(), "minus");
        const std::filesystem::path path = folder.filePath(QStringLiteral("m.onnx")).toStdString();
        QVERIFY(base::writeFile(path, formats::samples::bytesOf(file)).ok());
        RETRO_MADE(model, engine::loadModel(path));
        QVERIFY((*model)->notes.absent.contains("w"));

        const auto refused = explained(**model, "y");
        QVERIFY(!refused.ok());
        const std::string text = refused.error().text();
        RETRO_SAYS(text, "'w'", "weights.bin");
        RETRO_MADE(other, explained(**model));
        QCOMPARE(targetOf(*other), std::string("minus"));

        RETRO_MADE(planned, engine::planningGraphOf(**model, {{"N", 2}}));
        QCOMPARE(planned->constantBytes, std::uint64_t{12});
        QVERIFY(!says(planned->warnings, "as the graph states it")); // it was bound
    }

    void optionalInputsTakeOtherData()
    {
        QTemporaryDir folder;
        onnxschema::ModelProto file = formats::samples::smallModel();
        formats::samples::addValueInfo(*file.mutable_graph()->add_input(), "w");
        const std::filesystem::path path = folder.filePath(QStringLiteral("m.onnx")).toStdString();
        QVERIFY(base::writeFile(path, formats::samples::bytesOf(file)).ok());
        RETRO_MADE(model, engine::loadModel(path));
        const auto sumWith = [](const engine::LoadedModel& with) {
            const auto run = engine::runForward(with, someInput(), execute::Precision::Float);
            return run.ok() ? run->outputs[0].at(0) : -1;
        };
        QCOMPARE(sumWith(**model), static_cast<double>(0.3F + 1.0F));
        RETRO_MADE(given, engine::withGiven(*model, {{"w", Tensor::of<float>({3}, std::array<float, 3>{5, 6, 7})}}));
        QCOMPARE(sumWith(**given), static_cast<double>(0.3F + 5.0F));
        QVERIFY(!engine::withGiven(*model, {{"x", Tensor::scalar(1.0F)}}).ok());
        QVERIFY(!engine::withGiven(*model, {{"w", Tensor::scalar(1.0F)}}).ok());
        QVERIFY(!engine::withGiven(*model, {{"w", Tensor::zeros(tensor::DType::Int64, {3})}}).ok());
        QVERIFY(engine::resultHash(**model, {}, engine::kExplain) != engine::resultHash(**given, {}, engine::kExplain));
    }
};

QTEST_GUILESS_MAIN(PartialModelTest)
#include "partialmodeltest.moc"
