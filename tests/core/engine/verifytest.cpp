// SPDX-License-Identifier: Apache-2.0
// `verify`: every property holds on samples, and rules that are wrong are found and named.
#include <QtTest>

#include "core/engine/input/inputs.h"
#include "core/engine/verify/tapechecks.h"
#include "core/engine/verify/verify.h"
#include "core/ops/algebra.h"
#include "tests/core/engine/samplequestion.h"
#include "tests/core/engine/smalltape.h"

using namespace retro;
using namespace retro::enginetest;
using tensor::Tensor;

namespace
{

base::Result<engine::VerifyRequest> questionOf(const engine::LoadedModel& model)
{
    engine::VerifyRequest request;
    const std::string file = (model.path.parent_path() / model.card->pictures.front().file).string();
    RETRO_TRY(request.inputs, engine::resolveInputs({file}, *model.graph(), engine::pictureOptions(&*model.card)));
    return request;
}

/// The steps of a course: per cell the slots that it wrote, = where loop and recursion agree.
QString courseText(const engine::ReverseCourse& course)
{
    QStringList steps;
    for (const engine::CourseStep& step : course) {
        QString text = QString::fromStdString(step.node) + QStringLiteral(":");
        for (const engine::CourseSlot& slot : step.written) {
            text += QStringLiteral(" %1 %2").arg(QString::fromStdString(slot.value), slot.isEqual ? "=" : "part");
        }
        steps << text;
    }
    return steps.join(QStringLiteral(" | "));
}

} // namespace

