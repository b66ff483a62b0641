// SPDX-License-Identifier: Apache-2.0
// However forward values get to the reverse rules, gradients are bit for bit those of the tape.
#include "core/engine/forwarding/forwardedgradient.h"
#include "core/engine/explain/target.h"
#include "core/engine/forwarding/packedsigns.h"
#include "core/engine/model/binding.h"
#include "core/event/observer.h"
#include "core/trace/profile.h"
#include "tests/core/engine/loopmodel.h"

#include <QtTest>

#include <limits>
#include <map>
#include <sstream>

using namespace retro::rewrite::testing;
using namespace retro;
using engine::ForwardDecision;
using engine::ForwardForm;
using engine::ForwardStrategy;

namespace
{

using Ints = std::vector<std::int64_t>;

/// conv – relu – pool (3×3, overlapping) – conv – relu – pool (2×2) – flatten – tanh – linear, with a product.
SharedGraph network()
{
    Writer w;
    const ValueId x = w.input("x", {2, 3, 16, 16});
    const auto conv = [&](const std::string& name, ValueId v, std::int64_t in, std::int64_t out) {
        return w.node("Conv", name,
                      {v, w.constant(name + ".w", randomTensor({out, in, 3, 3}, static_cast<unsigned>(out)))},
                      {{"pads", Ints{1, 1, 1, 1}}});
    };
    const ValueId r1 = w.node("Relu", "relu1", {conv("conv1", x, 3, 8)});
    const ValueId p1 = w.node("MaxPool", "pool1", {r1},
                              {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
    const ValueId r2 = w.node("Relu", "relu2", {conv("conv2", p1, 8, 4)});
    const ValueId p2 = w.node("MaxPool", "pool2", {r2}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    const ValueId flat = w.node("Flatten", "flat", {w.node("Mul", "squared", {p2, p2})});
    const ValueId t = w.node("Tanh", "bend", {flat});
    w.output(w.node("MatMul", "scores", {t, w.constant("fc", randomTensor({64, 5}, 9))}));
    return w.finish();
}

std::shared_ptr<const execute::BoundModel> bound(const SharedGraph& graph, execute::Precision precision)
{
    std::vector<ops::TensorType> types;
    for (const ValueId input : graph->inputs()) {
        tensor::Shape shape;
        for (const auto& dimension : *graph->value(input).shape) {
            shape.push_back(*dimension.extent);
        }
        types.push_back({execute::dtypeOf(precision), shape});
    }
    const auto model = execute::BoundModel::bind(graph, types, precision);
    return model.ok() ? *model : nullptr;
}

engine::GradientRequest requestFor(execute::Precision precision, unsigned seed = 3)
{
    engine::GradientRequest request;
    request.inputs = {randomTensor({2, 3, 16, 16}, seed)};
    request.precision = precision;
    return request;
}

QString textOf(const engine::ForwardedGradient& made, const std::string& name)
{
    for (const ForwardDecision& one : made.plan.decisions) {
        if (made.gradient.model->graph().value(one.value).name == name) {
            return QStringLiteral("%1 %2 of %3%4: %5")
                .arg(QString::fromStdString(std::string(engine::nameOf(one.form))))
                .arg(one.kept)
                .arg(one.bytes)
                .arg(one.isFallback ? " (fallback)" : "")
                .arg(QString::fromStdString(one.reason));
        }
    }
    return QStringLiteral("not forwarded");
}

engine::GradientRequest loopRequest(std::int64_t count)
{
    engine::GradientRequest request;
    request.inputs = {randomTensor({1, 4}, 2), randomTensor({count, 1, 4}, 3)};
    return request;
}

engine::ForwardingOptions bindOptionsFor(ForwardStrategy strategy)
{
    engine::ForwardingOptions wish;
    wish.strategy = strategy;
    return wish;
}

/// Operations that an observer was told, by node.
class Operations final : public event::PerformanceObserver
{
public:
    explicit Operations(const graph::Graph& graph) : m_graph(graph) {}
    void onNodeProcessed(base::NodeId node, const event::NodeWork& work) override
    {
        const std::string& name = m_graph.node(node).name;
        if (work.isRepeat) {
            again[name] += work.flops;
        } else {
            (work.half == event::Half::Forward ? forward : reverse)[name] = work.flops;
        }
    }
    void onMemoryDecision(base::ValueId, event::MemoryChoice, std::int64_t, std::string_view) override {}
    std::map<std::string, double> forward;
    std::map<std::string, double> reverse;
    std::map<std::string, double> again;

private:
    const graph::Graph& m_graph;
};

/// A pass with what it spent per node.
std::pair<engine::ForwardedGradient, std::vector<trace::NodeTotal>>
profiled(const std::shared_ptr<const execute::BoundModel>& model, const engine::GradientRequest& request,
         const engine::ForwardingOptions& wish)
{
    trace::ProfileRecorder recorder;
    const event::ObserverScope observed(&recorder);
    auto made = engine::forwardedGradient(model, request, wish);
    const std::vector<trace::NodeTotal> totals =
        trace::nodeTotals(std::move(recorder).take(), model->graph().nodeCount());
    return {made.ok() ? std::move(*made) : engine::ForwardedGradient(), totals};
}

} // namespace

class ForwardedGradientTest : public QObject
{
    Q_OBJECT

    static engine::ForwardedGradient forwarded(const engine::ForwardingOptions& wish,
                                               execute::Precision precision = execute::Precision::Float,
                                               unsigned seed = 3)
    {
        auto made = engine::forwardedGradient(bound(network(), precision), requestFor(precision, seed), wish);
        return made.ok() ? std::move(*made) : engine::ForwardedGradient();
    }

private slots:
    void everyStrategyGivesTheBitsOfTheTape()
    {
        for (const auto precision : {execute::Precision::Float, execute::Precision::Double}) {
            RETRO_MADE(model, bound(network(), precision));
            RETRO_MADE(tape, engine::gradient(model, requestFor(precision)));
            for (const auto strategy : {ForwardStrategy::Store, ForwardStrategy::Rebuild, ForwardStrategy::Compress}) {
                const engine::ForwardedGradient made = forwarded(bindOptionsFor(strategy), precision);
                QCOMPARE(made.gradient.gradients.size(), 1U);
                QVERIFY(made.gradient.gradients[0].bitEqual(tape->gradients[0]));
                QVERIFY(made.gradient.outputs[0].bitEqual(tape->outputs[0]));
                QCOMPARE(made.rebuilds() > 0, strategy == ForwardStrategy::Rebuild);
                QCOMPARE(made.keptBytes == 0, strategy == ForwardStrategy::Rebuild);
            }
        }
    }

    void everyChoicePerValueGivesTheSameBits()
    {
        const auto tape =
            engine::gradient(bound(network(), execute::Precision::Float), requestFor(execute::Precision::Float));
        QVERIFY(tape.ok());
        const engine::ForwardedGradient plain = forwarded({});
        std::mt19937 random(7);
        for (int round = 0; round < 20; ++round) {
            engine::ForwardingOptions wish;
            for (const ForwardDecision& one : plain.plan.decisions) {
                const std::array forms{ForwardForm::Store, ForwardForm::Rebuild, ForwardForm::Compress};
                wish.choices[plain.gradient.model->graph().value(one.value).name] = forms[random() % 3];
            }
            const engine::ForwardedGradient made = forwarded(wish);
            QCOMPARE(made.gradient.gradients.size(), 1U);
            QVERIFY(made.gradient.gradients[0].bitEqual(tape->gradients[0]));
        }
    }

    void formsSayWhatTheyKeepAndWhy()
    {
        const engine::ForwardedGradient stored = forwarded({});
        QCOMPARE(textOf(stored, "relu1_out"), QStringLiteral("store 16384 of 16384: as the strategy says"));
        QCOMPARE(textOf(stored, "conv1_out"), QStringLiteral("not forwarded"));
        QCOMPARE(textOf(stored, "pool1_out"), QStringLiteral("not forwarded")); // no gradient of a weight is asked for
        const engine::ForwardedGradient packed = forwarded(bindOptionsFor(ForwardStrategy::Compress));
        QVERIFY(packed.keptBytes < stored.keptBytes / 2);
        QVERIFY(textOf(packed, "relu1_out").startsWith("compress "));
        QCOMPARE(
            textOf(packed, "pool2_out"),
            QStringLiteral("store 512 of 512 (fallback): stored: the reverse rule of Mul squared reads all of it"));
    }

    void whatLiesInKeptMemoryCostsNothing()
    {
        Writer w;
        const ValueId x = w.input("x", {2, 6});
        const ValueId e = w.node("Exp", "e", {x}); // keeps its result
        const ValueId r = w.node("Reshape", "r", {e, w.constant("to", Tensor::of<std::int64_t>({2}, Ints{3, 4}))});
        w.output(w.node("Mul", "y", {r, r}));
        RETRO_MADE(model, bound(w.finish(), execute::Precision::Float));
        engine::GradientRequest request;
        request.inputs = {randomTensor({2, 6}, 1)};
        RETRO_MADE(made, engine::forwardedGradient(model, request, {}));
        QCOMPARE(textOf(*made, "e_out"), QStringLiteral("store 48 of 48: as the strategy says"));
        QCOMPARE(textOf(*made, "r_out"), QStringLiteral("alias 0 of 48: e_out"));
        QCOMPARE(made->keptBytes, 48);
        QCOMPARE(made->storedBytes, 96);
    }

    void theCheapestChoiceKeepsToABudget()
    {
        engine::ForwardingOptions wish = bindOptionsFor(ForwardStrategy::Optimal);
        const auto model = bound(network(), execute::Precision::Float);
        QVERIFY(!engine::forwardedGradient(model, requestFor(execute::Precision::Float), wish).ok()); // no budget
        wish.budget = 1;
        const auto impossible = engine::forwardedGradient(model, requestFor(execute::Precision::Float), wish);
        RETRO_REFUSED(impossible, base::ErrorCode::Engine);
        wish.budget = std::int64_t{1} << 40;
        const engine::ForwardedGradient roomy = forwarded(wish);
        QCOMPARE(roomy.rebuilds(), std::size_t{0});
        QVERIFY(roomy.plan.modelledPeak);
        wish.budget = *roomy.plan.modelledPeak - 1;
        const auto tight = engine::forwardedGradient(model, requestFor(execute::Precision::Float), wish);
        if (tight.ok()) { // the peak may lie where nothing can be rebuilt
            QVERIFY(*tight->plan.modelledPeak <= *wish.budget);
            QVERIFY(tight->rebuilds() > 0);
            QVERIFY(tight->gradient.gradients[0].bitEqual(roomy.gradient.gradients[0]));
        } else {
            QCOMPARE(tight.error().code, base::ErrorCode::Engine);
        }
    }

    void aChoiceForWhatNobodyReadsIsRefused()
    {
        engine::ForwardingOptions wish;
        wish.choices["conv1_out"] = ForwardForm::Rebuild;
        const auto made = engine::forwardedGradient(bound(network(), execute::Precision::Float),
                                                    requestFor(execute::Precision::Float), wish);
        RETRO_REFUSED(made, "relu1_out");
    }

    void anObserverSeesEveryRule()
    {
        class Counter final : public event::PerformanceObserver
        {
        public:
            void onNodeProcessed(base::NodeId, const event::NodeWork& work) override
            {
                ++(work.half == event::Half::Forward ? forward : reverse);
                isSane = isSane && work.seconds >= 0 && work.bytes >= 0 && !work.isRepeat;
            }
            void onMemoryDecision(base::ValueId, event::MemoryChoice choice, std::int64_t bytes,
                                  std::string_view reason) override
            {
                decisions += choice == event::MemoryChoice::Drop ? 0 : 1; // what nobody needs is dropped on the way
                isSane = isSane && bytes > 0 && !reason.empty();
            }
            int forward = 0;
            int reverse = 0;
            std::size_t decisions = 0;
            bool isSane = true;
        } counter;
        const auto model = bound(network(), execute::Precision::Float);
        RETRO_MADE(made, [&] {
            const event::ObserverScope observed(&counter);
            return engine::forwardedGradient(model, requestFor(execute::Precision::Float), {});
        }());
        QVERIFY(event::currentObserver() == nullptr);
        QCOMPARE(counter.forward, static_cast<int>(model->graph().nodeCount()));
        QCOMPARE(counter.reverse, static_cast<int>(model->graph().nodeCount()));
        QCOMPARE(counter.decisions, made->plan.decisions.size());
        QVERIFY(counter.isSane);
    }

    /// By hand: a product of m × k by k × n takes 2·m·k·n operations, and as many again for each factor that gets a
    /// part.
    void anObserverSeesTheOperations()
    {
        Writer w;
        const ValueId x = w.input("x", {3, 5});
        const ValueId map = w.node("MatMul", "map", {x, w.constant("A", randomTensor({5, 7}, 1))});
        w.output(w.node("MatMul", "square", {map, w.node("Transpose", "turn", {map})}));
        RETRO_MADE(model, bound(w.finish(), execute::Precision::Float));
        engine::GradientRequest request;
        request.inputs = {randomTensor({3, 5}, 2)};
        for (const auto strategy : {ForwardStrategy::Store, ForwardStrategy::Rebuild}) {
            Operations seen(model->graph());
            RETRO_MADE(made, [&] {
                const event::ObserverScope observed(&seen);
                return engine::forwardedGradient(model, request, bindOptionsFor(strategy));
            }());
            QCOMPARE(seen.forward["map"], 2.0 * 3 * 5 * 7);
            QCOMPARE(seen.reverse["map"], 2.0 * 3 * 5 * 7); // its weight is constant
            QCOMPARE(seen.forward["square"], 2.0 * 3 * 7 * 3);
            QCOMPARE(seen.reverse["square"], 2.0 * 2 * 3 * 7 * 3);
            // The rule of the square reads both of its factors; nothing that is computed again is kept.
            const bool isRebuilt = strategy == ForwardStrategy::Rebuild;
            QCOMPARE(seen.again["map"], isRebuilt ? 2.0 * 2 * 3 * 5 * 7 : 0.0);
            QCOMPARE(made->rebuilt.contains(base::NodeId(0U)) ? made->rebuilt.at(base::NodeId(0U)) : 0,
                     isRebuilt ? std::size_t{2} : std::size_t{0});
        }
    }

    void aShiftIsNoFactor()
    {
        Writer w;
        const ValueId x = w.input("x", {2, 3, 6, 6});
        const ValueId weight = w.input("weight", {4, 3, 3, 3});
        w.output(w.node("Conv", "conv", {x, weight, w.input("shift", {4})}));
        RETRO_MADE(model, bound(w.finish(), execute::Precision::Float));
        engine::GradientRequest request;
        request.inputs = {randomTensor({2, 3, 6, 6}, 1), randomTensor({4, 3, 3, 3}, 2), randomTensor({4}, 3)};
        const auto [made, totals] = profiled(model, request, {});
        QCOMPARE(totals[0].flops, 2.0 * 2 * 4 * 3 * 9 * 4 * 4);
        QCOMPARE(totals[0].reverseFlops, 2 * totals[0].flops);
    }

    void loopsGoBackFromCheckpointsWithTheSameBits()
    {
        constexpr std::int64_t kCount = 37;
        const engine::LoadedModel model = tests::loopModel(kCount, true);
        const engine::GradientRequest request = loopRequest(kCount);
        RETRO_MADE(tape, engine::gradient(model, request));
        const auto whole = engine::forwardedGradient(model, request, {});
        QVERIFY(whole.ok() && whole->plan.segments.loops().empty());
        for (const std::size_t every : {0U, 1U, 2U, 5U, 6U, 7U, 36U, 37U, 100U}) {
            engine::ForwardingOptions wish;
            wish.checkpointEvery = every;
            RETRO_MADE(made, engine::forwardedGradient(model, request, wish));
            QCOMPARE(made->gradient.gradients.size(), 2U);
            QVERIFY(made->gradient.gradients[0].bitEqual(tape->gradients[0]));
            QVERIFY(made->gradient.gradients[1].bitEqual(tape->gradients[1]));
            QCOMPARE(made->plan.segments.loops().size(), 1U);
            const engine::LoopCheckpoints& loop = made->plan.segments.loops().front();
            QCOMPARE(loop.iterations, static_cast<std::size_t>(kCount));
            QCOMPARE(loop.every, every == 0 ? 7U : every); // √37 = 6.08…
            for (const auto& [node, times] : made->rebuilt) {
                QVERIFY(times <= 1); // every iteration at most twice, whatever k is
            }
            QVERIFY2(made->keptBytes < (every == 7 ? whole->keptBytes / 2 : whole->keptBytes),
                     qPrintable(QStringLiteral("%1: %2 of %3").arg(every).arg(made->keptBytes).arg(whole->keptBytes)));
        }
    }

    void shortLoopsAreKeptWhole()
    {
        engine::ForwardingOptions wish;
        wish.checkpointEvery = 0;
        RETRO_MADE(made, engine::forwardedGradient(tests::loopModel(5, true), loopRequest(5), wish));
        QCOMPARE(made->plan.segments.loops().front().every, 0U);
        QCOMPARE(made->rebuilds(), std::size_t{0});
        const auto tape = engine::gradient(tests::loopModel(5, true), loopRequest(5));
        QVERIFY(tape.ok() && made->gradient.gradients[1].bitEqual(tape->gradients[1]));
    }

    /// The smallest of a window, the largest, both of one value, of a part without a winner: gradients of the tape.
    void extremesArePackedByWhatWins()
    {
        for (const std::string ops : {"ReduceMin", "ReduceMax", "ReduceMin ReduceMax", "ReduceMax ReduceMax"}) {
            Writer w;
            const ValueId x = w.input("x", {4, 6});
            const ValueId bent = w.node("Relu", "bent", {w.node("Neg", "less", {x})});
            ValueId sum;
            std::istringstream names(ops);
            std::string op;
            for (int i = 0; names >> op; ++i) {
                const ValueId one = w.node(op, fmt::format("extreme {}", i), {bent},
                                           {{"axes", Ints{i == 0 ? 1 : 0}}, {"keepdims", std::int64_t{1}}});
                sum = sum.isValid() ? w.node("Add", "both", {sum, one}) : one;
            }
            w.output(sum);
            RETRO_MADE(model, bound(w.finish(), execute::Precision::Float));
            engine::GradientRequest request;
            std::vector<float> values(24);
            for (std::size_t i = 0; i < values.size(); ++i) { // ties, zeros, negative numbers, a line without a number
                values[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
            }
            values[8] = std::numeric_limits<float>::quiet_NaN();
            request.inputs = {Tensor::of<float>({4, 6}, values)};
            request.target.kind = engine::TargetRequest::Kind::Value;
            request.target.value = ops.find(' ') == std::string::npos ? "extreme 0_out" : "both_out";
            request.target.index = {1, 0}; // in the line without a number
            RETRO_MADE(tape, engine::gradient(model, request));
            for (const ForwardStrategy strategy : {ForwardStrategy::Compress, ForwardStrategy::Rebuild}) {
                RETRO_MADE(made, engine::forwardedGradient(model, request, bindOptionsFor(strategy)));
                QVERIFY2(made->gradient.gradients[0].bitEqual(tape->gradients[0]), ops.c_str());
            }
            const auto made = engine::forwardedGradient(model, request, bindOptionsFor(ForwardStrategy::Compress));
            QCOMPARE(textOf(*made, "bent_out").contains("the largest elements win"), ops == "ReduceMin ReduceMax");
        }
    }

    void packedSignsKeepOrderAndTies()
    {
        const std::vector<float> values{0.5F, 0.5F, -1, 0, std::numeric_limits<float>::quiet_NaN(), 2, -3};
        const std::vector<float> won{1, 0, 1, 0, 1, 0, 0};
        const engine::PackedSigns packed(Tensor::of<float>({7}, values), Tensor::of<float>({7}, won));
        const Tensor x = packed.expand();
        QCOMPARE(x.at(0), 0.5);
        QVERIFY(x.at(1) > 0 && x.at(1) < 0.5);
        QCOMPARE(x.at(2), -1.0);
        QVERIFY(x.at(3) < -1e300 && std::isnan(x.at(4)));
        QVERIFY(x.at(5) > 0 && x.at(6) < -1e300);
        QCOMPARE(packed.bytes(), 8 + 8 + 12);
    }
};

QTEST_GUILESS_MAIN(ForwardedGradientTest)
#include "forwardedgradienttest.moc"
