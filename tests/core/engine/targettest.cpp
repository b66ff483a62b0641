// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/explain/segment.h"
#include "core/graph/graphbuilder.h"

using namespace retro;
using engine::StartKind;
using engine::TargetRequest;
using tensor::Tensor;

namespace
{

Tensor logits()
{
    const std::vector<double> values{0.5, 2.0, -1.0, 3.0, -2.0, 0.25};
    return Tensor::of<double>({2, 3}, std::span<const double>(values));
}

engine::ResolvedTarget resolve(const std::string& target, StartKind start)
{
    const auto request = engine::parseTarget(target);
    auto resolved = engine::resolveTarget(*request, {start, {}}, base::ValueId(std::uint32_t{0}), logits());
    return *resolved;
}

std::vector<double> valuesOf(const Tensor& t)
{
    const auto span = t.span<double>();
    return {span.begin(), span.end()};
}

/// 2 samples of 3 tokens and 4 classes; the largest is class 2 of token 1 in the one, class 3 of token 0 in the other.
Tensor dense()
{
    std::vector<double> values(24, 0.0);
    values[0] = 0.5;
    values[5] = 0.75;
    values[6] = 9;
    values[15] = 8;
    values[17] = 0.25;
    values[20] = 1.5;
    return Tensor::of<double>({2, 3, 4}, std::span<const double>(values));
}

engine::ResolvedTarget denseTarget(const std::string& target)
{
    const auto resolved = engine::resolveTarget(*engine::parseTarget(target), {}, {}, dense());
    return resolved.ok() ? *resolved : engine::ResolvedTarget();
}

} // namespace

class TargetTest : public QObject
{
    Q_OBJECT
private slots:
    void parses()
    {
        QVERIFY(engine::parseTarget("argmax")->kind == TargetRequest::Kind::Argmax);
        QVERIFY(engine::parseTarget("7")->classIndex == 7);
        const auto value = engine::parseTarget("/fc1/Gemm_output_0:1,2");
        QCOMPARE(QString::fromStdString(value->value), QStringLiteral("/fc1/Gemm_output_0"));
        QCOMPARE(value->index, (std::vector<std::int64_t>{1, 2}));
        QCOMPARE(QString::fromStdString(engine::parseTarget("scope::name")->value), QStringLiteral("scope::name"));
        QVERIFY(!engine::parseTarget("-1").ok());
        QVERIFY(!engine::parseStart("loud").ok());
    }

    void aLabelIsAClass()
    {
        const std::vector<std::string> labels{"ground", "house", "7"};
        QCOMPARE(engine::parseTarget("house", labels)->classIndex, std::int64_t{1});
        QCOMPARE(engine::parseTarget("7", labels)->classIndex, std::int64_t{2}); // the label before the number
        QVERIFY(engine::parseTarget("house", labels)->kind == TargetRequest::Kind::Class);
        QVERIFY(engine::parseTarget("tree", labels)->kind == TargetRequest::Kind::Value);
        QVERIFY(engine::parseTarget("argmax", labels)->kind == TargetRequest::Kind::Argmax);
    }

    void argmaxIsPerSample()
    {
        const auto target = resolve("argmax", StartKind::Logit);
        QCOMPARE(target.index, (std::vector<std::int64_t>{1, 0}));
        QCOMPARE(target.logit, (std::vector<double>{2.0, 3.0}));
        QCOMPARE(valuesOf(target.start), (std::vector<double>{0, 2, 0, 3, 0, 0}));
    }

    void startsDiffer()
    {
        QCOMPARE(valuesOf(resolve("2", StartKind::One).start), (std::vector<double>{0, 0, 1, 0, 0, 1}));
        QCOMPARE(valuesOf(resolve("argmax", StartKind::All).start), valuesOf(logits()));
        const double rest = -1.0 / 3.0;
        QCOMPARE(valuesOf(resolve("0", StartKind::Contrastive).start),
                 (std::vector<double>{1, rest, rest, 1, rest, rest}));
    }

    void indicesChooseOneElement()
    {
        const auto target = resolve("y:1,2", StartKind::Logit);
        QCOMPARE(valuesOf(target.start), (std::vector<double>{0, 0, 0, 0, 0, 0.25}));
        const auto whole = resolve("y", StartKind::Logit);
        QCOMPARE(valuesOf(whole.start), valuesOf(logits()));
    }

