// SPDX-License-Identifier: Apache-2.0
// Measures of explanations on models whose answers can be worked out by hand.
#include "core/engine/evaluate/evaluation.h"
#include "core/engine/results/resultkey.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace retro;

using engine::Subject;
using engine::Units;
using tensor::Tensor;

namespace
{

using Values = std::vector<double>;

Tensor doubles(tensor::Shape shape, const Values& values) { return Tensor::of<double>(std::move(shape), values); }

/// y = relu(x·V)·W, V the identity and x above 0: linear in x.
engine::LoadedModelPointer linear(const Values& w, std::int64_t inputs, std::int64_t outputs)
{
    graph::GraphBuilder builder("linear", 18);
    const auto node = [&](const char* op, const char* name, std::vector<base::ValueId> operands) {
        return builder.addOp(op, name, std::move(operands), std::string(name) + "_out");
    };
    Values unit(static_cast<std::size_t>(inputs * inputs), 0);
    for (std::int64_t i = 0; i < inputs; ++i) {
        unit[static_cast<std::size_t>(i * inputs + i)] = 1;
    }
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, inputs});
    const base::ValueId v =
        builder.addConstant("V", Tensor::of<double>({inputs, inputs}, unit).to(tensor::DType::Float32));
    const base::ValueId m =
        builder.addConstant("W", Tensor::of<double>({inputs, outputs}, w).to(tensor::DType::Float32));
    const base::ValueId hidden = node("Relu", "act", {node("MatMul", "first", {x, v})});
    builder.addOutput(node("MatMul", "second", {hidden, m}));
    auto model = engine::parseModel(formats::toOnnx(std::move(builder).build().value()).value(), "linear.onnx", {});
    return model.ok() ? *model : nullptr;
}

/// y = (Σ x)², of one sample or of a free number of them; `areMixed`: less the other samples.
engine::LoadedModelPointer squares(std::int64_t features, bool isFree, bool areMixed = false)
{
    graph::GraphBuilder builder("squares", 18);
    const base::ValueId x =
        isFree ? builder.addInput("x", tensor::DType::Float32, std::vector<graph::Dimension>{{{}, "N"}, {features, {}}})
               : builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, features});
    const auto node = [&](const char* op, const char* name, std::vector<base::ValueId> operands) {
        return builder.addOp(op, name, std::move(operands), std::string(name) + "_out");
    };
    const auto axis = [&](const char* name, std::int64_t value) {
        return builder.addConstant(name, Tensor::of<std::int64_t>({1}, std::vector{value}));
    };
    const base::ValueId rows = areMixed ? node("ReduceSum", "samples", {x, axis("zero", 0)}) : x;
    const base::ValueId sum = node("ReduceSum", "sum", {rows, axis("one", 1)});
    const base::ValueId square = node("Mul", "square", {sum, sum});
    // Mixed ones are all the same: as many rows as the input has.
    builder.addOutput(areMixed
                          ? node("Add", "rows",
                                 {square, node("Mul", "nothing",
                                               {node("ReduceSum", "own", {x, axis("last", 1)}),
                                                builder.addConstant("c", Tensor::of<float>({1}, std::vector{0.0F}))})})
                          : square);
    auto model = engine::parseModel(formats::toOnnx(std::move(builder).build().value()).value(), "squares.onnx", {});
    return model.ok() ? *model : nullptr;
}

engine::ExplainRequest question(const Values& x, const char* composite = "epsilon:epsilon=0")
{
    engine::ExplainRequest request;
    request.inputs = {Tensor::of<double>({1, static_cast<std::int64_t>(x.size())}, x)};
    request.composite = composite;
    request.precision = execute::Precision::Double;
    return request;
}

const Values kWeights{3, 1, -2, 0.5, 1, 2}; // 3 inputs, 2 outputs
const Values kInput{2, 4, 1};               // scores 6 − 8 + 1 = −1 and 2 + 2 + 2 = 6

Values valuesOf(const Tensor& tensor)
{
    Values values;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        values.push_back(tensor.at(i));
    }
    return values;
}

bool isClose(const Values& a, const Values& b, double tolerance = 1e-9)
{
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [&](double x, double y) { return std::abs(x - y) <= tolerance; });
}

