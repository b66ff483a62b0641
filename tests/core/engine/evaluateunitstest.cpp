// SPDX-License-Identifier: Apache-2.0
// How inputs are cut into what evaluate removes: channels by what the graph says, series, pictures, volumes, tokens.
#include "core/engine/evaluate/evaluation.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

#include <cmath>

using namespace retro;

using base::ValueId;
using engine::ChannelAxis;
using engine::Units;
using tensor::DType;
using tensor::Tensor;

namespace
{

using Values = std::vector<double>;
using Ints = std::vector<std::int64_t>;

/// A graph that is written down node by node.
class Written
{
public:
    Written() : m_builder("written") { m_builder.setOpset("", 18); }

    ValueId input(const char* name, DType dtype, const tensor::Shape& shape)
    {
        return m_builder.addInput(name, dtype, shape);
    }
    ValueId numbers(tensor::Shape shape, const Values& values)
    {
        return m_builder.addConstant("c" + std::to_string(++m_count),
                                     Tensor::of<double>(std::move(shape), values).to(DType::Float32));
    }
    ValueId ints(const Ints& values)
    {
        return m_builder.addConstant("c" + std::to_string(++m_count),
                                     Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
    }
    ValueId node(const char* op, std::vector<ValueId> operands, graph::Attributes attributes = {})
    {
        const std::string name = std::string(op) + std::to_string(++m_count);
        return m_builder.addOp(op, name, std::move(operands), name + "_out", std::move(attributes));
    }
    graph::Graph graphTo(std::initializer_list<ValueId> outputs)
    {
        for (const ValueId output : outputs) {
            m_builder.addOutput(output);
        }
        return std::move(m_builder).build().value();
    }

private:
    graph::GraphBuilder m_builder;
    int m_count = 0;
};

engine::LoadedModelPointer loaded(const graph::Graph& graph)
{
    auto model = engine::parseModel(formats::toOnnx(graph).value(), "written.onnx", {});
    return model.ok() ? *model : nullptr;
}

ChannelAxis axisOf(const graph::Graph& graph, std::size_t rank)
{
    return engine::inputAxesOf(graph, graph.inputs().front(), rank).channels;
}

/// What the input [1, 2, 5] of a graph is, whose one way is made by `way`.
template <class Way>
ChannelAxis axisOfSeries(const Way& way)
{
    Written written;
    const ValueId x = written.input("x", DType::Float32, {1, 2, 5});
    const ValueId last = way(written, x);
    return axisOf(written.graphTo({last}), 3);
}

/// The axis of the samples of an input [7, 2, 5] that a recurrent layer reads, whose operand is made by `way`.
template <class Way>
std::size_t samplesBefore(const Way& way, const graph::Attributes& attributes = {})
{
    Written written;
    const ValueId read = way(written, written.input("x", DType::Float32, {7, 2, 5}));
    const ValueId w = written.numbers({1, 1, 5}, Values(5, 1));
    const graph::Graph graph =
        written.graphTo({written.node("GRU", {read, w, written.numbers({1, 1, 1}, {1})}, attributes)});
    return engine::inputAxesOf(graph, graph.inputs().front(), 3).samples;
}

/// Scores of the last step of a recurrent layer over `samples` series of 5 steps (T × N × C).
engine::LoadedModelPointer overTime(std::int64_t samples)
{
    Written written;
    const ValueId x = written.input("x", DType::Float32, {5, samples, 2});
    const ValueId w = written.numbers({1, 3, 2}, {1, -1, 0.5, 2, 0.25, 1});
    const ValueId r = written.numbers({1, 3, 3}, {0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5});
    const ValueId states = written.node("RNN", {x, w, r}); // 5 × 1 × N × 3
    const ValueId last = written.node("Gather", {states, written.ints({4})}, {{"axis", std::int64_t{0}}});
    const ValueId flat = written.node("Reshape", {last, written.ints({samples, 3})});
    return loaded(written.graphTo({written.node("MatMul", {flat, written.numbers({3, 2}, {1, 0, 2, -1, 1, 1})})}));
}

/// One score per row of [2, 2].
engine::LoadedModelPointer rowwise()
{
    Written written;
    const ValueId x = written.input("x", DType::Float32, {1, 4});
    const ValueId rows = written.node("Reshape", {x, written.ints({2, 2})});
    return loaded(written.graphTo({written.node("MatMul", {rows, written.numbers({2, 2}, {1, 0, 0, 2})})}));
}

Tensor zeros(const tensor::Shape& shape) { return Tensor::zeros(DType::Float32, shape); }

/// Table of embeddings (token 2 is nothing), two tokens, two classes: score = Σ of embedding · weight.
engine::LoadedModelPointer lookedUp()
{
    Written written;
    const ValueId tokens = written.input("tokens", DType::Int64, {1, 2});
    const ValueId table = written.numbers({3, 2}, {1, 2, 3, 4, 0, 0});
    const ValueId rows = written.node("Gather", {table, tokens});
    const ValueId flat = written.node("Reshape", {rows, written.ints({1, 4})});
    const ValueId weights = written.numbers({4, 2}, {1, 0, 2, 0, -1, 0.5, 3, 0});
    return loaded(written.graphTo({written.node("MatMul", {flat, weights})}));
}

} // namespace

class EvaluateUnitsTest : public QObject
{
    Q_OBJECT

private slots:
    void theGraphSaysWhereChannelsAre()
    {
        const auto conv = [](Written& w, ValueId x) {
            return w.node("Conv", {w.node("Relu", {x}), w.numbers({1, 2, 1}, {1, 1})});
        };
        QCOMPARE(axisOfSeries(conv), ChannelAxis::First);
        const auto turned = [](Written& w, ValueId x) {
            const ValueId other = w.node("Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
            return w.node("Conv", {other, w.numbers({1, 5, 1}, {1, 1, 1, 1, 1})});
        };
        QCOMPARE(axisOfSeries(turned), ChannelAxis::Last);
        const auto asPicture = [](Written& w, ValueId x) {
            const ValueId wide = w.node("Unsqueeze", {x, w.ints({-2})}); // 1 × 2 × 1 × 5
            return w.node("Conv", {wide, w.numbers({1, 2, 1, 1}, {1, 1})});
        };
        QCOMPARE(axisOfSeries(asPicture), ChannelAxis::First);
        const auto thereAndBack = [](Written& w, ValueId x) {
            const ValueId wide = w.node("Unsqueeze", {x, w.ints({0, 3})});
            const ValueId back = w.node("Squeeze", {wide, w.ints({0, -2})});
            return w.node("MatMul", {back, w.numbers({5, 1}, {1, 1, 1, 1, 1})});
        };
        QCOMPARE(axisOfSeries(thereAndBack), ChannelAxis::Last);
        const auto recurrent = [](Written& w, ValueId x) {
            const ValueId timeFirst = w.node("Transpose", {x}, {{"perm", Ints{1, 0, 2}}});
            return w.node("RNN", {timeFirst, w.numbers({1, 1, 5}, Values(5, 1)), w.numbers({1, 1, 1}, {1})});
        };
        QCOMPARE(axisOfSeries(recurrent), ChannelAxis::Last);
        const auto fromTheLeft = [](Written& w, ValueId x) { return w.node("MatMul", {w.numbers({1, 2}, {1, 1}), x}); };
        QCOMPARE(axisOfSeries(fromTheLeft), ChannelAxis::First);
    }

    void theGraphDoesNotAlwaysSay()
    {
        const auto flat = [](Written& w, ValueId x) {
            const ValueId all = w.node("Reshape", {x, w.ints({1, 10})});
            return w.node("MatMul", {all, w.numbers({10, 1}, Values(10, 1))});
        };
        QCOMPARE(axisOfSeries(flat), ChannelAxis::Unknown);
        Written both; // a convolution along one axis, a product along the other
        const ValueId x = both.input("x", DType::Float32, {1, 2, 5});
        const ValueId one = both.node("Conv", {x, both.numbers({1, 2, 1}, {1, 1})});
        const ValueId two = both.node("MatMul", {x, both.numbers({5, 1}, Values(5, 1))});
        QCOMPARE(axisOf(both.graphTo({one, two}), 3), ChannelAxis::Unknown);
    }

    void seriesAreCutAlongTime()
    {
        Written written;
        const ValueId x = written.input("x", DType::Float32, {1, 2, 50});
        const graph::Graph graph = written.graphTo({written.node("Conv", {x, written.numbers({1, 2, 1}, {1, 1})})});
        RETRO_MADE(options, engine::decideUnits({}, graph, "x", zeros({1, 2, 50})));
        const Units units(zeros({1, 2, 50}), *options);
        QCOMPARE(units.text(), std::string("50 steps"));
        QVERIFY(units.members(3) == (Ints{3, 53}));
        options->patch = 8;
        const Units runs(zeros({1, 2, 50}), *options);
        QCOMPARE(runs.text(), std::string("7 runs of 8 steps"));
        QCOMPARE(runs.members(6).size(), std::size_t{4}); // 2 steps of 2 channels
        options->patch = 0;
        options->channels = ChannelAxis::None;
        QCOMPARE(Units(zeros({1, 2, 50}), *options).text(), std::string("100 elements"));
    }

    void recurrentLayersSayWhereSamplesAre()
    {
        const auto asItIs = [](Written&, ValueId x) { return x; };
        const auto turned = [](Written& w, ValueId x) { return w.node("Transpose", {x}, {{"perm", Ints{1, 0, 2}}}); };
        const auto behindALayer = [](Written& w, ValueId x) {
            const ValueId features = w.node("MatMul", {x, w.numbers({5, 5}, Values(25, 1))});
            return w.node("Relu", {features});
        };
        QCOMPARE(samplesBefore(asItIs), std::size_t{1});
        QCOMPARE(samplesBefore(asItIs, {{"layout", std::int64_t{1}}}), std::size_t{0});
        QCOMPARE(samplesBefore(turned), std::size_t{0});
        QCOMPARE(samplesBefore(behindALayer), std::size_t{1});
        Written behind;
        const graph::Graph graph = behind.graphTo({behindALayer(behind, behind.input("x", DType::Float32, {7, 2, 5}))});
        QCOMPARE(engine::inputAxesOf(graph, graph.inputs().front(), 3).samples, std::size_t{0}); // nothing says it
    }

    void aSeriesMayHaveTimeFirst()
    {
        engine::ExplainRequest question;
        question.inputs = {Tensor::of<double>({5, 1, 2}, Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})};
        question.composite = "epsilon";
        engine::EvaluationOptions options;
        options.methods = {"lrp", "occlusion"};
        RETRO_MADE(result, engine::evaluate(overTime(1), question, options));
        QCOMPARE(result->units, std::string("5 steps"));
        const Units units(question.inputs.front(),
                          *engine::decideUnits({}, *overTime(1)->rewritten.before, "x", question.inputs.front()));
        QVERIFY(units.members(3) == (Ints{6, 7}));
        QCOMPARE(units.replacement(6), 5.0); // the mean of the channel
        question.inputs = {zeros({5, 2, 2})};
        RETRO_REFUSED(engine::evaluate(overTime(2), question, options), "it has 2 samples (axis 1)");
    }

