// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a Loop, and of a Loop whose body chooses with If: the bits of a pass that keeps everything, fewer
// bytes.
#include "core/engine/forwarding/forwardedgradient.h"
#include "core/engine/model/binding.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

using namespace retro;
using graph::GraphBuilder;
using graph::Subgraph;
using graph::ValueId;
using rewrite::testing::randomTensor;
using tensor::DType;
using tensor::Tensor;

namespace
{

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kWidth = 16;
constexpr std::size_t kRounds = 37;
constexpr std::int64_t kStateBytes = kWidth * std::int64_t{sizeof(float)};

ValueId add(GraphBuilder& builder, const std::string& op, const std::string& name, std::vector<ValueId> operands,
            graph::Attributes attributes = {})
{
    const ValueId result = builder.addResult(name + "_out");
    builder.addNode({op, "", name, "", 17, std::move(operands), {result}, std::move(attributes)});
    return result;
}

Subgraph subgraph(GraphBuilder builder, std::size_t captured)
{
    return {std::make_shared<const graph::Graph>(std::move(builder).build().value()), captured};
}

/// `op` of what is bent and the state.
Subgraph branch(const std::string& op)
{
    GraphBuilder builder(op, 17);
    const ValueId bent = builder.addInput("bent", DType::Float32, std::nullopt);
    const ValueId state = builder.addInput("state", DType::Float32, std::nullopt);
    builder.addOutput(add(builder, op, "apply", {bent, state}));
    return subgraph(std::move(builder), 2);
}

/// What a loop does besides its sum.
struct Kind
{
    bool chooses = false; ///< by an If: the product where row t of the signal has a positive sum, else the difference
    std::int64_t most = static_cast<std::int64_t>(kRounds); ///< rounds after which its condition ends it
    bool isChosen = false;                                  ///< it lies in a branch of an If
};

/// h ← f(tanh(h·W + row t of the signal), h) + h; hands every h out.
Subgraph body(const Kind& kind)
{
    GraphBuilder builder("body", 17);
    const ValueId step = builder.addInput("step", DType::Int64, tensor::Shape{});
    builder.addInput("goes", DType::Bool, tensor::Shape{});
    const ValueId h = builder.addInput("h", DType::Float32, tensor::Shape{1, kWidth});
    const ValueId signal = builder.addInput("signal", DType::Float32, std::nullopt);
    const ValueId weight = builder.addConstant("W", randomTensor({kWidth, kWidth}, 1));
    const ValueId row = add(builder, "Gather", "row", {signal, step});
    const ValueId plus = add(builder, "Add", "plus", {add(builder, "MatMul", "product", {h, weight}), row});
    const ValueId bent = add(builder, "Tanh", "bend", {plus});
    ValueId gate;
    if (kind.chooses) {
        const ValueId sum = add(builder, "ReduceSum", "sum", {row}, {{"keepdims", std::int64_t{0}}});
        const ValueId zero = builder.addConstant("zero", Tensor::scalar(0.0F));
        gate = add(builder, "If", "gate", {add(builder, "Greater", "positive", {sum, zero}), bent, h},
                   {{"then_branch", branch("Mul")}, {"else_branch", branch("Sub")}});
    } else {
        gate = add(builder, "Mul", "gate", {bent, h});
    }
    const ValueId next = add(builder, "Add", "next", {gate, h});
    const ValueId last = builder.addConstant("last", Tensor::scalar(kind.most - 1));
    builder.addOutput(add(builder, "Less", "on", {step, last}));
    builder.addOutput(next);
    builder.addOutput(add(builder, "Identity", "state", {next}));
    return subgraph(std::move(builder), 1);
}

/// The last state and all states.
std::pair<ValueId, ValueId> addLoop(GraphBuilder& builder, const Kind& kind, ValueId start, ValueId signal)
{
    const ValueId times = builder.addConstant("times", Tensor::scalar(static_cast<std::int64_t>(kRounds)));
    const ValueId last = builder.addResult("last");
    const ValueId states = builder.addResult("states");
    builder.addNode(
        {"Loop", "", "steps", "", 17, {times, ValueId(), start, signal}, {last, states}, {{"body", body(kind)}}});
    return {last, states};
}

/// A branch with the loop in it, or one that hands on what it is given.
Subgraph outerBranch(const Kind& kind, bool isLoop)
{
    GraphBuilder builder("outer", 17);
    const ValueId start = builder.addInput("start", DType::Float32, std::nullopt);
    const ValueId signal = builder.addInput("signal", DType::Float32, std::nullopt);
    const auto [last, states] =
        isLoop ? addLoop(builder, kind, start, signal)
               : std::pair(add(builder, "Identity", "same", {start}), add(builder, "Identity", "all", {signal}));
    builder.addOutput(last);
    builder.addOutput(states);
    return subgraph(std::move(builder), 2);
}

/// An If that takes the loop, as what starts is positive.
std::pair<ValueId, ValueId> addChoice(GraphBuilder& builder, const Kind& kind, ValueId start, ValueId signal)
{
    const ValueId sum = add(builder, "ReduceSum", "amount", {start}, {{"keepdims", std::int64_t{0}}});
    const ValueId zero = builder.addConstant("nothing", Tensor::scalar(0.0F));
    const ValueId last = builder.addResult("chosen");
    const ValueId states = builder.addResult("chosen_states");
    builder.addNode({"If",
                     "",
                     "choose",
                     "",
                     17,
                     {add(builder, "Greater", "isThere", {sum, zero}), start, signal},
                     {last, states},
                     {{"then_branch", outerBranch(kind, true)}, {"else_branch", outerBranch(kind, false)}}});
    return {last, states};
}

/// Scores from the last state and the mean of all states.
engine::LoadedModel modelOf(const Kind& kind)
{
    GraphBuilder builder("looped", 17);
    const ValueId first = builder.addInput("first", DType::Float32, tensor::Shape{1, kWidth});
    const ValueId sequence =
        builder.addInput("sequence", DType::Float32, tensor::Shape{static_cast<std::int64_t>(kRounds), 1, kWidth});
    const ValueId signal = add(builder, "Tanh", "signal", {sequence});
    const ValueId start = add(builder, "Exp", "start", {first});
    const auto [last, states] =
        kind.isChosen ? addChoice(builder, kind, start, signal) : addLoop(builder, kind, start, signal);
    const ValueId mean =
        add(builder, "ReduceMean", "mean", {states}, {{"axes", Ints{0}}, {"keepdims", std::int64_t{0}}});
    builder.addOutput(add(builder, "Add", "score", {add(builder, "Sigmoid", "bound", {last}), mean}));
    engine::LoadedModel model;
    auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
    model.rewritten = rewrite::rewrite(std::move(graph), rewrite::noRewrites()).value();
    return model;
}

engine::GradientRequest request()
{
    engine::GradientRequest made;
    made.inputs = {randomTensor({1, kWidth}, 2), randomTensor({static_cast<std::int64_t>(kRounds), 1, kWidth}, 3)};
    return made;
}

/// Values that are kept because a segment begins with them.
std::size_t checkpointsOf(const engine::ForwardedGradient& made)
{
    return static_cast<std::size_t>(std::ranges::count_if(made.plan.decisions, [](const engine::ForwardDecision& one) {
        return one.reason.find("checkpoint before iteration") != std::string::npos;
    }));
}

/// One for each segment but the first; 0 iterations per segment stand for √rounds.
std::size_t checkpointsFor(std::size_t rounds, std::size_t every)
{
    const std::size_t length = every == 0 ? static_cast<std::size_t>(std::ceil(std::sqrt(rounds))) : every;
    return (rounds + length - 1) / length - 1;
}

std::int64_t keptBytes(const engine::LoadedModel& model, std::size_t every)
{
    engine::ForwardingOptions wish;
    wish.checkpointEvery = every;
    const auto made = engine::forwardedGradient(model, request(), wish);
    return made.ok() ? made->keptBytes : -1;
}

} // namespace