Values attributed(const Subject& subject, const char* method)
{
    engine::UnitOptions options;
    options.replacement = engine::Replacement::Zero;
    engine::AttributionOptions parameters;
    parameters.noiseSamples = 4;
    parameters.noise = 0.01; // x stays above 0
    const auto result =
        (*engine::makeAttribution(method, parameters))->attribute(subject, Units(subject.input(), options));
    return result.ok() ? valuesOf(result->values) : Values();
}

} // namespace

class EvaluateTest : public QObject
{
    Q_OBJECT

private slots:
    void init()
    {
        m_model = linear(kWeights, 3, 2);
        QVERIFY(m_model != nullptr);
    }

    void theSubjectHoldsItsTarget()
    {
        RETRO_MADE(subject, Subject::make(m_model, question(kInput)));
        QCOMPARE(QString::fromStdString(subject->targetText()), QStringLiteral("second_out 1"));
        QCOMPARE(subject->runnerUp(), std::optional<std::int64_t>(0));
        QCOMPARE(*subject->score(subject->input()), 6.0);
        // Another class is the best one here, but the target stays.
        QCOMPARE(*subject->score(doubles({1, 3}, {5, 0, 0})), 5.0);
        QCOMPARE(*subject->withClass(0).score(subject->input()), -1.0);
    }

    // Of a linear model without bias all methods but SmoothGrad, which is a gradient, agree.
    void methodsAgreeOnALinearModel()
    {
        const auto subject = Subject::make(m_model, question(kInput));
        const Values expected{2, 2, 2};
        for (const char* method : {"lrp", "input_x_gradient", "integrated_gradients", "occlusion"}) {
            QVERIFY2(isClose(attributed(*subject, method), expected), method);
        }
        QVERIFY(isClose(attributed(*subject, "smoothgrad"), {1, 0.5, 2}));
        QVERIFY(isClose(attributed(subject->withClass(0), "lrp"), {6, -8, 1}));
        const auto unknown = engine::makeAttribution("lime");
        QVERIFY(!unknown.ok() && unknown.error().code == base::ErrorCode::Usage);
        QVERIFY(unknown.error().text().find("known are lrp, input_x_gradient") != std::string::npos);
    }

    void curvesOfALinearModel()
    {
        const auto subject = Subject::make(m_model, question(kInput));
        const Subject other = subject->withClass(0); // contributions 6, −8, 1 of −1
        engine::UnitOptions options;
        options.replacement = engine::Replacement::Zero;
        const Units units(other.input(), options);
        const auto curves = engine::flip(other, units, doubles({1, 3}, {6, -8, 1}), {});
        QVERIFY(isClose(curves->removed, {0, 1.0 / 3, 2.0 / 3, 1}));
        QVERIFY(isClose(curves->mostFirst.scores, {-1, -7, -8, 0}));
        QVERIFY(isClose(curves->leastFirst.scores, {-1, 7, 6, 0}));
        QVERIFY(std::abs(curves->mostFirst.area - (-4.0 - 7.5 - 4) / 3) < 1e-9);
        QVERIFY(std::abs(curves->between() - ((3 + 6.5 + 3) - (-4.0 - 7.5 - 4)) / 3) < 1e-9);
        const auto random = engine::flipAtRandom(other, units, {});
        QVERIFY(random->area > curves->mostFirst.area && random->area < curves->leastFirst.area);
        QVERIFY(isClose(random->scores, engine::flipAtRandom(other, units, {})->scores, 0)); // seeded
        engine::FlippingOptions coarse;
        coarse.steps = 2;
        QVERIFY(isClose(engine::flip(other, units, other.input(), coarse)->removed, {0, 1.0 / 3, 1}));
    }

