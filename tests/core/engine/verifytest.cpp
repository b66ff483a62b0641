// SPDX-License-Identifier: Apache-2.0
// `verify`: every property holds on samples, and rules that are wrong are found and named.
#include <QtTest>

#include "app/common/decodepicture.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/inputs.h"
#include "core/engine/verify/tapechecks.h"
#include "core/engine/verify/verify.h"
#include "core/engine/verify/wiringchecks.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"

#include <set>

using namespace retro;
using tensor::Tensor;

namespace
{

engine::LoadedModelPointer loadSample(const QString& name)
{
    const std::filesystem::path samples = std::filesystem::path(RETRO_SOURCE_DIR) / "samples";
    auto model = engine::loadModel(samples / (name.toStdString() + ".onnx"));
    return model.ok() && (*model)->card ? *model : nullptr;
}

base::Result<engine::VerifyRequest> questionOf(const engine::LoadedModel& model)
{
    engine::VerifyRequest request;
    const std::string file = (model.path.parent_path() / model.card->pictures.front().file).string();
    RETRO_TRY(request.inputs,
              engine::resolveInputs({file}, *model.graph(), engine::pictureOptions(&*model.card), app::decodePicture));
    return request;
}

const engine::PropertyResult* find(const engine::PropertyResults& results, const std::string& id)
{
    const auto at = std::ranges::find(results, id, &engine::PropertyResult::id);
    return at == results.end() ? nullptr : &*at;
}

/// y = tanh(x · x) + x over three numbers, in double.
std::shared_ptr<const execute::BoundModel> smallModel()
{
    graph::GraphBuilder builder("small");
    builder.setOpset("", 17);
    const auto x = builder.addInput("x", tensor::DType::Float64, tensor::Shape{3});
    const auto square = builder.addResult("square");
    const auto bent = builder.addResult("bent");
    const auto y = builder.addResult("y");
    builder.addNode({"Mul", "", "times", "", 17, {x, x}, {square}, {}});
    builder.addNode({"Tanh", "", "bend", "", 17, {square}, {bent}, {}});
    builder.addNode({"Add", "", "plus", "", 17, {bent, x}, {y}, {}});
    builder.addOutput(y);
    auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
    const std::vector<ops::TensorType> types{{tensor::DType::Float64, {3}}};
    return execute::BoundModel::bind(graph, types, execute::Precision::Double).value();
}

tape::ModelTape tapeOf(const std::shared_ptr<const execute::BoundModel>& model, tape::ModelRule rule)
{
    const std::vector<double> numbers{0.5, -0.25, 1.0};
    const Tensor input = Tensor::of<double>({3}, numbers);
    return tape::compileModel(model, {&input, 1}, std::move(rule)).value();
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

/// The gradient, but for one node, where `change` has its say.
tape::ModelRule spoilt(const std::shared_ptr<const execute::BoundModel>& model, const std::string& node,
                       std::function<Tensor(const Tensor&)> change)
{
    return [model, node, change = std::move(change),
            rule = engine::gradientRule(model)](const tape::ModelSite& site) -> base::Result<std::vector<Tensor>> {
        RETRO_TRY(std::vector<Tensor> parts, rule(site));
        for (Tensor& part : parts) {
            const bool isSpoilt = part.isValid() && model->graph().node(site.node).name == node;
            part = isSpoilt ? change(part) : part;
        }
        return parts;
    };
}

} // namespace

class VerifyTest : public QObject
{
    Q_OBJECT

private slots:
    void everyPropertyHoldsOnSamples_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : {"marked-step/marked-step", "planted-word/planted-word", "silent-groups/one-group"}) {
            QTest::newRow(name) << QString::fromLatin1(name);
        }
    }

    void everyPropertyHoldsOnSamples()
    {
        QFETCH(QString, name);
        const engine::LoadedModelPointer model = loadSample(name);
        QVERIFY(model);
        const auto request = questionOf(*model);
        QVERIFY2(request.ok(), request.ok() ? "" : request.error().text().c_str());
        const auto result = engine::verify(*model, *request);
        QVERIFY2(result.ok(), result.ok() ? "" : result.error().text().c_str());
        for (const engine::PropertyResult& one : result->properties) {
            QVERIFY2(one.state != engine::PropertyState::Violated, (one.id + ": " + one.detail).c_str());
        }
        for (const char* id : {"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13", "P14",
                               "promise", "compiled", "conservation"}) {
            const engine::PropertyResult* one = find(result->properties, id);
            QVERIFY2(one != nullptr, id);
            QVERIFY2(one->state == engine::PropertyState::Held, (one->id + ": " + one->detail).c_str());
        }
        QVERIFY(!result->nodes.empty() && !result->ulps.empty());
    }

    void aWrongDerivativeIsFoundAndNamed()
    {
        const auto model = smallModel();
        const auto wrong =
            tapeOf(model, spoilt(model, "bend", [](const Tensor& t) { return ops::algebra::scale(t, 1.01); }));
        const auto nodes = engine::checkNodes(wrong, 1, {});
        QVERIFY2(nodes.ok(), nodes.ok() ? "" : nodes.error().text().c_str());
        const engine::PropertyResult judged = engine::judgeNodes(*nodes);
        QVERIFY(judged.state == engine::PropertyState::Violated);
        QVERIFY2(judged.detail.find("the worst is bend (Tanh)") != std::string::npos, judged.detail.c_str());
        QCOMPARE(judged.node, std::string("bend"));
        const tape::Id target = wrong.idOf[model->graph().outputs().front().index()];
        const Tensor start = Tensor::full(tensor::DType::Float64, {3}, 1);
        const auto whole = engine::checkWhole(wrong, target, start, 1, {});
        QVERIFY(whole->state == engine::PropertyState::Violated);
        QVERIFY2(whole->detail.find("; smallest case: from ones at bent, slope") != std::string::npos,
                 whole->detail.c_str());
        QCOMPARE(whole->node, std::string("bend"));
        const auto right = tapeOf(model, engine::gradientRule(model));
        QVERIFY(engine::judgeNodes(*engine::checkNodes(right, 1, {})).state == engine::PropertyState::Held);
        QVERIFY(engine::checkWhole(right, target, start, 1, {})->state == engine::PropertyState::Held);
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
        QVERIFY2(judged.detail.find("operand 1 at [0] alone, by 1, moves: the rule answers 2, the difference 1") !=
                     std::string::npos,
                 judged.detail.c_str());
        QVERIFY2(judged.detail.find("operand 0") == std::string::npos, judged.detail.c_str());
    }

    void aStoppedVerificationIsCancelled()
    {
        const engine::LoadedModelPointer model = loadSample("silent-groups/one-group");
        QVERIFY(model);
        const auto request = questionOf(*model);
        QVERIFY(request.ok());
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
        const auto results = engine::checkTape(leaky, target, Tensor::full(tensor::DType::Float64, {3}, 1), {});
        QVERIFY2(results.ok(), results.ok() ? "" : results.error().text().c_str());
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
        const auto results = engine::checkTape(moody, target, start, {}, &course);
        QVERIFY(results.ok());
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
        const auto results = engine::checkTape(moody, target, Tensor::full(tensor::DType::Float64, {3}, 1), {});
        QVERIFY(results.ok());
        for (const char* id : {"P5", "P6", "P9"}) {
            const engine::PropertyResult* one = find(*results, id);
            QVERIFY2(one->state == engine::PropertyState::Violated, id);
            QVERIFY2(one->detail.find("; smallest case: from ones at square, the slot of x") != std::string::npos,
                     one->detail.c_str());
        }
    }

    void aBrokenMapIsShownByTheSmallestWiring_data()
    {
        QTest::addColumn<QString>("id");
        QTest::addColumn<QString>("text");
        QTest::newRow("adjoint") << "P7"
                                 << "; smallest case: bent = f(x); from bent";
        QTest::newRow("total") << "P11"
                               << "; smallest case: bent = f(x); from bent";
    }

    void aBrokenMapIsShownByTheSmallestWiring()
    {
        QFETCH(QString, id);
        QFETCH(QString, text);
        const auto model = smallModel();
        const auto made = tapeOf(model, engine::gradientRule(model));
        const tape::Id target = made.idOf[model->graph().outputs().front().index()];
        const auto change = [](const std::string& name, engine::IntegerMap map) -> engine::IntegerMap {
            using Numbers = tape::Array<tape::Modular>;
            if (name != "bent") {
                return map;
            }
            return std::make_shared<tape::FunctionOperator<Numbers>>(
                [map](tape::Operands<Numbers> x, const tape::Payload<Numbers>& p) { return map->forward(x, p); },
                [map](const tape::Site<Numbers>& site, const Numbers& up) -> base::Result<tape::Parts<Numbers>> {
                    RETRO_TRY(tape::Parts<Numbers> parts, map->reverse(site, up));
                    if (!parts.empty()) {
                        parts.front()->data.front() += up.data.front();
                    }
                    return parts;
                });
        };
        const engine::PropertyResults results = engine::checkWiring(made, target, 7, change);
        const engine::PropertyResult* one = find(results, id.toStdString());
        QVERIFY(one != nullptr && one->state == engine::PropertyState::Violated);
        QVERIFY2(one->detail.ends_with(text.toStdString()), one->detail.c_str());
        QCOMPARE(one->node, std::string("bend"));
    }

    void aCaseIsMadeSmall()
    {
        // Wrong as long as a node reads the same value twice.
        const engine::WiringCase given{
            2, {{0, 1}, {2}, {3, 3, 1}, {4, 2}, {5}}, {"x", "y", "a", "b", "c", "d", "e"}, 6};
        const auto isTwice = [](const engine::WiringCase& one) -> std::string {
            for (const std::vector<tape::Id>& parents : one.parents) {
                const std::set<tape::Id> once(parents.begin(), parents.end());
                if (once.size() < parents.size()) {
                    return "twice";
                }
            }
            return "";
        };
        QCOMPARE(given.text(), std::string("e = f(d), d = f(c, a), c = f(b, b, y), b = f(a), a = f(x, y); from e"));
        QCOMPARE(engine::smallestCase(given, isTwice).text(), std::string("c = f(x, x); from c"));
    }

    void anotherTargetIsReachedByFewer()
    {
        const auto model = smallModel();
        const auto made = tapeOf(model, engine::gradientRule(model));
        for (const char* name : {"square", "bent", "y"}) {
            const tape::Id target = made.idOf[model->graph().findValue(name)->index()];
            for (const engine::PropertyResult& one : engine::checkWiring(made, target, 7)) {
                QVERIFY2(one.state == engine::PropertyState::Held, (one.id + ": " + one.detail).c_str());
            }
        }
    }
};

QTEST_APPLESS_MAIN(VerifyTest)
#include "verifytest.moc"
