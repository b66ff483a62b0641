// SPDX-License-Identifier: Apache-2.0
// `verify` where numbers are not finite: a node without a slope is singular, a rule that gives no number is wrong, and
// engines that stop at such a number take no other property with them.
#include <QtTest>

#include "core/engine/verify/verify.h"
#include "core/ops/algebra.h"
#include "tests/core/engine/smalltape.h"

#include <limits>

using namespace retro;
using namespace retro::enginetest;
using tensor::Tensor;

namespace
{

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// √(x²), and tanh of it.
std::shared_ptr<const execute::BoundModel> rootModel(bool isLast)
{
    return modelOf([isLast](graph::GraphBuilder& builder, base::ValueId x) {
        const base::ValueId square = addNode(builder, "Mul", "times", {x, x}, "square");
        const base::ValueId root = addNode(builder, "Sqrt", "root", {square}, "rooted");
        return isLast ? root : addNode(builder, "Tanh", "bend", {root}, "bent");
    });
}

tape::ModelTape atZero(const std::shared_ptr<const execute::BoundModel>& model)
{
    const std::vector<double> numbers{0, -0.25, 1.0};
    const Tensor input = Tensor::of<double>({3}, numbers);
    return tape::compileModel(model, {&input, 1}, engine::gradientRule(model)).value();
}

const engine::NodeGradient& nodeOf(const std::vector<engine::NodeGradient>& nodes, const std::string& name)
{
    return *std::ranges::find(nodes, name, &engine::NodeGradient::node);
}

/// y = Log(x) of three numbers as a model that `verify` takes.
engine::LoadedModel logModel()
{
    graph::GraphBuilder builder("log", 17);
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{3});
    builder.addOutput(addNode(builder, "Log", "log", {x}, "y"));
    auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
    engine::LoadedModel model;
    model.name = "log";
    model.rewritten = rewrite::rewrite(std::move(graph), {}).value();
    return model;
}

} // namespace

class SingularNodesTest : public QObject
{
    Q_OBJECT

private slots:
    void aRootOfZeroIsSingularWhereverItStands_data()
    {
        QTest::addColumn<bool>("isLast");
        QTest::newRow("before another node") << false;
        QTest::newRow("last") << true;
    }

    void aRootOfZeroIsSingularWhereverItStands()
    {
        QFETCH(bool, isLast);
        RETRO_MADE(nodes, engine::checkNodes(atZero(rootModel(isLast)), 1, {}));
        const engine::NodeGradient& root = nodeOf(*nodes, "root");
        QVERIFY(root.isSingular && !root.error && !root.note.empty());
        QVERIFY(root.state() == engine::GradientState::Singular);
        const engine::PropertyResult judged = engine::judgeNodes(*nodes);
        QVERIFY2(judged.state == engine::PropertyState::Held, judged.detail.c_str());
        QVERIFY2(judged.detail.find(", 1 singular; ") != std::string::npos, judged.detail.c_str());
    }

    void aLoneSingularNodeSaysNothing()
    {
        const auto model = modelOf(
            [](graph::GraphBuilder& builder, base::ValueId x) { return addNode(builder, "Sqrt", "root", {x}, "y"); });
        const auto made = atZero(model);
        const engine::PropertyResult judged = engine::judgeNodes(*engine::checkNodes(made, 1, {}));
        QVERIFY(judged.state == engine::PropertyState::NotApplicable);
        QVERIFY2(judged.detail.ends_with("1 singular"), judged.detail.c_str());
        const auto whole = engine::checkWhole(made, 1, Tensor::full(tensor::DType::Float64, {3}, 1), 1, {});
        QVERIFY(whole.ok() && whole->state == engine::PropertyState::NotApplicable);
        QVERIFY2(whole->detail.starts_with("the score is not finite next to the input"), whole->detail.c_str());
    }

    void aRuleThatGivesNoNumberIsWrongWhereverItStands_data()
    {
        QTest::addColumn<QString>("node");
        QTest::addColumn<double>("number");
        for (const char* node : {"times", "bend", "plus"}) {
            QTest::addRow("%s, not a number", node) << node << kNaN;
            QTest::addRow("%s, infinite", node) << node << kInfinity;
        }
    }

