// SPDX-License-Identifier: Apache-2.0
// TreeSHAP against shap 0.49 (tests/bench/treeshap.py --write made the files), and against the definition of Shapley
// values where shap has no such trees.
#include "core/engine/evaluate/evaluation.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npz.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace retro;

using engine::Subject;
using engine::Units;
using tensor::Tensor;

namespace
{

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;
using Texts = std::vector<std::string>;

const std::filesystem::path kFolder = RETRO_SOURCE_DIR "/tests/data/peers/treeshap";

/// A node to add behind the trees: what it is, and its constants.
struct Behind
{
    const char* op;
    std::vector<float> constant = {};
};

/// Two trees over four features with every kind of test, one of them met twice on a path, and missing values.
graph::Node trees(const std::string& op)
{
    const std::string prefix = op == "TreeEnsembleRegressor" ? "target" : "class";
    graph::Node node{op, "ai.onnx.ml", "trees", "", 3, {}, {}, {}};
    auto& a = node.attributes;
    a["nodes_treeids"] = Ints{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1};
    a["nodes_nodeids"] = Ints{0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6};
    a["nodes_featureids"] = Ints{0, 1, 0, 0, 0, 0, 0, 3, 2, 1, 0, 0, 0, 0};
    a["nodes_values"] = Floats{.5, -1, 2, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0};
    a["nodes_modes"] = Texts{"BRANCH_LEQ", "BRANCH_GT",  "BRANCH_GTE", "LEAF", "LEAF", "LEAF", "LEAF",
                             "BRANCH_LT",  "BRANCH_NEQ", "BRANCH_EQ",  "LEAF", "LEAF", "LEAF", "LEAF"};
    a["nodes_truenodeids"] = Ints{1, 3, 5, 0, 0, 0, 0, 1, 3, 5, 0, 0, 0, 0};
    a["nodes_falsenodeids"] = Ints{2, 4, 6, 0, 0, 0, 0, 2, 4, 6, 0, 0, 0, 0};
    a["nodes_missing_value_tracks_true"] = Ints{0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    a[prefix + "_treeids"] = Ints{0, 0, 0, 0, 1, 1, 1, 1};
    a[prefix + "_nodeids"] = Ints{3, 4, 5, 6, 3, 4, 5, 6};
    a[prefix + "_ids"] = Ints(8, 0);
    a[prefix + "_weights"] = Floats{1, -2, 3, .5, 4, -1, 2.5, 7};
    if (prefix == "class") {
        a["classlabels_int64s"] = Ints{0, 1};
    }
    return node;
}

engine::LoadedModelPointer modelOf(graph::Node node, const std::vector<Behind>& behind = {})
{
    graph::GraphBuilder builder("trees", 18);
    builder.setOpset("ai.onnx.ml", 3);
    node.inputs = {builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4})};
    if (node.op == "TreeEnsembleClassifier") {
        node.outputs.push_back(builder.addResult("label"));
    }
    base::ValueId last = builder.addResult("score");
    node.outputs.push_back(last);
    builder.addNode(node);
    for (const Behind& next : behind) {
        std::vector<base::ValueId> operands{last};
        const std::string name = std::string(next.op) + "_out";
        if (!next.constant.empty()) {
            operands.push_back(builder.addConstant(
                name + "_c", Tensor::of<float>({static_cast<std::int64_t>(next.constant.size())}, next.constant)));
        }
        last = builder.addOp(next.op, next.op, operands, name);
    }
    builder.addOutput(last);
    auto model = engine::parseModel(formats::toOnnx(std::move(builder).build().value()).value(), "trees.onnx", {});
    return model.ok() ? *model : nullptr;
}

engine::ExplainRequest question(const Tensor& x)
{
    engine::ExplainRequest request;
    request.inputs = {x};
    return request;
}

/// What a method says; empty where it refuses, `why` then has the words.
Floats attributed(const engine::LoadedModelPointer& model, const engine::ExplainRequest& request, const char* method,
                  std::string* why = nullptr, const engine::AttributionOptions& parameters = {})
{
    const auto subject = Subject::make(model, request, {}, {}, engine::Passes::Forward);
    engine::UnitOptions options;
    options.replacement = engine::Replacement::Zero;
    auto result =
        subject.ok()
            ? (*engine::makeAttribution(method, parameters))->attribute(*subject, Units(subject->input(), options))
            : base::Result<engine::Attributed>(subject.error());
    if (!result.ok()) {
        if (why != nullptr) {
            *why = result.error().text();
        }
        return {};
    }
    Floats values;
    for (std::int64_t i = 0; i < result->values.size(); ++i) {
        values.push_back(result->values.at(i));
    }
    return values;
}