    void unitsOfPictures_data()
    {
        QTest::addColumn<bool>("isChannelsLast");
        QTest::newRow("NCHW") << false;
        QTest::newRow("NHWC") << true;
    }
    void unitsOfPictures()
    {
        QFETCH(bool, isChannelsLast);
        const tensor::Shape shape = isChannelsLast ? tensor::Shape{1, 5, 7, 2} : tensor::Shape{1, 2, 5, 7};
        Values values(70);
        std::iota(values.begin(), values.end(), 0.0);
        const Tensor input = Tensor::of<double>(shape, values);
        engine::UnitOptions options;
        options.patch = 3;
        options.channels = isChannelsLast ? engine::ChannelAxis::Last : engine::ChannelAxis::First;
        const Units units(input, options);
        QCOMPARE(units.count(), std::size_t{6});
        std::vector<int> seen(70, 0);
        for (std::size_t i = 0; i < units.count(); ++i) {
            for (const std::int64_t element : units.members(i)) {
                ++seen[static_cast<std::size_t>(element)];
            }
        }
        QCOMPARE(seen, std::vector<int>(70, 1));
        QCOMPARE(units.members(0).size(), std::size_t{18}); // 3 × 3 of 2 channels
        QCOMPARE(units.members(5).size(), std::size_t{4});  // 2 × 1 in the corner
        QCOMPARE(units.replacement(0), isChannelsLast ? 34.0 : 17.0);
        QCOMPARE(units.replacement(69), isChannelsLast ? 35.0 : 52.0);
    }

    void unitsOfSeries()
    {
        const Units units(doubles({1, 2, 3}, {1, 2, 3, 5, 6, 7}), {});
        QCOMPARE(units.count(), std::size_t{2});
        QVERIFY(units.members(1) == (std::vector<std::int64_t>{3, 4, 5}));
        QCOMPARE(units.replacement(5), 5.0); // of its channel
    }

    void similarities()
    {
        const auto of = [](const Values& a, const Values& b) {
            const auto size = static_cast<std::int64_t>(a.size());
            return engine::similarity(Tensor::of<double>({size}, a), Tensor::of<double>({size}, b));
        };
        QVERIFY(std::abs(of({1, 2, 3}, {2, 4, 6}).cosine - 1) < 1e-12);
        QVERIFY(std::abs(of({1, 2, 3}, {1, 10, 100}).spearman - 1) < 1e-12);
        QVERIFY(std::abs(of({1, 2, 3}, {3, 2, 1}).spearman + 1) < 1e-12);
        QVERIFY(std::abs(of({1, 1, 2}, {1, 2, 2}).spearman - 0.5) < 1e-12); // ties at their mean rank
        QCOMPARE(of({0, 0}, {1, 2}).cosine, 0.0);
        QCOMPARE(of({1, 1}, {1, 2}).spearman, 0.0);
    }

    void shuffledLayers()
    {
        QVERIFY(engine::shufflableLayers(*m_model) == (std::vector<std::string>{"second", "first"}));
        RETRO_MADE(changed, engine::withShuffledLayers(*m_model, 1, 5));
        const auto weights = [](const engine::LoadedModel& model, const char* name) {
            return valuesOf(model.graph()->value(*model.graph()->findValue(name)).constant);
        };
        QVERIFY(weights(**changed, "V") == weights(*m_model, "V"));
        Values shuffled = weights(**changed, "W");
        QVERIFY(shuffled != weights(*m_model, "W"));
        Values sorted = kWeights;
        std::sort(sorted.begin(), sorted.end());
        std::sort(shuffled.begin(), shuffled.end());
        QVERIFY(shuffled == sorted);
        const auto all = engine::withShuffledLayers(*m_model, 2, 5);
        QVERIFY(weights(**all, "W") == weights(**changed, "W")); // the earlier stage stays
        QVERIFY(weights(**all, "V") != weights(*m_model, "V"));
    }