    void refusesWhatIsNotThere()
    {
        const auto request = engine::parseTarget("3");
        const auto resolved = engine::resolveTarget(*request, {}, base::ValueId(std::uint32_t{0}), logits());
        RETRO_REFUSED(resolved, base::ErrorCode::Usage);
        const auto tooMany =
            engine::resolveTarget(*engine::parseTarget("y:0,1,2"), {}, base::ValueId(std::uint32_t{0}), logits());
        QVERIFY(!tooMany.ok());
        const Tensor broken = Tensor::full(tensor::DType::Float64, {1, 3}, std::nan(""));
        QVERIFY(!engine::resolveTarget({}, {}, base::ValueId(std::uint32_t{0}), broken).ok());
    }

    void placesAreParsed()
    {
        const auto place = engine::parseTarget("token=11,class=504");
        QVERIFY(place->kind == TargetRequest::Kind::Place && place->value.empty());
        QCOMPARE(place->place.size(), std::size_t{2});
        QCOMPARE(place->place[1].index, std::int64_t{504});
        const auto inside = engine::parseTarget("/head/out:row=1,column=-1");
        QCOMPARE(inside->value, std::string("/head/out"));
        QVERIFY(inside->namesValue() && inside->place[1].axis == "column");
        const std::vector<std::string> labels{"ground", "house"};
        QCOMPARE(engine::parseTarget("token=2,class=house", labels)->place[1].index, std::int64_t{1});
        for (const char* value : {"a=b", "token=", "Token=1", "x:token=1,2"}) {
            QVERIFY2(engine::parseTarget(value)->kind == TargetRequest::Kind::Value, value);
        }
    }

    void elementsOfDenseOutputsAreTokenAndClass()
    {
        QCOMPARE(denseTarget("argmax").place, (std::vector<std::string>{"token 1, class 2", "token 0, class 3"}));
        QCOMPARE(denseTarget("token=0,class=1").place,
                 (std::vector<std::string>{"token 0, class 1", "token 0, class 1"}));
        QCOMPARE(denseTarget("token=0,class=1").index, (std::vector<std::int64_t>{1, 1}));
        QCOMPARE(denseTarget("token=0").place, (std::vector<std::string>{"token 0, class 0", "token 0, class 3"}));
        QCOMPARE(denseTarget("1").place, (std::vector<std::string>{"token 1, class 1", "token 1, class 1"}));
        QCOMPARE(denseTarget("class=1").index, denseTarget("1").index);
        const auto one = denseTarget("sample=1,token=-1,class=0");
        QCOMPARE(one.index, (std::vector<std::int64_t>{-2, 8}));
        QCOMPARE(one.start.at(20), one.logit[1]);
        QCOMPARE(denseTarget("axis1=2,axis2=3").place,
                 (std::vector<std::string>{"token 2, class 3", "token 2, class 3"}));
        for (const char* wrong : {"4", "token=3", "class=4", "row=1", "token=0,token=1", "sample=2"}) {
            const auto refused = engine::resolveTarget(*engine::parseTarget(wrong), {}, {}, dense());
            QVERIFY2(!refused.ok() && refused.error().code == base::ErrorCode::Usage, wrong);
        }
    }