    // The score of an element, or of a whole value, is not that of the first row.
    void aTargetMayLieInAnyRow()
    {
        const engine::LoadedModelPointer model = rowwise();
        QVERIFY(model != nullptr);
        const std::string output = model->graph()->value(model->graph()->outputs().front()).name;
        engine::ExplainRequest question;
        question.inputs = {Tensor::of<double>({1, 4}, Values{1, 2, 3, 4})};
        question.precision = execute::Precision::Double;
        const auto scoreOf = [&](const std::string& target) {
            question.target = engine::parseTarget(target).value();
            const auto subject = engine::Subject::make(model, question);
            return subject.ok() ? subject->score(subject->input()) : base::Result<double>(subject.error());
        };
        QCOMPARE(scoreOf(output + ":1,1").value(), 8.0);
        QCOMPARE(scoreOf(output).value(), 1 + 4 + 3 + 8.0);
        RETRO_REFUSED(scoreOf("argmax"), "the target has 2 rows");
    }

    void volumesAreCutIntoCubes_data()
    {
        QTest::addColumn<bool>("isLast");
        QTest::newRow("NCDHW") << false;
        QTest::newRow("NDHWC") << true;
    }
    void volumesAreCutIntoCubes()
    {
        QFETCH(bool, isLast);
        const tensor::Shape shape = isLast ? tensor::Shape{1, 4, 5, 6, 2} : tensor::Shape{1, 2, 4, 5, 6};
        engine::UnitOptions options;
        options.patch = 2;
        options.channels = isLast ? ChannelAxis::Last : ChannelAxis::First;
        const Units units(zeros(shape), options);
        QCOMPARE(units.text(), std::string("18 cubes of 2 × 2 × 2"));
        std::vector<int> seen(240, 0);
        for (std::size_t i = 0; i < units.count(); ++i) {
            for (const std::int64_t element : units.members(i)) {
                ++seen[static_cast<std::size_t>(element)];
            }
        }
        QCOMPARE(seen, std::vector<int>(240, 1));
        QCOMPARE(units.members(0).size(), std::size_t{16});
        // The second voxel of the third row of the second plane is in the cube one row further.
        const std::int64_t voxel = 1 * 30 + 2 * 6 + 1;
        const Ints& cube = units.members(3);
        QVERIFY(std::find(cube.begin(), cube.end(), isLast ? voxel * 2 : voxel) != cube.end());
        const Units video(zeros({1, 1, 8, 64, 32}), {});
        QCOMPARE(video.text(), std::string("256 cubes of 4 × 4 × 4"));
    }