class LoopCheckpointTest : public QObject
{
    Q_OBJECT

private slots:
    void gradientsHaveTheSameBits_data()
    {
        QTest::addColumn<bool>("chooses");
        QTest::addColumn<std::int64_t>("most");
        QTest::addColumn<bool>("isChosen");
        QTest::newRow("Loop") << false << std::int64_t{kRounds} << false;
        QTest::newRow("Loop that its condition ends") << false << std::int64_t{20} << false;
        QTest::newRow("If in a Loop") << true << std::int64_t{kRounds} << false;
        QTest::newRow("If in a Loop in an If") << true << std::int64_t{kRounds} << true;
    }

    void gradientsHaveTheSameBits()
    {
        QFETCH(bool, chooses);
        QFETCH(std::int64_t, most);
        QFETCH(bool, isChosen);
        const engine::LoadedModel model = modelOf({chooses, most, isChosen});
        RETRO_MADE(tape, engine::gradient(model, request()));
        RETRO_MADE(whole, engine::forwardedGradient(model, request(), {}));
        QVERIFY(whole->plan.segments.loops().empty());
        for (const std::size_t every : {0U, 1U, 2U, 5U, 7U, 36U, 37U, 100U}) {
            engine::ForwardingOptions wish;
            wish.checkpointEvery = every;
            RETRO_MADE(made, engine::forwardedGradient(model, request(), wish));
            QCOMPARE(made->gradient.gradients.size(), 2U);
            QVERIFY(made->gradient.outputs[0].bitEqual(tape->outputs[0]));
            QVERIFY(made->gradient.gradients[0].bitEqual(tape->gradients[0]));
            QVERIFY(made->gradient.gradients[1].bitEqual(tape->gradients[1]));
            QCOMPARE(made->plan.segments.loops().size(), 1U);
            QCOMPARE(made->plan.segments.loops().front().loop, std::string(isChosen ? "choose/steps" : "steps"));
            QCOMPARE(made->plan.segments.loops().front().iterations, static_cast<std::size_t>(most));
            QVERIFY(made->rebuilds() > 0);
            for (const auto& [node, times] : made->rebuilt) {
                QVERIFY(times <= 1); // every iteration at most twice
            }
            QCOMPARE(checkpointsOf(*made), checkpointsFor(static_cast<std::size_t>(most), every));
            // What remains when a single segment has every round: all else is kept either way.
            const std::int64_t least = keptBytes(model, 100);
            QCOMPARE(made->keptBytes, least + kStateBytes * static_cast<std::int64_t>(checkpointsOf(*made)));
            QVERIFY(made->keptBytes < whole->keptBytes);
        }
    }

    void bothBranchesTakePart()
    {
        const engine::LoadedModel model = modelOf({true});
        std::vector<std::string> written;
        QVERIFY(engine::bindModel(model, request().inputs, execute::Precision::Float, &written).ok());
        const auto taken = [&written](const char* name) {
            return std::ranges::count_if(written, [name](const std::string& line) { return line.ends_with(name); });
        };
        const auto products = taken("then_branch");
        const auto differences = taken("else_branch");
        QVERIFY2(products > 5 && differences > 5,
                 qPrintable(QStringLiteral("%1 and %2").arg(products).arg(differences)));
        QCOMPARE(static_cast<std::size_t>(products + differences), kRounds);
    }
};

QTEST_GUILESS_MAIN(LoopCheckpointTest)
#include "loopcheckpointtest.moc"