    /// Of 1 × 3 × 2 × 2: class 1 wins at two places, class 2 at one, and of two equal scores the first class wins.
    void aSegmentIsAClassWhereItWins()
    {
        const std::vector<double> values{1, 2, 0, 5, 4, 3, 0, 1, 2, 2, 7, 1};
        const Tensor scores = Tensor::of<double>({1, 3, 2, 2}, std::span<const double>(values));
        const auto request = engine::parseTarget("segment=1");
        QCOMPARE(engine::segmentIn(*request), std::optional<std::int64_t>(1));
        QVERIFY(request->value.empty() && !engine::segmentIn(*engine::parseTarget("class=1")));
        QCOMPARE(engine::parseTarget("out:segment=2")->value, std::string("out"));
        const std::vector<std::string> labels{"ground", "house"};
        QCOMPARE(engine::segmentIn(*engine::parseTarget("segment=house", labels)), std::optional<std::int64_t>(1));
        RETRO_MADE(target, engine::resolveTarget(*request, {}, {}, scores));
        QCOMPARE(valuesOf(target->start), (std::vector<double>{0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0}));
        QCOMPARE(target->logit, (std::vector<double>{7}));
        QCOMPARE(target->place, (std::vector<std::string>{"segment 1, 2 places"}));
        const auto one = engine::resolveTarget(*engine::parseTarget("segment=0"), {StartKind::One, {}}, {}, scores);
        QCOMPARE(valuesOf(one->start), (std::vector<double>{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
        // No such class, a class that wins nowhere, no places, a contrast.
        const std::vector<double> flat{1, 2, 0};
        QVERIFY(!engine::resolveTarget(*engine::parseTarget("segment=3"), {}, {}, scores).ok());
        QVERIFY(!engine::resolveTarget(*request, {StartKind::Contrastive, {}}, {}, scores).ok());
        QVERIFY(
            !engine::resolveTarget(*request, {}, {}, Tensor::of<double>({1, 3}, std::span<const double>(flat))).ok());
        const std::vector<double> never{1, 0, 2, 0};
        const auto none =
            engine::resolveTarget(*request, {}, {}, Tensor::of<double>({1, 2, 1, 2}, std::span<const double>(never)));
        QVERIFY(none.ok()); // equal scores at place 1: the first class wins both but the last
        QCOMPARE(none->place, (std::vector<std::string>{"segment 1, 1 places"}));
    }

    void aSigmoidBelowOneHalfHasAHint()
    {
        graph::GraphBuilder builder("small", 18);
        const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
        const base::ValueId z = builder.addOp("Neg", "neg", {x}, "z");
        const base::ValueId p = builder.addOp("Sigmoid", "sig", {z}, "p");
        builder.addOutput(p);
        const std::vector<ops::TensorType> types{{tensor::DType::Float32, {1, 2}}};
        const auto model = execute::BoundModel::bind(
            std::make_shared<const graph::Graph>(std::move(builder).build().value()), types, execute::Precision::Float);
        engine::ResolvedTarget target;
        target.value = p;
        target.index = {1};
        target.logit = {0.2};
        const std::string hint = engine::targetHint(**model, target);
        RETRO_SAYS(hint, "0.2 is below 0.5", "--target 'z:0,1'");
        target.logit = {0.5};
        QVERIFY(engine::targetHint(**model, target).empty());
        target.logit = {0.2};
        target.value = z;
        QVERIFY(engine::targetHint(**model, target).empty());
    }

    /// Through nodes that hand numbers on or pick some; a softmax in steps is one.
    void hintsLookThroughWhatHandsOn()
    {
        graph::GraphBuilder builder("small", 18);
        const auto node = [&](const char* op, const std::string& name, std::vector<base::ValueId> inputs,
                              graph::Attributes attributes = {}) {
            const base::ValueId result =
                builder.addOp(op, name + " node", std::move(inputs), name, std::move(attributes));
            builder.addOutput(result);
            return result;
        };
        const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
        const base::ValueId first =
            builder.addConstant("first", Tensor::of<std::int64_t>({1}, std::array<std::int64_t, 1>{0}));
        const base::ValueId last =
            builder.addConstant("last", Tensor::of<std::int64_t>({1}, std::array<std::int64_t, 1>{1}));
        const base::ValueId z = node("Relu", "z", {x});
        const base::ValueId p = node("Softmax", "p", {z});
        const base::ValueId wide = node("Cast", "wide", {node("Identity", "same", {p})}, {{"to", std::int64_t{11}}});
        const base::ValueId clipped = node("Clip", "clipped", {wide});
        const base::ValueId picked = node("Gather", "picked", {clipped, first}, {{"axis", std::int64_t{1}}});
        const base::ValueId logarithm = node("LogSoftmax", "logarithm", {z});
        const base::ValueId back = node("Exp", "back", {logarithm});
        const base::ValueId e = node("Exp", "e", {z});
        const base::ValueId share = node("Div", "share", {e, node("ReduceSum", "sum", {e, last})});
        const std::vector<ops::TensorType> types{{tensor::DType::Float32, {1, 2}}};
        RETRO_MADE(model,
                   execute::BoundModel::bind(std::make_shared<const graph::Graph>(std::move(builder).build().value()),
                                             types, execute::Precision::Float));
        engine::ResolvedTarget target;
        target.index = {0};
        target.logit = {0.2};
        for (const base::ValueId value : {p, wide, clipped, back, share}) {
            target.value = value;
            QVERIFY(engine::targetHint(**model, target).find("--target 'z:0,0'") != std::string::npos);
        }
        target.value = picked; // which element it was is not said
        QVERIFY(engine::targetHint(**model, target).find("--target 'z[:i,j,…]'") != std::string::npos);
        target.value = logarithm;
        const std::string hint = engine::targetHint(**model, target);
        RETRO_SAYS(hint, "the logarithm of a softmax", "--target 'z:0,0'");
        target.value = e; // 0.2 of an exponential is of a score below 0
        QVERIFY(engine::targetHint(**model, target).find("has another sign than its score") != std::string::npos);
        target.value = z;
        QVERIFY(engine::targetHint(**model, target).empty());
    }

    /// An input that is an output as well is no target by itself; integers are refused with the floats before them.
    void theDefaultIsComputed()
    {
        for (const bool hasScores : {true, false}) {
            graph::GraphBuilder builder("small", 18);
            const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
            const base::ValueId copy = builder.addOp("Identity", "copy node", {x}, "copy");
            const base::ValueId s = builder.addOp("Relu", "scores", {x}, "s");
            const base::ValueId best = builder.addOp("ArgMax", "label", {s}, "best", {{"axis", std::int64_t{1}}});
            builder.addOutput(best);
            if (hasScores) {
                builder.addOutput(copy);
                builder.addOutput(s);
            }
            const std::vector<ops::TensorType> types{{tensor::DType::Float32, {1, 2}}};
            const auto model =
                execute::BoundModel::bind(std::make_shared<const graph::Graph>(std::move(builder).build().value()),
                                          types, execute::Precision::Float);
            QVERIFY(model.ok());
            std::string note;
            const auto value = engine::targetValue({}, **model, &note);
            QCOMPARE(value.ok(), hasScores);
            if (hasScores) {
                QVERIFY(*value == s);
                QVERIFY2(note.find("\"copy\" is an input as it is") != std::string::npos, note.c_str());
            } else {
                QVERIFY2(value.error().message.find("--target 's'") != std::string::npos, value.error().text().c_str());
            }
        }
    }

    void timeFirstIsSaid()
    {
        graph::GraphBuilder builder("series", 18);
        const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{4, 1, 3});
        const base::ValueId w = builder.addConstant("w", Tensor::zeros(tensor::DType::Float32, {1, 2, 3}));
        const base::ValueId r = builder.addConstant("r", Tensor::zeros(tensor::DType::Float32, {1, 2, 2}));
        const base::ValueId axis =
            builder.addConstant("axis", Tensor::of<std::int64_t>({1}, std::array<std::int64_t, 1>{1}));
        const base::ValueId all = builder.addOp("RNN", "rnn", {x, w, r}, "all", {{"hidden_size", std::int64_t{2}}});
        const base::ValueId y = builder.addOp("Squeeze", "squeeze", {all, axis}, "y");
        builder.addOutput(y);
        const std::vector<ops::TensorType> types{{tensor::DType::Float32, {4, 1, 3}}};
        RETRO_MADE(model,
                   execute::BoundModel::bind(std::make_shared<const graph::Graph>(std::move(builder).build().value()),
                                             types, execute::Precision::Float));
        engine::ResolvedTarget target;
        target.value = y;
        target.index = {0, 0, 0, 0};
        target.logit = {0, 0, 0, 0};
        const auto hints = engine::targetHints(**model, target);
        QCOMPARE(hints.size(), std::size_t{1});
        QVERIFY2(hints[0].find("counts as samples") != std::string::npos, hints[0].c_str());
    }

    void aProbabilityHasAHint()
    {
        graph::GraphBuilder builder("small", 18);
        const auto node = [&](const char* op, const char* name, std::vector<base::ValueId> inputs) {
            return builder.addOp(op, name, std::move(inputs), std::string(name) + "_out");
        };
        const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 2});
        const base::ValueId logits = node("Relu", "logits", {x});
        const base::ValueId end = node("Flatten", "end", {node("Softmax", "prob", {logits})});
        const base::ValueId logarithm = node("LogSoftmax", "log", {logits});
        builder.addOutput(end);
        builder.addOutput(logarithm);
        const std::vector<ops::TensorType> types{{tensor::DType::Float32, {1, 2}}};
        RETRO_MADE(model,
                   execute::BoundModel::bind(std::make_shared<const graph::Graph>(std::move(builder).build().value()),
                                             types, execute::Precision::Float));
        engine::ResolvedTarget target;
        target.value = end;
        target.index = {1};
        const std::string hint = engine::targetHint(**model, target);
        QVERIFY2(hint.find("--target 'logits_out:0,1'") != std::string::npos, hint.c_str());
        target.index = {1, 0};
        QVERIFY(engine::targetHint(**model, target).find("'logits_out[:i,j,…]'") != std::string::npos);
        target.value = logarithm;
        QVERIFY(engine::targetHint(**model, target).find("'logits_out[:i,j,…]'") != std::string::npos);
        for (const base::ValueId value : {logits, x}) {
            target.value = value;
            QVERIFY(engine::targetHint(**model, target).empty());
        }
    }
};

QTEST_GUILESS_MAIN(TargetTest)
#include "targettest.moc"