    void whatIsNotCutIsRefused()
    {
        Written written;
        const ValueId x = written.input("x", DType::Float32, {1, 2, 5});
        const graph::Graph graph = written.graphTo({written.node("Reshape", {x, written.ints({1, 10})})});
        const auto says = [&](const engine::UnitOptions& options, const Tensor& input, const char* words) {
            const auto decided = engine::decideUnits(options, graph, "x", input);
            return !decided.ok() && decided.error().code == base::ErrorCode::Usage &&
                   decided.error().text().find(words) != std::string::npos;
        };
        QVERIFY(says({}, zeros({1, 2, 5}), "--channel-axis"));
        QVERIFY(says({}, zeros({1, 1, 1, 1, 1, 1}), "6 axes"));
        engine::UnitOptions options;
        options.patch = 2;
        QVERIFY(says(options, zeros({1, 4}), "--patch"));
        options = {};
        options.mask = 1;
        QVERIFY(says(options, zeros({1, 4}), "--mask-id"));
        QVERIFY(says({}, Tensor::zeros(DType::Int64, {1, 4}), "--mask-id"));
        options = {};
        options.channels = ChannelAxis::None;
        QVERIFY(engine::decideUnits(options, graph, "x", zeros({1, 1, 1, 1, 1, 1})).ok());
    }

