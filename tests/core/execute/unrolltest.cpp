// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan become the nodes that run for given inputs, and compute what the standard says.
#include "core/execute/control/unroll.h"
#include "core/base/memoryaccount.h"
#include "core/base/memorylimit.h"
#include "core/execute/forward.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

using namespace retro;
using execute::Precision;
using execute::ValueId;
using graph::GraphBuilder;
using graph::Subgraph;
using tensor::DType;
using tensor::Tensor;

namespace
{

constexpr tensor::Shape::value_type kTwo = 2;

std::shared_ptr<const graph::Graph> finished(GraphBuilder builder)
{
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

/// out = captured x, `op` constant 10.
Subgraph branch(const char* op)
{
    GraphBuilder builder("branch", 13);
    const ValueId x = builder.addInput("x", DType::Float32, std::nullopt);
    const ValueId ten = builder.addConstant("ten", Tensor::scalar(10.0F));
    const ValueId out = builder.addOp(op, "apply", {x, ten}, "out");
    builder.addOutput(out);
    return {finished(std::move(builder)), 1};
}

/// y = c ? x + 10 : x · 10, then relu.
std::shared_ptr<const graph::Graph> gate()
{
    GraphBuilder builder("gate", 13);
    const ValueId c = builder.addInput("c", DType::Bool, tensor::Shape{});
    const ValueId x = builder.addInput("x", DType::Float32, tensor::Shape{kTwo});
    const ValueId chosen = builder.addResult("chosen");
    const ValueId y = builder.addResult("y");
    builder.addNode({"If",
                     "",
                     "if",
                     "head",
                     13,
                     {c, x},
                     {chosen},
                     {{"then_branch", branch("Add")}, {"else_branch", branch("Mul")}}});
    builder.addNode({"Relu", "", "relu", "", 13, {chosen}, {y}, {}});
    builder.addOutput(y);
    return finished(std::move(builder));
}

/// Body of a Loop: total' = total + x; also gives total' as a row; goes on while the step is below the limit 100.
Subgraph summing()
{
    GraphBuilder builder("body", 13);
    builder.addInput("step", DType::Int64, tensor::Shape{});
    const ValueId goes = builder.addInput("goes", DType::Bool, tensor::Shape{});
    const ValueId total = builder.addInput("total", DType::Float32, tensor::Shape{kTwo});
    const ValueId x = builder.addInput("x", DType::Float32, std::nullopt);
    const ValueId more = builder.addOp("Identity", "on", {goes}, "more");
    const ValueId next = builder.addOp("Add", "add", {total, x}, "next");
    builder.declare(next, DType::Float32, std::vector<graph::Dimension>{{2, ""}});
    builder.addOutput(more);
    builder.addOutput(next);
    builder.addOutput(next);
    return {finished(std::move(builder)), 1};
}

std::shared_ptr<const graph::Graph> loop()
{
    GraphBuilder builder("loop", 13);
    const ValueId times = builder.addInput("times", DType::Int64, tensor::Shape{});
    const ValueId x = builder.addInput("x", DType::Float32, tensor::Shape{kTwo});
    const ValueId start = builder.addConstant("start", Tensor::zeros(DType::Float32, {kTwo}));
    const ValueId total = builder.addResult("final");
    const ValueId rows = builder.addResult("rows");
    builder.addNode({"Loop", "", "loop", "", 13, {times, ValueId(), start, x}, {total, rows}, {{"body", summing()}}});
    builder.addOutput(total);
    builder.addOutput(rows);
    return finished(std::move(builder));
}

/// A Loop that carries `x` and makes it twice as long in each step.
std::shared_ptr<const graph::Graph> doubling()
{
    GraphBuilder inner("body", 13);
    inner.addInput("step", DType::Int64, tensor::Shape{});
    const ValueId goes = inner.addInput("goes", DType::Bool, tensor::Shape{});
    const ValueId carried = inner.addInput("carried", DType::Float32, std::nullopt);
    const ValueId more = inner.addOp("Identity", "on", {goes}, "more");
    const ValueId twice = inner.addOp("Concat", "join", {carried, carried}, "twice", {{"axis", std::int64_t{0}}});
    inner.addOutput(more);
    inner.addOutput(twice);
    GraphBuilder builder("doubling", 13);
    const ValueId times = builder.addInput("times", DType::Int64, tensor::Shape{});
    const ValueId x = builder.addInput("x", DType::Float32, tensor::Shape{kTwo});
    const ValueId y = builder.addResult("y");
    builder.addNode(
        {"Loop", "", "loop", "", 13, {times, ValueId(), x}, {y}, {{"body", Subgraph{finished(std::move(inner)), 0}}}});
    builder.addOutput(y);
    return finished(std::move(builder));
}

Tensor numbers(const std::vector<float>& values)
{
    return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

struct Answer
{
    std::shared_ptr<const graph::Graph> graph;
    std::vector<std::string> steps;
    std::vector<Tensor> outputs;
};

/// Unrolls, binds and runs.
base::Result<Answer> answer(const graph::Graph& graph, const std::vector<Tensor>& inputs)
{
    RETRO_TRY(execute::Unrolled flat, execute::unroll(graph, inputs, Precision::Float));
    std::vector<ops::TensorType> types;
    for (const Tensor& input : inputs) {
        types.push_back({input.dtype(), input.shape()});
    }
    RETRO_TRY(const auto model, execute::BoundModel::bind(flat.graph, types, Precision::Float));
    RETRO_TRY(execute::ForwardResult result, execute::forward(model, inputs, execute::SavePolicy::Autograd));
    return Answer{flat.graph, flat.steps, result.outputs};
}

QString textOf(const Tensor& t)
{
    QStringList numbers{QString::fromStdString(tensor::toText(t.shape())) + ":"};
    for (std::int64_t i = 0; i < t.size(); ++i) {
        numbers.append(QString::number(t.at(i)));
    }
    return numbers.join(' ');
}

} // namespace

class UnrollTest : public QObject
{
    Q_OBJECT
private slots:
    void theConditionChoosesTheBranch()
    {
        QVERIFY(execute::hasControlFlow(*gate()));
        RETRO_MADE(taken, answer(*gate(), {Tensor::scalar(true), numbers({1, -30})}));
        QCOMPARE(textOf(taken->outputs[0]), QString("2: 11 0"));
        const auto other = answer(*gate(), {Tensor::scalar(false), numbers({1, -30})});
        QCOMPARE(textOf(other->outputs[0]), QString("2: 10 0"));
        QVERIFY(!execute::hasControlFlow(*other->graph));
        QCOMPARE(other->steps.size(), 1U);
        QCOMPARE(QString::fromStdString(other->steps[0]), QString("If 'if': else_branch"));
        QVERIFY(other->graph->findValue("chosen").has_value()); // names of the model stay
        RETRO_MADE(node, other->graph->findNode("if/apply"));
        QCOMPARE(other->graph->node(*node).scope, std::string("head/if"));
    }

    void loopsRunAsOftenAsTheyAreTold()
    {
        RETRO_MADE(three, answer(*loop(), {Tensor::scalar(std::int64_t{3}), numbers({1, 2})}));
        QCOMPARE(textOf(three->outputs[0]), QString("2: 3 6"));
        QCOMPARE(textOf(three->outputs[1]), QString("3 × 2: 1 2 2 4 3 6"));
        RETRO_MADE(none, answer(*loop(), {Tensor::scalar(std::int64_t{0}), numbers({1, 2})}));
        QCOMPARE(textOf(none->outputs[0]), QString("2: 0 0"));
        QCOMPARE(textOf(none->outputs[1]), QString("0 × 2:"));
    }

    void aLoopWithoutEndIsRefused()
    {
        const std::vector inputs{Tensor::scalar(INT64_MAX), numbers({1, 2})};
        RETRO_REFUSED(execute::unroll(*loop(), inputs, Precision::Float, {}, 1000), "more than 1000 nodes");
    }

    void aLoopThatDoublesWhatItCarriesIsStopped()
    {
        RETRO_MADE(three, answer(*doubling(), {Tensor::scalar(std::int64_t{3}), numbers({1, 2})}));
        QCOMPARE(three->outputs[0].size(), 16);
        auto& account = base::MemoryAccount::tensors();
        account.resetPeak();
        const std::int64_t before = account.live();
        base::MemoryLimit::choose(static_cast<std::uint64_t>(before) + (1U << 20U));
        const auto endless = execute::unroll(
            *doubling(), std::vector{Tensor::scalar(std::int64_t{60}), numbers({1, 2})}, Precision::Float);
        base::MemoryLimit::choose(std::nullopt);
        RETRO_REFUSED(endless, base::ErrorCode::Memory);
        const QString text = QString::fromStdString(endless.error().text());
        QVERIFY2(text.startsWith("node 'loop/16/join' (Concat): 1.0 MB are needed"), qPrintable(text));
        QVERIFY(account.peak() - before <= (1 << 20));
    }

    void nodesThatDoNotFitAreRefused()
    {
        const auto textOfRefusal = [](std::vector<bool> given, graph::Subgraph taken,
                                      std::optional<graph::Subgraph> other = {}) {
            GraphBuilder builder("gate", 13);
            const ValueId c = builder.addInput("c", DType::Bool, tensor::Shape{});
            const ValueId x = builder.addInput("x", DType::Float32, tensor::Shape{kTwo});
            const ValueId y = builder.addResult("y");
            std::vector<ValueId> operands;
            for (std::size_t i = 0; i < given.size(); ++i) {
                operands.push_back(given[i] ? (i == 0 ? c : x) : ValueId());
            }
            graph::Attributes branches{{"then_branch", taken}, {"else_branch", other.value_or(taken)}};
            builder.addNode({"If", "", "if", "", 13, std::move(operands), {y}, std::move(branches)});
            builder.addOutput(y);
            const auto refused = execute::unroll(*finished(std::move(builder)),
                                                 std::vector{Tensor::scalar(true), numbers({1, 2})}, Precision::Float);
            return refused.ok() ? QString("taken") : QString::fromStdString(refused.error().text());
        };
        QCOMPARE(textOfRefusal({true, true}, branch("Add")), QString("taken"));
        QCOMPARE(textOfRefusal({false, true}, branch("Add")),
                 QString("node 'if' (If, opset 13): operand 0 is missing (cond of If)"));
        QCOMPARE(textOfRefusal({}, {branch("Add").graph, 0}),
                 QString("node 'if' (If, opset 13): operand 0 is missing (cond of If)"));
        QCOMPARE(textOfRefusal({}, branch("Add")),
                 QString("node 'if' (If, opset 13): its else_branch reads 1 values from around it, which the node does "
                         "not hand over"));
        QCOMPARE(textOfRefusal({true}, {branch("Add").graph, 0}),
                 QString("node 'if' (If, opset 13): its then_branch has inputs, but a branch takes none"));
        GraphBuilder more("more", 13);
        more.addInput("own", DType::Float32, tensor::Shape{kTwo});
        const ValueId around = more.addInput("x", DType::Float32, tensor::Shape{kTwo});
        more.addOutput(around);
        QCOMPARE(textOfRefusal({true, true}, branch("Add"), graph::Subgraph{finished(std::move(more)), 1}),
                 QString("node 'if' (If, opset 13): its else_branch has inputs, but a branch takes none"));
    }

    void numbersOfAnotherTypeAreRefused()
    {
        const auto textOfRefusal = [](const auto& graph, std::vector<Tensor> inputs) {
            const auto refused = execute::unroll(*graph, inputs, Precision::Float);
            return refused.ok() ? QString("taken") : QString::fromStdString(refused.error().text());
        };
        QCOMPARE(textOfRefusal(gate(), {Tensor::scalar(std::int64_t{1}), numbers({1, 2})}),
                 QString("node 'if' (If, opset 13): its condition is int64, but must be bool"));
        QCOMPARE(textOfRefusal(loop(), {Tensor::scalar(3.0F), numbers({1, 2})}),
                 QString("node 'loop' (Loop, opset 13): its number of steps is float32, but must be int64"));
    }

    void scansThatDoNotFitAreRefused()
    {
        const auto textOfRefusal = [](const char* name, std::vector<std::int64_t> list, std::size_t outputs = 1,
                                      std::int64_t length = 3) {
            GraphBuilder inner("body", 13);
            inner.addOutput(inner.addInput("element", DType::Float32, std::nullopt));
            GraphBuilder builder("scan", 13);
            const ValueId x = builder.addInput("x", DType::Float32, tensor::Shape{length});
            std::vector<ValueId> results;
            for (std::size_t k = 0; k < outputs; ++k) {
                results.push_back(builder.addResult("y" + std::to_string(k)));
                builder.addOutput(results.back());
            }
            graph::Attributes attributes{{"body", Subgraph{finished(std::move(inner)), 0}},
                                         {"num_scan_inputs", std::int64_t{1}}};
            if (!list.empty()) {
                attributes[name] = std::move(list);
            }
            builder.addNode({"Scan", "", "scan", "", 13, {x}, results, std::move(attributes)});
            const auto refused = execute::unroll(
                *finished(std::move(builder)), std::vector{Tensor::zeros(DType::Float32, {length})}, Precision::Float);
            return refused.ok() ? QString("taken") : QString::fromStdString(refused.error().text());
        };
        const QString place = "node 'scan' (Scan, opset 13): ";
        QCOMPARE(textOfRefusal("scan_input_directions", {1}), QString("taken"));
        QCOMPARE(textOfRefusal("scan_input_directions", {7}),
                 place +
                     "attribute 'scan_input_directions' contains 7, but a direction is 0 (forwards) or 1 (backwards)");
        QCOMPARE(textOfRefusal("scan_output_directions", {1, 1}),
                 place + "attribute 'scan_output_directions' has 2 entries, but must have 1");
        QCOMPARE(textOfRefusal("scan_input_axes", {0, 0, 0}),
                 place + "attribute 'scan_input_axes' has 3 entries, but must have 1");
        QCOMPARE(textOfRefusal("", {}, 2), place + "its body has 1 outputs, but the node has 2");
        QVERIFY(textOfRefusal("", {}, 1, 0).contains("has no elements; a Scan needs at least one step"));
    }

    void aStopEndsIt()
    {
        std::stop_source source;
        source.request_stop();
        const auto stopped = execute::unroll(*loop(), std::vector{Tensor::scalar(INT64_MAX), numbers({1, 2})},
                                             Precision::Float, source.get_token());
        RETRO_REFUSED(stopped, base::ErrorCode::Cancelled);
    }

    void valuesWithoutGraphsAreLeftAlone() { QVERIFY(!execute::hasControlFlow(*branch("Add").graph)); }
};

QTEST_GUILESS_MAIN(UnrollTest)
#include "unrolltest.moc"