    void everythingTogether()
    {
        engine::EvaluationOptions options;
        options.methods = {"lrp", "occlusion"};
        options.stages = 2;
        options.units.replacement = engine::Replacement::Zero;
        std::vector<std::string> told;
        const auto result =
            engine::evaluate(m_model, question(kInput), options, {},
                             [&](const std::string& what, std::size_t, std::size_t) { told.push_back(what); });
        RETRO_OK(result);
        QCOMPARE(result->methods.size(), std::size_t{2});
        for (const engine::MethodMeasures& method : result->methods) {
            QVERIFY(std::abs(*method.cosineToOther - -2.0 / std::sqrt(12.0 * 101)) < 1e-9);
            QCOMPARE(method.stages.size(), std::size_t{2});
            QCOMPARE(method.stages[0].layer, std::string("second"));
            QCOMPARE(method.stages[1].layers, std::size_t{2});
        }
        QVERIFY(std::find(told.begin(), told.end(), "lrp: flipping") != told.end());
        const auto json = engine::toJson(*result);
        QCOMPARE(json["methods"][0]["most_first"]["scores"].size(), std::size_t{4});
        QCOMPARE(json["units"].get<std::string>(), std::string("3 elements"));
        const QString csv = QString::fromStdString(engine::curvesCsv(*result));
        QCOMPARE(csv.count('\n'), 1 + 4 * 5);
        QVERIFY(csv.contains("lrp,least_first,0,6\n"));
        const QString measures = QString::fromStdString(engine::measuresCsv(*result));
        QCOMPARE(measures.count('\n'), 1 + 1 + 2 * (3 + 1 + 2 * 2));
        QVERIFY(measures.startsWith("method,measure,layer,layers,value\nrandom,area,,,"));
        QVERIFY(measures.contains("\nocclusion,cosine_to_other,,,-0.0574"));
        QVERIFY(measures.contains("\nlrp,randomisation_cosine,second,1,"));
        QVERIFY(isClose(valuesOf(result->methods[1].attributed.values), {2, 2, 2}));
    }

    // Of three classes the runner-up of the first is the third; the second is asked for.
    void anotherClassIsChosen()
    {
        const auto model = linear({3, 0, 2, 0, 1, 0, 0, 0, 0}, 3, 3);
        engine::EvaluationOptions options;
        options.methods = {"lrp"};
        RETRO_MADE(runnerUp, engine::evaluate(model, question({1, 1, 1}), options));
        QCOMPARE(runnerUp->otherClass, std::optional<std::int64_t>(2));
        QVERIFY(std::abs(*runnerUp->methods[0].cosineToOther - 1) < 1e-9);
        options.other = 1;
        const auto chosen = engine::evaluate(model, question({1, 1, 1}), options);
        QCOMPARE(chosen->otherClass, std::optional<std::int64_t>(1));
        QVERIFY(std::abs(*chosen->methods[0].cosineToOther) < 1e-9);
        options.other = 0; // the target itself: there is nothing to compare
        const auto itself = engine::evaluate(model, question({1, 1, 1}), options);
        QVERIFY(itself.ok() && !itself->otherClass && !itself->methods[0].cosineToOther);
        options.other = 3;
        QVERIFY(engine::evaluate(model, question({1, 1, 1}), options).error().code == base::ErrorCode::Usage);
        options.other = 1;
        engine::ExplainRequest all = question({1, 1, 1});
        all.start.kind = engine::StartKind::All; // the same relevance whatever the class
        QVERIFY(!engine::evaluate(model, all, options)->methods[0].cosineToOther);
    }