double apart(const Floats& a, const Floats& b)
{
    double most = a.size() == b.size() && !a.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        most = std::max(most, std::abs(a[i] - b[i]));
    }
    return most;
}

Tensor rowOf(const Tensor& all, std::int64_t row)
{
    const std::int64_t width = all.shape()[1];
    std::vector<float> values;
    for (std::int64_t i = 0; i < width; ++i) {
        values.push_back(static_cast<float>(all.at(row * width + i)));
    }
    return Tensor::of<float>({1, width}, values);
}

} // namespace

class TreeShapTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        RETRO_MADE(values, tensor::readNpz(kFolder / "values.npz"));
        m_peer = *values;
    }

    void valuesOfThePeer_data()
    {
        QTest::addColumn<bool>("isOfSecondClass"); // the peer has one score of two classes
        QTest::newRow("forest") << false;
        QTest::newRow("forest_joined") << false;
        QTest::newRow("forest_of_two") << false;
        QTest::newRow("forest_of_three") << false;
        QTest::newRow("boosted_of_two") << true;
        QTest::newRow("lightgbm_of_two") << true;
        QTest::newRow("lightgbm_of_three") << false;
        QTest::newRow("xgboost") << false;
        QTest::newRow("xgboost_of_three") << false;
    }
    void valuesOfThePeer()
    {
        QFETCH(bool, isOfSecondClass);
        const std::string name = QTest::currentDataTag();
        RETRO_MADE(model, engine::loadModel(kFolder / (name + ".onnx")));
        const Tensor& peer = m_peer.at(name + ".values"); // samples × features × scores
        engine::AttributionOptions parameters;
        parameters.background = m_peer.at(name + ".background");
        const std::int64_t features = peer.shape()[1];
        const std::int64_t scores = peer.shape()[2];
        for (std::int64_t sample = 0; sample < peer.shape()[0]; ++sample) {
            for (std::int64_t score = 0; score < scores; ++score) {
                engine::ExplainRequest request = question(rowOf(m_peer.at(name + ".x"), sample));
                request.target.kind = engine::TargetRequest::Kind::Class;
                request.target.classIndex = isOfSecondClass ? 1 : score;
                Floats expected;
                for (std::int64_t i = 0; i < features; ++i) {
                    expected.push_back(peer.at((sample * features + i) * scores + score));
                }
                const double gap = apart(attributed(*model, request, "treeshap", nullptr, parameters), expected);
                QVERIFY2(gap < 1e-6, qPrintable(QStringLiteral("%1 in sample %2").arg(gap).arg(sample)));
            }
        }
    }

    /// Every kind of test, missing values, sums and means: what all coalitions say by the definition.
    void shapleyValuesByTheDefinition()
    {
        const auto nan = std::numeric_limits<float>::quiet_NaN();
        for (const char* aggregate : {"SUM", "AVERAGE"}) {
            graph::Node node = trees("TreeEnsembleRegressor");
            node.attributes["aggregate_function"] = std::string(aggregate);
            node.attributes["base_values"] = Floats{.25};
            RETRO_MADE(model, modelOf(node));
            for (const std::vector<float>& x : {std::vector<float>{1, -3, 3, 2},
                                                {.5, -.5F, 1, 1},
                                                {3, 1, 3, 4},
                                                {nan, nan, 2, 5},
                                                {.75, -2, nan, nan}}) {
                const engine::ExplainRequest request = question(Tensor::of<float>({1, 4}, x));
                QVERIFY(apart(attributed(model, request, "treeshap"), attributed(model, request, "shapley")) < 1e-6);
            }
        }
    }

    /// Features removed one by one; the score at the whole input is 3.5. Relevance is refused with the ways out.
    void occlusionOfTrees()
    {
        graph::Node node{"TreeEnsembleRegressor", "ai.onnx.ml", "trees", "", 3, {}, {}, {}};
        auto& a = node.attributes;
        a["nodes_treeids"] = Ints{0, 0, 0, 0, 0, 1, 1, 1};
        a["nodes_nodeids"] = Ints{0, 1, 2, 3, 4, 0, 1, 2};
        a["nodes_featureids"] = Ints{1, 0, 0, 0, 0, 2, 0, 0};
        a["nodes_values"] = Floats{.5, .4, 0, 0, 0, .2, 0, 0};
        a["nodes_modes"] = Texts{"BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"};
        a["nodes_truenodeids"] = Ints{1, 3, 0, 0, 0, 1, 0, 0};
        a["nodes_falsenodeids"] = Ints{2, 4, 0, 0, 0, 2, 0, 0};
        a["target_treeids"] = Ints{0, 0, 0, 1, 1};
        a["target_nodeids"] = Ints{2, 3, 4, 1, 2};
        a["target_ids"] = Ints(5, 0);
        a["target_weights"] = Floats{3, 1, 2, -.5, .5};
        const auto model = modelOf(node);
        const engine::ExplainRequest request =
            question(Tensor::of<float>({1, 4}, std::vector<float>{.1F, .9F, .3F, 7}));
        QCOMPARE(attributed(model, request, "occlusion"), (Floats{0, 2, 1, 0}));
        RETRO_REFUSED(engine::explain(*model, request), "--method occlusion, shapley, treeshap");
    }

    /// Scores behind a transform are explained before it; the first of two classes is the second one turned round.
    void rawScoresOfTwoClasses()
    {
        const engine::ExplainRequest request = question(Tensor::of<float>({1, 4}, std::vector<float>{1, -3, 3, 2}));
        const Floats plain = attributed(modelOf(trees("TreeEnsembleRegressor")), request, "treeshap");
        graph::Node node = trees("TreeEnsembleClassifier");
        node.attributes["post_transform"] = std::string("LOGISTIC");
        const auto model = modelOf(node);
        engine::ExplainRequest second = request;
        second.target.kind = engine::TargetRequest::Kind::Class;
        second.target.classIndex = 1;
        QVERIFY(apart(attributed(model, second, "treeshap"), plain) < 1e-9);
        engine::ExplainRequest first = second;
        first.target.classIndex = 0;
        Floats turned = plain;
        std::ranges::transform(turned, turned.begin(), std::negate());
        QVERIFY(apart(attributed(model, first, "treeshap"), turned) < 1e-9);
        QVERIFY(apart(attributed(modelOf(trees("TreeEnsembleRegressor"), {{"Sigmoid"}}), request, "treeshap"), plain) <
                1e-9);
    }

    void sumsBehindTheTrees()
    {
        const engine::ExplainRequest request = question(Tensor::of<float>({1, 4}, std::vector<float>{1, -3, 3, 2}));
        const auto scaled = modelOf(trees("TreeEnsembleRegressor"), {{"Mul", {-.5F}}, {"Add", {3}}, {"Identity"}});
        QVERIFY(apart(attributed(scaled, request, "treeshap"), attributed(scaled, request, "shapley")) < 1e-6);
        // Behind a function that only goes up no scale counts; one that turns it round does.
        const auto turned = modelOf(trees("TreeEnsembleRegressor"), {{"Sigmoid"}, {"Mul", {-3}}, {"Add", {1}}});
        Floats plain = attributed(modelOf(trees("TreeEnsembleRegressor")), request, "treeshap");
        std::ranges::transform(plain, plain.begin(), std::negate());
        QVERIFY(apart(attributed(turned, request, "treeshap"), plain) < 1e-9);
    }

    void refusals()
    {
        const engine::ExplainRequest request = question(Tensor::of<float>({1, 4}, std::vector<float>{1, -3, 3, 2}));
        std::string why;
        graph::Node least = trees("TreeEnsembleRegressor");
        least.attributes["aggregate_function"] = std::string("MIN");
        QVERIFY(attributed(modelOf(least), request, "treeshap", &why).empty());
        RETRO_SAYS(why, "the least or the largest", "shapley");
        QVERIFY(attributed(modelOf(trees("TreeEnsembleRegressor"), {{"Exp"}}), request, "treeshap", &why).empty());
        QVERIFY2(why.find("node 'Exp' (Exp)") != std::string::npos, why.c_str());
        const auto path = engine::makeAttribution("treeshap:tree_path_dependent");
        QVERIFY(!path.ok() && path.error().text().find("ONNX files do not say") != std::string::npos);
        engine::AttributionOptions narrow;
        narrow.background = Tensor::zeros(tensor::DType::Float32, {2, 3});
        QVERIFY(attributed(modelOf(trees("TreeEnsembleRegressor")), request, "treeshap", &why, narrow).empty());
        RETRO_SAYS(why, "--background", "4 features");
    }

private:
    tensor::NamedTensors m_peer;
};

QTEST_GUILESS_MAIN(TreeShapTest)
#include "treeshaptest.moc"