    void aRuleThatGivesNoNumberIsWrongWhereverItStands()
    {
        QFETCH(QString, node);
        QFETCH(double, number);
        const auto model = smallModel();
        const std::string name = node.toStdString();
        const auto wrong = tapeOf(
            model, spoilt(model, name, [number](const Tensor& t) { return ops::algebra::filledLike(t, number); }));
        RETRO_MADE(nodes, engine::checkNodes(wrong, 1, {}));
        QVERIFY(nodeOf(*nodes, name).state() == engine::GradientState::NotFinite);
        const engine::PropertyResult judged = engine::judgeNodes(*nodes);
        QVERIFY2(judged.state == engine::PropertyState::Violated, judged.detail.c_str());
        QCOMPARE(judged.node, name);
        QVERIFY2(judged.detail.find("whose rule gives what is not finite") != std::string::npos, judged.detail.c_str());
        QVERIFY2(judged.detail.find("smallest case: :") == std::string::npos &&
                     judged.detail.find("smallest case: ") != std::string::npos,
                 judged.detail.c_str());
        const tape::Id target = wrong.idOf[model->graph().outputs().front().index()];
        const auto whole = engine::checkWhole(wrong, target, Tensor::full(tensor::DType::Float64, {3}, 1), 1, {});
        QVERIFY(whole.ok() && whole->state == engine::PropertyState::Violated);
    }

    void whatOverflowsInFloatIsCounted()
    {
        graph::GraphBuilder builder("big", 17);
        const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{2});
        builder.addOutput(addNode(builder, "Mul", "times", {x, x}, "square"));
        const auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
        const std::vector<ops::TensorType> types{{tensor::DType::Float32, {2}}};
        const std::vector<float> numbers{1e30F, 3};
        const Tensor input = Tensor::of<float>({2}, numbers);
        const auto tapeIn = [&](execute::Precision precision) {
            const auto model = execute::BoundModel::bind(graph, types, precision).value();
            const Tensor wide = precision == execute::Precision::Double ? input.to(tensor::DType::Float64) : input;
            return tape::compileModel(model, {&wide, 1}, engine::gradientRule(model)).value();
        };
        const auto ulps = engine::ulpDistances(tapeIn(execute::Precision::Float), tapeIn(execute::Precision::Double));
        QCOMPARE(ulps.size(), std::size_t{1});
        QCOMPARE(ulps.front().overflows, std::int64_t{1});
        QCOMPARE(ulps.front().relative, 0.0); // of the other element
        QCOMPARE(ulps.front().most, std::uint64_t{0});
    }

    void enginesThatStopLeaveTheOtherProperties()
    {
        const engine::LoadedModel model = logModel();
        engine::VerifyRequest request;
        const std::vector<float> numbers{0, -1, 2};
        request.inputs = {Tensor::of<float>({3}, numbers)};
        request.target.kind = engine::TargetRequest::Kind::Value;
        request.target.value = "y";
        RETRO_MADE(result, engine::verify(model, request));
        QVERIFY(!result->isViolated());
        QVERIFY(find(result->properties, "P5")->state == engine::PropertyState::Held);
        for (const char* id : {"promise", "everything saved", "compiled", "conservation"}) {
            const engine::PropertyResult* one = find(result->properties, id);
            QVERIFY2(one != nullptr && one->state == engine::PropertyState::NotApplicable, id);
            QVERIFY2(one->detail.find("not finite") != std::string::npos, one->detail.c_str());
            QVERIFY2(one->detail.find("--go-on") == std::string::npos, one->detail.c_str());
        }
    }

    void aQuestionThatIsNoneStillEndsIt()
    {
        engine::VerifyRequest request;
        const std::vector<float> numbers{1, 2, 3};
        request.inputs = {Tensor::of<float>({3}, numbers)};
        request.target.kind = engine::TargetRequest::Kind::Value;
        request.target.value = "y";
        request.composite = "no such composite";
        const auto result = engine::verify(logModel(), request);
        QVERIFY(!result.ok() && result.error().code == base::ErrorCode::Usage);
    }
};

QTEST_APPLESS_MAIN(SingularNodesTest)
#include "singularnodestest.moc"