    /// What carries no relevance has a forward pass: y = sign(x)·W, at every method that needs no more.
    void theForwardPassAloneIsEnough()
    {
        graph::GraphBuilder builder("sign", 18);
        const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 3});
        const base::ValueId sign = builder.addOp("Sign", "sign", {x}, "sign");
        const base::ValueId floor = builder.addOp("Floor", "floor", {sign}, "floor");
        const base::ValueId w =
            builder.addConstant("w", Tensor::of<double>({3, 2}, kWeights).to(tensor::DType::Float32));
        const base::ValueId y = builder.addOp("MatMul", "second", {floor, w}, "y");
        builder.addOutput(y);
        const auto model =
            engine::parseModel(formats::toOnnx(std::move(builder).build().value()).value(), "m.onnx", {});
        RETRO_OK(model);
        engine::EvaluationOptions options;
        options.units.replacement = engine::Replacement::Zero;
        options.methods = {"occlusion", "shapley"};
        RETRO_MADE(result, engine::evaluate(*model, question({2, -4, 1}), options));
        for (const engine::MethodMeasures& method : result->methods) {
            QVERIFY2(isClose(valuesOf(method.attributed.values), {3, 2, 1}), method.method.c_str());
        }
        options.methods = {"lrp"};
        RETRO_REFUSED(engine::evaluate(*model, question({2, -4, 1}), options), "--method occlusion, shapley");
    }

    /// A product of two features is shared by both; what they add up to holds for few units and for drawn orders.
    void shapleyValues_data()
    {
        QTest::addColumn<int>("features");
        QTest::newRow("all coalitions") << 6;
        QTest::newRow("drawn orders") << 14;
    }
    void shapleyValues()
    {
        QFETCH(int, features);
        for (const bool isFree : {false, true}) { // with and without several samples in a pass
            RETRO_MADE(model, squares(features, isFree));
            Values x(static_cast<std::size_t>(features));
            std::iota(x.begin(), x.end(), 1.0);
            RETRO_MADE(subject, Subject::make(model, question(x), {}, {}, engine::Passes::Forward));
            engine::UnitOptions units;
            units.replacement = engine::Replacement::Zero;
            engine::AttributionOptions options;
            options.permutations = 40;
            const Units cut(subject->input(), units);
            RETRO_MADE(result, (*engine::makeAttribution("shapley", options))->attribute(*subject, cut));
            const Values values = valuesOf(result->values);
            const double all = std::accumulate(x.begin(), x.end(), 0.0);
            QVERIFY(std::abs(std::accumulate(values.begin(), values.end(), 0.0) - all * all) < 1e-9 * all * all);
            QCOMPARE(result->numbers.front(), std::make_pair(std::string("score_of_baseline"), 0.0));
            const bool isDrawn = features > 10;
            QCOMPARE(result->arrays.size(), std::size_t{isDrawn ? 1U : 0U});
            const Values errors = isDrawn ? valuesOf(result->arrays[0].second) : Values(x.size(), 1e-11);
            for (std::size_t i = 0; i < x.size(); ++i) { // (Σ x)² is shared as x_i Σ x
                QVERIFY(errors[i] > 0 && std::abs(values[i] - x[i] * all) < 5 * errors[i]);
            }
            const auto again = (*engine::makeAttribution("shapley", options))->attribute(*subject, cut);
            QVERIFY(isClose(valuesOf(again->values), values, 0)); // seeded
        }
    }

    /// Samples that change each other go through one by one.
    void samplesThatMeet()
    {
        const auto model = squares(4, true, true);
        RETRO_MADE(subject, Subject::make(model, question({1, 2, 3, 4}), {}, {}, engine::Passes::Forward));
        const auto scores = subject->scores(3, [](std::size_t i) {
            return doubles({1, 4}, Values(4, static_cast<double>(i)));
        });
        QVERIFY(scores.ok() && isClose(*scores, {0, 16, 64}));
    }

    void whatMethodsTake()
    {
        QVERIFY(engine::makeAttribution("gradcam:some/value:0").ok());
        const auto more = engine::makeAttribution("lrp:epsilon");
        QVERIFY(!more.ok() && more.error().text().find("gradcam++[:VALUE]") != std::string::npos);
    }

    void refusals()
    {
        engine::ExplainRequest two = question(kInput);
        two.inputs = {Tensor::of<double>({1, 3}, kInput)};
        two.alsoTargets.emplace_back();
        QVERIFY(Subject::make(m_model, two).error().code == base::ErrorCode::Usage);
        engine::EvaluationOptions options;
        options.methods = {"lrp", "lime"};
        QVERIFY(engine::evaluate(m_model, question(kInput), options).error().code == base::ErrorCode::Usage);
        std::stop_source stop;
        stop.request_stop();
        const auto stopped = engine::evaluate(m_model, question(kInput), {}, stop.get_token());
        QVERIFY(stopped.error().code == base::ErrorCode::Cancelled);
    }

    void questionsDiffer()
    {
        const std::string question = engine::resultHash(*m_model, {}, engine::kEvaluate);
        const auto hash = [&](const engine::EvaluationOptions& asked) { return engine::hashWith(question, asked); };
        engine::EvaluationOptions options;
        const std::string first = hash(options);
        options.flipping.steps = 7;
        QVERIFY(hash(options) != first);
        options = {};
        options.units.channels = engine::ChannelAxis::First;
        QVERIFY(hash(options) != first);
        options = {};
        options.other = 1;
        QVERIFY(hash(options) != first);
        options = {};
        options.input = "x";
        QVERIFY(hash(options) != first);
    }

private:
    engine::LoadedModelPointer m_model;
};

QTEST_GUILESS_MAIN(EvaluateTest)
#include "evaluatetest.moc"