    // What a token adds is embedding · weight, by every method that takes tokens; token 2 adds nothing.
    void tokensAreReplaced()
    {
        const engine::LoadedModelPointer model = lookedUp();
        QVERIFY(model != nullptr);
        engine::ExplainRequest question;
        question.inputs = {Tensor::of<std::int64_t>({1, 2}, Ints{0, 1})};
        question.composite = "epsilon:epsilon=0";
        question.precision = execute::Precision::Double;
        engine::EvaluationOptions options;
        options.methods = {"lrp", "input_x_gradient", "occlusion"};
        options.units.mask = 2;
        RETRO_MADE(result, engine::evaluate(model, question, options));
        QCOMPARE(result->units, std::string("2 tokens"));
        for (const engine::MethodMeasures& method : result->methods) {
            QVERIFY2(method.attributed.values.shape() == (tensor::Shape{1, 2}), method.method.c_str());
            QVERIFY2(std::abs(method.attributed.values.at(0) - 5) < 1e-9, method.method.c_str());
            QVERIFY2(std::abs(method.attributed.values.at(1) - 9) < 1e-9, method.method.c_str());
            QVERIFY2(method.curves.mostFirst.scores == (Values{14, 5, 0}), method.method.c_str());
            QVERIFY2(method.curves.leastFirst.scores == (Values{14, 9, 0}), method.method.c_str());
        }
        options.methods = {"smoothgrad"};
        const auto refused = engine::evaluate(model, question, options);
        QVERIFY(!refused.ok() && refused.error().text().find("smoothgrad") != std::string::npos);
    }

    // Of two inputs of numbers one is flipped; the other is named.
    void theOtherInputIsHeld()
    {
        Written written;
        const ValueId a = written.input("a", DType::Float32, {1, 2});
        const ValueId b = written.input("b", DType::Float32, {1, 2});
        const ValueId sum = written.node("Add", {a, b});
        const ValueId weights = written.numbers({2, 2}, {1, 0, 1, 0});
        RETRO_MADE(model, loaded(written.graphTo({written.node("MatMul", {sum, weights})})));
        engine::ExplainRequest question;
        question.inputs = {Tensor::of<double>({1, 2}, Values{1, 2}), Tensor::of<double>({1, 2}, Values{3, 5})};
        question.precision = execute::Precision::Double;
        engine::EvaluationOptions options;
        options.methods = {"input_x_gradient"};
        options.units.replacement = engine::Replacement::Zero;
        RETRO_MADE(first, engine::evaluate(model, question, options));
        QCOMPARE(first->input, std::string("a"));
        QVERIFY(first->held == std::vector<std::string>{"b"});
        QCOMPARE(first->random.scores.back(), 8.0);
        options.input = "b";
        const auto second = engine::evaluate(model, question, options);
        QVERIFY(second.ok() && second->input == "b" && second->held == std::vector<std::string>{"a"});
        QCOMPARE(second->random.scores.back(), 3.0);
        options.input = "c";
        QVERIFY(engine::evaluate(model, question, options).error().code == base::ErrorCode::Usage);
    }
};

QTEST_GUILESS_MAIN(EvaluateUnitsTest)
#include "evaluateunitstest.moc"