class VerifyTest : public QObject
{
    Q_OBJECT

private slots:
    void everyPropertyHoldsOnSamples_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<bool>("isChain"); // of nodes that each read the one before: P10 does not apply
        QTest::newRow("marked-step") << "marked-step/marked-step" << false;
        QTest::newRow("planted-word") << "planted-word/planted-word" << false;
        QTest::newRow("one-group") << "silent-groups/one-group" << true;
    }

    void everyPropertyHoldsOnSamples()
    {
        QFETCH(QString, name);
        QFETCH(bool, isChain);
        const engine::LoadedModelPointer model = tests::loadSample(name);
        QVERIFY(model);
        RETRO_MADE(request, questionOf(*model));
        RETRO_MADE(result, engine::verify(*model, *request));
        for (const engine::PropertyResult& one : result->properties) {
            QVERIFY2(one.state != engine::PropertyState::Violated, (one.id + ": " + one.detail).c_str());
        }
        for (const char* id : {"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14",
                               "promise", "compiled", "conservation"}) {
            const engine::PropertyResult* one = find(result->properties, id);
            QVERIFY2(one != nullptr, id);
            const bool applies = !isChain || one->id != "P10";
            QVERIFY2(one->state == (applies ? engine::PropertyState::Held : engine::PropertyState::NotApplicable),
                     (one->id + ": " + one->detail).c_str());
        }
        QVERIFY(!result->nodes.empty() && !result->ulps.empty());
    }

    // Weights of 16 bits stay as they are stored; what is checked is what the run computes in.
    void weightsOfSixteenBitsAreVerified_data()
    {
        QTest::addColumn<int>("type");
        QTest::newRow("bfloat16") << static_cast<int>(tensor::DType::BFloat16);
        QTest::newRow("float16") << static_cast<int>(tensor::DType::Float16);
    }

    void weightsOfSixteenBitsAreVerified()
    {
        QFETCH(int, type);
        const auto narrow = static_cast<tensor::DType>(type);
        constexpr std::int64_t kWide = 128; // 128 × 128 in 16 bits are more than what is widened once
        graph::GraphBuilder builder("narrow", 17);
        const auto weights = [&](const std::string& name, const tensor::Shape& shape, double factor) {
            std::vector<double> numbers(static_cast<std::size_t>(tensor::elementCount(shape)));
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                numbers[i] = factor * std::sin(static_cast<double>(7 * i + 1));
            }
            return builder.addConstant(name, Tensor::of<double>(shape, numbers).to(narrow));
        };
        const base::ValueId x = builder.addInput("x", narrow, tensor::Shape{1, kWide});
        const base::ValueId w = weights("w", {kWide, kWide}, 0.1);
        const base::ValueId hidden = addNode(builder, "MatMul", "first", {x, w}, "hidden");
        const base::ValueId bent = addNode(builder, "Tanh", "bend", {hidden}, "bent");
        const base::ValueId turned =
            builder.addOp("Transpose", "turn", {w}, "turned", {{"perm", std::vector<std::int64_t>{1, 0}}});
        const base::ValueId back = addNode(builder, "MatMul", "second", {bent, turned}, "back");
        builder.addOutput(addNode(builder, "Add", "sum", {back, weights("b", {kWide}, 1)}, "y"));
        RETRO_MADE(rewritten,
                   rewrite::rewrite(std::make_shared<const graph::Graph>(std::move(builder).build().value()), {}));
        engine::LoadedModel model;
        model.name = "narrow.onnx";
        model.rewritten = std::move(rewritten).value();
        engine::VerifyRequest request;
        request.inputs = {Tensor::full(tensor::DType::Float32, {1, kWide}, 0.25)};
        RETRO_MADE(result, engine::verify(model, request));
        for (const engine::PropertyResult& one : result->properties) {
            QVERIFY2(one.state != engine::PropertyState::Violated, (one.id + ": " + one.detail).c_str());
        }
        QVERIFY(find(result->properties, "P8")->state == engine::PropertyState::Held);
        QVERIFY(find(result->properties, "gradient")->state == engine::PropertyState::Held);
    }

    void aWrongDerivativeIsFoundAndNamed()
    {
        const auto model = smallModel();
        const auto wrong =
            tapeOf(model, spoilt(model, "bend", [](const Tensor& t) { return ops::algebra::scale(t, 1.01); }));
        RETRO_MADE(nodes, engine::checkNodes(wrong, 1, {}));
        const engine::PropertyResult judged = engine::judgeNodes(*nodes);
        QVERIFY(judged.state == engine::PropertyState::Violated);
        QVERIFY2(judged.detail.find("the worst is bend (Tanh)") != std::string::npos, judged.detail.c_str());
        QCOMPARE(judged.node, std::string("bend"));
        const tape::Id target = wrong.idOf[model->graph().outputs().front().index()];
        const Tensor start = Tensor::full(tensor::DType::Float64, {3}, 1);
        const auto whole = engine::checkWhole(wrong, target, start, 1, {});
        QVERIFY(whole->state == engine::PropertyState::Violated);
        RETRO_SAYS(whole->detail, "; smallest case: from ones at bent, slope");
        QCOMPARE(whole->node, std::string("bend"));
        const auto right = tapeOf(model, engine::gradientRule(model));
        QVERIFY(engine::judgeNodes(*engine::checkNodes(right, 1, {})).state == engine::PropertyState::Held);
        QVERIFY(engine::checkWhole(right, target, start, 1, {})->state == engine::PropertyState::Held);
    }

    // Beside values of size 1, what weights of 1e-17 do is lost when numbers are rounded: no difference shows it.
    void aDifferenceThatDrownsInRoundingSaysNothing()
    {
        for (const char* op : {"Tanh", "Identity"}) {
            const auto model = modelOf([op](graph::GraphBuilder& builder, base::ValueId x) {
                const auto constant = [&](const char* name, double number) {
                    return builder.addConstant(name, Tensor::full(tensor::DType::Float64, {3}, number));
                };
                const base::ValueId tiny = addNode(builder, "Mul", "tiny", {x, constant("w", -1.3e-17)}, "t");
                const base::ValueId shifted = addNode(builder, "Add", "shift", {tiny, constant("b", 1.1)}, "s");
                return addNode(builder, op, "bend", {shifted}, "y");
            });
            const auto right = tapeOf(model, engine::gradientRule(model));
            const tape::Id target = right.idOf[model->graph().outputs().front().index()];
            const Tensor start = Tensor::full(tensor::DType::Float64, {3}, 1);
            for (std::uint64_t seed = 1; seed <= 20; ++seed) {
                const engine::PropertyResult nodes = engine::judgeNodes(*engine::checkNodes(right, seed, {}));
                QVERIFY2(nodes.state != engine::PropertyState::Violated, nodes.detail.c_str());
                const auto whole = engine::checkWhole(right, target, start, seed, {});
                QVERIFY2(whole->state == engine::PropertyState::NotApplicable, whole->detail.c_str());
            }
            // What does show is found as before.
            const auto wrong =
                tapeOf(model, spoilt(model, "tiny", [](const Tensor& t) { return ops::algebra::scale(t, 1.01); }));
            QVERIFY(engine::judgeNodes(*engine::checkNodes(wrong, 1, {})).state == engine::PropertyState::Violated);
        }
    }

    // A slope of 1e33 turns from end to end within any step.
    void aJumpWithinTheStepSaysNothing()
    {
        const auto model = modelOf([](graph::GraphBuilder& builder, base::ValueId x) {
            const base::ValueId here =
                builder.addConstant("here", Tensor::of<double>({3}, std::vector<double>{0.5, -0.25, 1.0}));
            const base::ValueId zero = addNode(builder, "Sub", "shift", {x, here}, "z");
            return builder.addOp("HardSigmoid", "bend", {zero}, "y", {{"alpha", 1e33}, {"beta", 0.5}});
        });
        const auto right = tapeOf(model, engine::gradientRule(model));
        const tape::Id target = right.idOf[model->graph().outputs().front().index()];
        const Tensor start = Tensor::full(tensor::DType::Float64, {3}, 1);
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            RETRO_MADE(nodes, engine::checkNodes(right, seed, {}));
            QVERIFY(engine::judgeNodes(*nodes).state != engine::PropertyState::Violated);
            const auto bend = std::ranges::find(*nodes, "bend", &engine::NodeGradient::node);
            QVERIFY(bend != nodes->end() && bend->state() == engine::GradientState::NotChecked);
            QVERIFY2(bend->note.find("jumps within the shortest step") != std::string::npos, bend->note.c_str());
            const auto whole = engine::checkWhole(right, target, start, seed, {});
            QVERIFY2(whole->state == engine::PropertyState::NotApplicable, whole->detail.c_str());
        }
    }

    /// A scale that is read as a number changes with the largest elements, while its gradient is 0 by definition.
    void theScaleOfLevelsHasNoSlope()
    {
        graph::GraphBuilder builder("scaled", 17);
        const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
        const base::ValueId levels = builder.addResult("levels");
        const base::ValueId scale = builder.addResult("scale");
        const base::ValueId zero = builder.addResult("zero");
        builder.addNode({"DynamicQuantizeLinear", "", "range", "", 17, {x}, {levels, scale, zero}, {}});
        builder.addOutput(addNode(builder, "Mul", "scaled", {x, scale}, "y"));
        RETRO_MADE(rewritten,
                   rewrite::rewrite(std::make_shared<const graph::Graph>(std::move(builder).build().value()), {}));
        engine::LoadedModel model;
        model.name = "scaled.onnx";
        model.rewritten = std::move(rewritten).value();
        engine::VerifyRequest request;
        request.inputs = {Tensor::of<float>({1, 4}, std::vector<float>{0.5F, -0.25F, 1.5F, 0.75F})};
        RETRO_MADE(result, engine::verify(model, request));
        for (const engine::PropertyResult& one : result->properties) {
            QVERIFY2(one.state != engine::PropertyState::Violated, (one.id + ": " + one.detail).c_str());
        }
        const engine::PropertyResult* gradient = find(result->properties, "gradient");
        QVERIFY(gradient != nullptr && gradient->state == engine::PropertyState::NotApplicable);
    }

    // One node that holds both: the weight and the bias of a layer.
    void aLayerOfTinyWeightsIsNotAccused()
    {
        const auto model = modelOf([](graph::GraphBuilder& builder, base::ValueId x) {
            const base::ValueId row = addNode(
                builder, "Reshape", "row",
                {x, builder.addConstant("shape", Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{1, 3}))}, "r");
            const base::ValueId w = builder.addConstant("w", Tensor::full(tensor::DType::Float64, {3, 2}, 2e-17));
            const base::ValueId b = builder.addConstant("b", Tensor::full(tensor::DType::Float64, {2}, -0.9));
            return addNode(builder, "Gemm", "layer", {row, w, b}, "y");
        });
        const auto right = tapeOf(model, engine::gradientRule(model));
        RETRO_MADE(nodes, engine::checkNodes(right, 1, {}));
        QVERIFY(engine::judgeNodes(*nodes).state != engine::PropertyState::Violated);
        const auto layer = std::ranges::find(*nodes, "layer", &engine::NodeGradient::node);
        QVERIFY(layer != nodes->end() && !layer->error && layer->state() == engine::GradientState::NotChecked);
        QVERIFY2(layer->note.find("drowns in the rounding") != std::string::npos, layer->note.c_str());
    }

    void aWrongRuleIsShownByTheFewestElements()
    {
        const auto model = smallModel();
        // Wrong at the last element alone: the others of the counterexample must go.
        const std::vector<double> factors{1, 1, 3};
        const Tensor factor = Tensor::of<double>({3}, factors);
        const auto wrong = tapeOf(
            model, spoilt(model, "bend", [factor](const Tensor& t) { return ops::algebra::multiply(t, factor); }));
        const engine::PropertyResult judged = engine::judgeNodes(*engine::checkNodes(wrong, 1, {}));
        QVERIFY(judged.state == engine::PropertyState::Violated);
        // At 1 the slope of tanh is 1 - tanh(1)^2 = 0.419974; the spoilt rule gives three times that.
        QVERIFY2(judged.detail.ends_with("; smallest case: result 0 at [2] alone, by 1, receives, operand 0 at [2] "
                                         "alone, by 1, moves: the rule answers 1.25992, the difference 0.419974"),
                 judged.detail.c_str());
    }

    void aRuleWrongInOneOperandIsShownByThatOperand()
    {
        const auto model = smallModel();
        // y = bent + x with parts scaled: both operands are wrong, one suffices to show it.
        const auto wrong =
            tapeOf(model, spoilt(model, "plus", [](const Tensor& t) { return ops::algebra::scale(t, 2); }));
        const engine::PropertyResult judged = engine::judgeNodes(*engine::checkNodes(wrong, 1, {}));
        QVERIFY(judged.state == engine::PropertyState::Violated);
        RETRO_SAYS(judged.detail, "operand 1 at [0] alone, by 1, moves: the rule answers 2, the difference 1");
        QVERIFY2(judged.detail.find("operand 0") == std::string::npos, judged.detail.c_str());
    }

    void aStoppedVerificationIsCancelled()
    {
        const engine::LoadedModelPointer model = tests::loadSample("silent-groups/one-group");
        QVERIFY(model);
        RETRO_MADE(request, questionOf(*model));
        std::stop_source stop;
        const auto stopWithin = [&stop](const std::string& stage, std::size_t done, std::size_t) {
            if (stage == "gradients in double" && done > 0) {
                stop.request_stop();
            }
        };
        const auto result = engine::verify(*model, *request, stop.get_token(), stopWithin);
        QVERIFY(!result.ok() && result.error().code == base::ErrorCode::Cancelled);
    }

    void aRuleThatMakesSomethingOfNothingTakesP6Away()
    {
        const auto model = smallModel();
        const auto leaky = tapeOf(model, spoilt(model, "bend", [](const Tensor& t) {
                                      return ops::algebra::add(t, ops::algebra::filledLike(t, 0.5));
                                  }));
        const tape::Id target = leaky.idOf[model->graph().outputs().front().index()];
        RETRO_MADE(results, engine::checkTape(leaky, target, Tensor::full(tensor::DType::Float64, {3}, 1), {}));
        const engine::PropertyResult* skipping = find(*results, "P6");
        QVERIFY(skipping != nullptr && skipping->state == engine::PropertyState::NotApplicable);
        QVERIFY2(skipping->detail.find("bent") != std::string::npos, skipping->detail.c_str());
        QCOMPARE(skipping->node, std::string("bend"));
        QVERIFY(find(*results, "P5")->state == engine::PropertyState::Held);
    }

    void aRuleThatForgetsWhatItAnsweredBreaksP5()
    {
        const auto model = smallModel();
        auto calls = std::make_shared<int>(0);
        const auto moody = tapeOf(
            model, spoilt(model, "times", [calls](const Tensor& t) { return ops::algebra::scale(t, ++*calls); }));
        const tape::Id target = moody.idOf[model->graph().outputs().front().index()];
        engine::ReverseCourse course;
        const Tensor start = Tensor::full(tensor::DType::Float64, {3}, 1);
        RETRO_MADE(results, engine::checkTape(moody, target, start, {}, &course));
        QCOMPARE(courseText(course), QString("plus: x = bent = | bend: square = | times: x part"));
        const auto right = tapeOf(model, engine::gradientRule(model));
        QVERIFY(engine::checkTape(right, target, start, {}, &course).ok());
        QCOMPARE(courseText(course), QString("plus: x = bent = | bend: square = | times: x ="));
        QCOMPARE(course.front().written.front().loop, 3.0); // Σ of three ones
        QCOMPARE(course.front().written.front().recursion, 3.0);
        const engine::PropertyResult* recursion = find(*results, "P5");
        QVERIFY(recursion->state == engine::PropertyState::Violated);
        QVERIFY2(recursion->detail.find("the slot of x") != std::string::npos, recursion->detail.c_str());
        QCOMPARE(recursion->node, std::string("x")); // an input
    }

    /// A rule that is wrong the more often it is asked is shown at the node behind it alone.
    void aCounterexampleIsMadeSmall()
    {
        const auto model = smallModel();
        auto calls = std::make_shared<int>(0);
        const auto moody = tapeOf(
            model, spoilt(model, "times", [calls](const Tensor& t) { return ops::algebra::scale(t, ++*calls); }));
        const tape::Id target = moody.idOf[model->graph().outputs().front().index()];
        RETRO_MADE(results, engine::checkTape(moody, target, Tensor::full(tensor::DType::Float64, {3}, 1), {}));
        for (const char* id : {"P5", "P6", "P9"}) {
            const engine::PropertyResult* one = find(*results, id);
            QVERIFY2(one->state == engine::PropertyState::Violated, id);
            RETRO_SAYS(one->detail, "; smallest case: from ones at square, the slot of x");
        }
    }
};

QTEST_APPLESS_MAIN(VerifyTest)
#include "verifytest.moc"
