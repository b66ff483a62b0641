// SPDX-License-Identifier: Apache-2.0
// Trees and support vector machines of ONNX-ML. Values are those of onnxruntime 1.32.
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <cmath>

using namespace retro::tests;

namespace
{

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;
using Texts = std::vector<std::string>;

const std::string kMl = "ai.onnx.ml";

Tensor samples(std::size_t count = 4)
{
    const std::vector<float> values{0, 0, 1, -2, 3, -2, NAN, -1};
    return Tensor::of<float>(
        {static_cast<std::int64_t>(count), 2},
        std::vector<float>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(2 * count)));
}

/// Two trees: one of one test (NaN goes where true goes), one of two.
OpCase trees(const std::string& op, const std::string& prefix)
{
    OpCase c(op, 3, kMl);
    c.operand(samples());
    c.with("nodes_treeids", Ints{0, 0, 0, 1, 1, 1, 1, 1}).with("nodes_nodeids", Ints{0, 1, 2, 0, 1, 2, 3, 4});
    c.with("nodes_featureids", Ints{0, 0, 0, 1, 0, 0, 0, 0}).with("nodes_values", Floats{.5, 0, 0, -1, 0, 2, 0, 0});
    c.with("nodes_modes", Texts{"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "BRANCH_LT", "LEAF", "LEAF"});
    c.with("nodes_truenodeids", Ints{1, 0, 0, 1, 0, 3, 0, 0}).with("nodes_falsenodeids", Ints{2, 0, 0, 2, 0, 4, 0, 0});
    c.with("nodes_missing_value_tracks_true", Ints{1, 0, 0, 0, 0, 0, 0, 0});
    c.with(prefix + "_treeids", Ints{0, 0, 1, 1, 1, 1}).with(prefix + "_nodeids", Ints{1, 2, 1, 3, 4, 4});
    c.with(prefix + "_ids", Ints{0, 1, 0, 1, 0, 1}).with(prefix + "_weights", Floats{1, 2, 3, 4, 5, 6});
    return c;
}

OpCase supportVectors(const std::string& op, const std::string& kernel)
{
    OpCase c(op, 3, kMl);
    return c.operand(samples(3)).with("kernel_type", kernel).with("support_vectors", Floats{1, 0, 0, 1, 1, 1});
}

/// Largest difference of output `k` from what is expected, or infinity.
double gap(OpCase& c, std::size_t k, const Tensor& expected)
{
    if (!c.bind()) {
        qWarning("%s", c.error().c_str());
        return INFINITY;
    }
    const Tensor y = c.forward()[k];
    return y.shape() == expected.shape() ? distance(y.to(DType::Float64), expected) : INFINITY;
}

} // namespace

class MachineLearningTest : public QObject
{
    Q_OBJECT
private slots:
    void treesOfNumbers()
    {
        const std::vector<std::pair<std::string, Floats>> cases{
            {"SUM", {4.5, 0, 0, 6.25, 5.5, 8.25, 6.5, 6.25}},
            {"AVERAGE", {2.5, 0, 0, 3.25, 3, 4.25, 3.5, 3.25}},
            {"MIN", {1.5, 0, 0, 2.25, 5.5, 2.25, 1.5, 6.25}},
            {"MAX", {3.5, 0, 0, 4.25, 5.5, 6.25, 5.5, 6.25}},
        };
        for (const auto& [aggregate, values] : cases) {
            OpCase c = trees("TreeEnsembleRegressor", "target");
            c.with("n_targets", std::int64_t{2}).with("aggregate_function", aggregate);
            c.with("base_values", Floats{.5, .25});
            QVERIFY2(gap(c, 0, doubles({4, 2}, values)) < 1e-6, aggregate.c_str());
            QCOMPARE(c.op().structure().kind(), retro::ops::StructureKind::NoRelevance);
        }
    }

    void treesOfClasses()
    {
        OpCase c = trees("TreeEnsembleClassifier", "class");
        c.with("classlabels_int64s", Ints{7, 8, 9}).with("post_transform", std::string("SOFTMAX")).outputs(2);
        QVERIFY(gap(c, 1,
                    doubles({4, 3}, {0.9646630883216858, 0.01766842044889927, 0.01766842044889927,
                                     0.0024665247183293104, 0.9950670003890991, 0.0024665247183293104,
                                     0.04741072282195091, 0.9522698521614075, 0.00031945094815455377,
                                     0.49938106536865234, 0.49938106536865234, 0.0012378419050946832})) < 1e-6);
        QCOMPARE(QString::fromStdString(textOf(c.forward()[0])), "[4] 7 8 8 7");
    }

    void treesOfTwoClasses()
    {
        OpCase c = trees("TreeEnsembleClassifier", "class");
        c.with("class_ids", Ints{0, 0, 0, 0, 0, 0}).with("class_weights", Floats{.1, .2, -.3, .4, .2, .1});
        c.with("classlabels_int64s", Ints{7, 8}).outputs(2);
        QVERIFY(gap(c, 1, doubles({4, 2}, {.2, -.2, -.6, .6, -.5, .5, -.4, .4})) < 1e-6);
        QCOMPARE(QString::fromStdString(textOf(c.forward()[0])), "[4] 7 8 8 8");
        c.with("post_transform", std::string("LOGISTIC"));
        QVERIFY(gap(c, 1,
                    doubles({4, 2}, {0.5498340129852295, 0.4501659870147705, 0.3543437123298645, 0.6456562876701355,
                                     0.377540647983551, 0.622459352016449, 0.40131235122680664, 0.5986876487731934})) <
                1e-6);
    }

    /// Base values are added to both scores where both classes have weights.
    void treesOfTwoClassesWithBase()
    {
        OpCase c = trees("TreeEnsembleClassifier", "class");
        c.with("class_ids", Ints{0, 1, 0, 1, 0, 0}).with("class_weights", Floats{.1, .2, -.3, .4, .2, .1});
        c.with("classlabels_int64s", Ints{7, 8}).outputs(2);
        QVERIFY2(c.bind(), c.error().c_str());
        const Tensor before = c.forward()[1];
        c.with("base_values", Floats{.5, .25});
        QVERIFY2(c.bind(), c.error().c_str());
        const Tensor after = c.forward()[1];
        for (std::int64_t i = 0; i < before.size(); ++i) {
            QVERIFY(std::abs(after.at(i) - before.at(i) - (i % 2 == 0 ? .5 : .25)) < 1e-6);
        }
    }

    /// The first of the trees above, as ai.onnx.ml 5 writes it.
    void joinedTrees()
    {
        OpCase c("TreeEnsemble", 5, kMl);
        c.operand(samples()).with("tree_roots", Ints{0}).with("nodes_featureids", Ints{0});
        c.with("nodes_modes", Tensor::of<std::uint8_t>({1}, std::vector<std::uint8_t>{0}))
            .with("nodes_splits", Tensor::of<float>({1}, std::vector<float>{.5F}));
        c.with("nodes_truenodeids", Ints{0}).with("nodes_falsenodeids", Ints{1});
        c.with("nodes_trueleafs", Ints{1}).with("nodes_falseleafs", Ints{1});
        c.with("nodes_missing_value_tracks_true", Ints{1});
        c.with("leaf_targetids", Ints{0, 0}).with("leaf_weights", Tensor::of<float>({2}, std::vector<float>{1, 2}));
        QVERIFY(gap(c, 0, doubles({4, 1}, {1, 2, 2, 1})) < 1e-6);
        c.with("nodes_falseleafs", Ints{0});
        QVERIFY(c.refusal().find("node 0 leads to node 1, which does not exist") != std::string::npos);
    }

    void treesThatAreNone()
    {
        OpCase loop = trees("TreeEnsembleRegressor", "target");
        loop.with("n_targets", std::int64_t{2}).with("nodes_truenodeids", Ints{1, 0, 0, 1, 0, 2, 0, 0});
        QVERIFY(loop.refusal().find("has two parents") != std::string::npos);
        OpCase feature = trees("TreeEnsembleRegressor", "target");
        feature.with("n_targets", std::int64_t{2}).with("nodes_featureids", Ints{0, 0, 0, 2, 0, 0, 0, 0});
        QVERIFY(feature.refusal().find("feature 2 of 2") != std::string::npos);
        OpCase target = trees("TreeEnsembleRegressor", "target");
        QVERIFY(target.refusal().find("score 1 of 1") != std::string::npos);
    }

    void supportVectorsOfNumbers()
    {
        const std::vector<std::pair<std::string, Floats>> cases{
            {"LINEAR", {0.1, 0.6, 5.6}},
            {"POLY", {0.12343749150428772, 0.7015625, 4.0453125}},
            {"RBF", {0.5324935913085938, 0.18314769864082336, 0.11204128712415695}},
            {"SIGMOID", {0.46737799048423767, 0.5628861784934998, 2.476134777069092}},
        };
        for (const auto& [kernel, values] : cases) {
            OpCase c = supportVectors("SVMRegressor", kernel);
            c.with("coefficients", Floats{.5, -1, 2}).with("kernel_params", Floats{.5, .25, 3});
            c.with("n_supports", std::int64_t{3}).with("rho", Floats{.1});
            QVERIFY2(gap(c, 0, doubles({3, 1}, values)) < 1e-5, kernel.c_str());
        }
    }

    void supportVectorsOfClasses()
    {
        OpCase c = supportVectors("SVMClassifier", "RBF");
        c.with("kernel_params", Floats{.5, 0, 3}).with("coefficients", Floats{.5, -1, 2, 1, .25, -.5}).outputs(2);
        c.with("rho", Floats{.1, -.2, .3})
            .with("vectors_per_class", Ints{1, 1, 1})
            .with("classlabels_ints", Ints{4, 5, 6});
        QVERIFY(gap(c, 1,
                    doubles({3, 3}, {-0.20326533913612366, 1.1422895193099976, 0.2676929533481598, 0.16092969477176666,
                                     -0.04244672879576683, 0.2961300015449524, 0.10903441160917282, -0.1786774843931198,
                                     0.2992791533470154})) < 1e-5);
        QCOMPARE(QString::fromStdString(textOf(c.forward()[0])), "[3] 5 4 4");
        c.with("prob_a", Floats{-1, -2, -.5}).with("prob_b", Floats{.1, 0, -.1});
        QVERIFY(gap(c, 1,
                    doubles({3, 3}, {0.4218854606151581, 0.4318780303001404, 0.14623655378818512, 0.33260345458984375,
                                     0.35291674733161926, 0.31447991728782654, 0.2973952293395996, 0.3630295991897583,
                                     0.33957529067993164})) < 1e-5);
        c.with("vectors_per_class", Ints{1, 1, 2});
        QVERIFY(c.refusal().find("do not fit each other") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(MachineLearningTest)
#include "machinelearningtest.moc"
