// SPDX-License-Identifier: Apache-2.0
#include "tests/views/graph/graphruns.h"

#include "core/graph/graphbuilder.h"
#include "core/lrp/arithmetic/nullarithmetic.h"
#include "core/lrp/traversal/traversal.h"
#include "core/trace/recorder.h"

#include <QtGlobal>

#include <map>

namespace retro::tests
{

namespace
{

using base::HandleId;
using base::NodeId;
using base::ValueId;
using tensor::Shape;
using tensor::Tensor;

/// Adds nodes of one output each and remembers the shapes of their outputs.
class NetworkBuilder
{
public:
    explicit NetworkBuilder(const char* name) : m_builder(name) { m_builder.setOpset("", 17); }

    ValueId input(const std::string& name, Shape shape)
    {
        m_shapes[name] = shape;
        return m_builder.addInput(name, tensor::DType::Float32, shape);
    }
    ValueId weight(const std::string& name)
    {
        return m_builder.addConstant(name, Tensor::zeros(tensor::DType::Float32, {4, 4}));
    }
    ValueId node(const char* op, const std::string& scope, const std::string& name, std::vector<ValueId> inputs,
                 Shape shape)
    {
        const std::string path = scope.empty() ? name : scope + "/" + name;
        graph::Node added;
        added.op = op;
        added.name = path;
        added.scope = scope;
        added.opset = 17;
        added.inputs = std::move(inputs);
        const ValueId result = m_builder.addResult(path + ".out");
        m_shapes[path + ".out"] = std::move(shape);
        added.outputs = {result};
        m_builder.addNode(std::move(added));
        return result;
    }
    std::shared_ptr<const graph::Graph> finish(ValueId output)
    {
        m_builder.addOutput(output);
        auto graph = std::move(m_builder).build();
        if (!graph.ok()) {
            qFatal("the graph is wrong: %s", graph.error().text().c_str());
        }
        return std::make_shared<const graph::Graph>(std::move(graph).value());
    }
    [[nodiscard]] std::vector<Shape> shapesOf(const graph::Graph& graph) const
    {
        std::vector<Shape> shapes;
        for (const graph::Value& value : graph.values()) {
            const auto found = m_shapes.find(value.name);
            shapes.push_back(found != m_shapes.end() ? found->second : value.constant.shape());
        }
        return shapes;
    }

private:
    graph::GraphBuilder m_builder;
    std::map<std::string, Shape> m_shapes;
};

/// Numbers in place of tensors: rules hand on 99 % of what arrives, split over the operands.
class SumArithmetic final : public lrp::NullArithmetic
{
public:
    SumArithmetic(const lrp::TraversalGraph& graph, std::vector<lrp::NodeBehaviour> behaviour,
                  const graph::Graph& source, event::Sink& sink, bool leaks)
        : NullArithmetic(graph, std::move(behaviour)), m_graph(graph), m_source(source), m_sink(sink), m_leaks(leaks)
    {}

    HandleId make(double sum)
    {
        const HandleId handle = newHandle();
        m_sums.resize(handle.index() + 1, 0);
        m_sums[handle.index()] = sum;
        return handle;
    }
    [[nodiscard]] double sumOf(HandleId handle) const
    {
        return handle.isValid() && handle.index() < m_sums.size() ? m_sums[handle.index()] : 0;
    }
    [[nodiscard]] const std::vector<double>& sums() const { return m_sums; }

    void beginVisit(std::uint32_t visit) override { m_visit = visit; }
    HandleId sum(base::NodeId node, std::uint32_t k, std::span<const HandleId> parts) override
    {
        if (parts.size() == 1) {
            return NullArithmetic::sum(node, k, parts);
        }
        double total = 0;
        for (const HandleId part : parts) {
            total += sumOf(part);
        }
        return make(total);
    }
    std::vector<HandleId> applyRule(NodeId node, std::span<const HandleId> relevance,
                                    std::span<const HandleId>) override
    {
        double arrived = 0;
        for (const HandleId part : relevance) {
            arrived += sumOf(part);
        }
        const bool isLeak = m_leaks && m_source.opOf(node) == "Softmax";
        const double handedOn = arrived * (isLeak ? 0.9 : 0.99);
        event::LedgerEntry row;
        row.node = node.value;
        row.visit = m_visit;
        row.arrived = arrived;
        row.handedOn = handedOn;
        row.magnitude = std::abs(arrived);
        row.causes[static_cast<std::size_t>(event::Cause::Stabiliser)] = isLeak ? 0 : arrived - handedOn;
        m_sink.onLedger(row);
        return split(node, handedOn);
    }

private:
    std::vector<HandleId> split(NodeId node, double handedOn)
    {
        const auto children = m_graph.children(node);
        double weights = 0;
        for (std::size_t slot = 0; slot < children.size(); ++slot) {
            weights += children[slot].child.isValid() ? 1.0 / static_cast<double>(slot + 1) : 0;
        }
        std::vector<HandleId> shares(children.size());
        for (std::size_t slot = 0; slot < children.size(); ++slot) {
            if (children[slot].child.isValid()) {
                shares[slot] = make(handedOn / static_cast<double>(slot + 1) / weights);
            }
        }
        return shares;
    }

    const lrp::TraversalGraph& m_graph;
    const graph::Graph& m_source;
    event::Sink& m_sink;
    std::vector<double> m_sums;
    std::uint32_t m_visit = 0;
    bool m_leaks = false;
};

/// Roles as the saving policy "autograd" gives them: sums saved nothing, changes of shape are crossed.
lrp::NodeBehaviour behaviourOf(std::string_view op)
{
    if (op == "Add" || op == "Concat") {
        const auto kind = op == "Add" ? event::PromiseKind::Add : event::PromiseKind::Cat;
        return {lrp::Role::Raise, true, kind};
    }
    const bool isCrossed = op == "Transpose" || op == "Mul" || op == "Gather";
    return {isCrossed ? lrp::Role::PassThrough : lrp::Role::Arg, false, event::PromiseKind::Operator};
}

lrp::TraversalGraph traversalGraphOf(const graph::Graph& graph)
{
    lrp::Adjacency adjacency;
    for (const graph::Node& node : graph.nodes()) {
        std::vector<lrp::ChildSlot> children;
        for (const ValueId operand : node.inputs) {
            children.push_back({graph.nodeOf(operand), graph.value(operand).producerOutput, 0});
        }
        adjacency.addNode(children, 1);
    }
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        adjacency.addNode({}, 1);
    }
    return lrp::TraversalGraph::walk(std::move(adjacency), graph.nodeOf(graph.outputs().front()), 0);
}

views::RunHandle play(const std::shared_ptr<const graph::Graph>& graph, std::vector<Shape> shapes, bool leaks)
{
    const lrp::TraversalGraph walked = traversalGraphOf(*graph);
    std::vector<lrp::NodeBehaviour> behaviour;
    for (std::size_t i = 0; i < graph->runNodeCount(); ++i) {
        behaviour.push_back(behaviourOf(graph->opOf(NodeId(i))));
    }
    trace::Recorder recorder;
    SumArithmetic arithmetic(walked, std::move(behaviour), *graph, recorder, leaks);
    lrp::Traversal traversal(walked, arithmetic, recorder, arithmetic.make(6.2));
    while (!traversal.finished()) {
        if (const auto step = traversal.step(); !step.ok()) {
            qFatal("the traversal stopped: %s", step.error().text().c_str());
        }
    }
    auto run = std::make_shared<trace::Run>(std::move(recorder).take());
    run->graph = graph;
    run->shapes = std::move(shapes);
    std::uint32_t handles = static_cast<std::uint32_t>(arithmetic.sums().size());
    for (const event::Event& e : run->events) {
        handles = e.handle == HandleId::kInvalid ? handles : std::max(handles, e.handle + 1);
    }
    for (std::uint32_t i = 0; i < handles; ++i) {
        run->handles.push_back({tensor::DType::Float32, {1}, 4, arithmetic.sumOf(HandleId(i))});
    }
    run->tensors.resize(handles);
    run->values.resize(graph->valueCount());
    run->facts.modelName = graph->name();
    run->facts.composite = "epsilon";
    for (const graph::Node& node : graph->nodes()) {
        run->rules.push_back({node.op == "Add" ? "epsilon 1e-06" : "z-plus", "any node"});
    }
    auto timeline = trace::Timeline::open(run);
    if (!timeline.ok()) {
        qFatal("the run contradicts itself: %s", timeline.error().text().c_str());
    }
    return {run, std::make_shared<trace::Timeline>(std::move(timeline).value())};
}

ValueId addLayer(NetworkBuilder& net, const std::string& scope, ValueId x)
{
    const Shape wide{1, 50, 64};
    const Shape heads{1, 4, 50, 16};
    const Shape scores{1, 4, 50, 50};
    const auto weight = [&](const char* name) { return net.weight(scope + "." + name); };
    const ValueId norm = net.node("LayerNormalization", scope, "LN_1", {x}, wide);
    std::map<std::string, ValueId> split;
    for (const char* part : {"Q", "K", "V"}) {
        const ValueId projected = net.node("Gemm", scope, part, {norm, weight(part)}, wide);
        const std::string name = std::string("heads_") + static_cast<char>(part[0] - 'A' + 'a');
        split[part] = net.node("Transpose", scope, name, {projected}, part[0] == 'K' ? Shape{1, 4, 16, 50} : heads);
    }
    const ValueId raw = net.node("MatMul", scope, "QK", {split["Q"], split["K"]}, scores);
    const ValueId scaled = net.node("Mul", scope, "Scale", {raw, weight("scale")}, scores);
    const ValueId soft = net.node("Softmax", scope, "Softmax", {scaled}, scores);
    const ValueId mixed = net.node("MatMul", scope, "AV", {soft, split["V"]}, heads);
    const ValueId merged = net.node("Transpose", scope, "merge", {mixed}, wide);
    const ValueId attention = net.node("Gemm", scope, "Proj", {merged, weight("proj")}, wide);
    const ValueId first = net.node("Add", scope, "Add_1", {attention, x}, wide);
    const std::string inner = scope + "/mlp";
    const ValueId norm2 = net.node("LayerNormalization", inner, "LN_2", {first}, wide);
    const ValueId up = net.node("Gemm", inner, "FC1", {norm2, weight("fc1")}, {1, 50, 256});
    const ValueId act = net.node("Gelu", inner, "GELU", {up}, {1, 50, 256});
    const ValueId down = net.node("Gemm", inner, "FC2", {act, weight("fc2")}, wide);
    return net.node("Add", scope, "Add_2", {down, first}, wide);
}

/// A run in which nothing has happened.
views::RunHandle idle(std::shared_ptr<const graph::Graph> graph)
{
    auto run = std::make_shared<trace::Run>();
    run->graph = std::move(graph);
    auto timeline = trace::Timeline::open(run);
    if (!timeline.ok()) {
        qFatal("an empty run contradicts itself: %s", timeline.error().text().c_str());
    }
    return {run, std::make_shared<trace::Timeline>(std::move(timeline).value())};
}

} // namespace

views::RunHandle makeTransformerRun(int layers, bool leaks)
{
    NetworkBuilder net("digits-vit");
    const ValueId image = net.input("image", {1, 1, 28, 28});
    const ValueId patches = net.node("Conv", "embed", "Conv", {image, net.weight("patch")}, {1, 64, 49});
    const ValueId turned = net.node("Transpose", "embed", "turn", {patches}, {1, 49, 64});
    const ValueId tokens = net.node("Concat", "embed", "Concat", {net.weight("class token"), turned}, {1, 50, 64});
    ValueId x = net.node("Add", "embed", "Add", {tokens, net.weight("position")}, {1, 50, 64});
    for (int layer = 0; layer < layers; ++layer) {
        x = addLayer(net, "encoder/layer." + std::to_string(layer), x);
    }
    const ValueId norm = net.node("LayerNormalization", "head", "LN", {x}, {1, 50, 64});
    const ValueId token = net.node("Gather", "head", "Gather", {norm, net.weight("index")}, {1, 64});
    const ValueId logits = net.node("Gemm", "head", "FC", {token, net.weight("head")}, {1, 10});
    const auto graph = net.finish(logits);
    return play(graph, net.shapesOf(*graph), leaks);
}

views::RunHandle makeResidualRun(int nodes)
{
    NetworkBuilder net("residual chain");
    const Shape shape{1, 64, 56, 56};
    ValueId x = net.input("image", {1, 3, 224, 224});
    const ValueId weight = net.weight("weight");
    for (int block = 0; block < nodes / 4; ++block) {
        const std::string number = std::to_string(block);
        const ValueId a = net.node("Conv", "", "conv_a" + number, {x, weight}, shape);
        const ValueId b = net.node("Relu", "", "relu" + number, {a}, shape);
        const ValueId c = net.node("Conv", "", "conv_b" + number, {b, weight}, shape);
        x = net.node("Add", "", "add" + number, {c, x}, shape);
    }
    const auto graph = net.finish(x);
    return play(graph, net.shapesOf(*graph), false);
}

views::RunHandle makeSquareRun()
{
    NetworkBuilder net("square");
    const ValueId x = net.input("x", {4, 4});
    const auto graph = net.finish(net.node("MatMul", "", "square", {x, x}, {4, 4}));
    return play(graph, net.shapesOf(*graph), false);
}

views::RunHandle makeNamedRun(const char* name)
{
    NetworkBuilder net(name);
    const ValueId x = net.input("x", {2});
    return idle(net.finish(net.node("Relu", "", name, {x}, {2})));
}

views::RunHandle makeConstantRun()
{
    NetworkBuilder net("constants");
    const ValueId x = net.input("x", {4, 4});
    const ValueId raw = net.node("ConstantOfShape", "", "raw", {net.weight("extents")}, {2});
    const ValueId shape = net.node("Cast", "", "shape", {raw}, {2});
    const ValueId turned = net.node("Reshape", "", "turn", {x, shape}, {2, 8});
    return idle(net.finish(net.node("Relu", "", "act", {turned}, {2, 8})));
}

views::RunHandle makeLonelyScopesRun()
{
    NetworkBuilder net("lonely");
    const ValueId x = net.input("x", {4, 4});
    const ValueId a = net.node("Conv", "stem/first/conv", "Conv", {x, net.weight("w")}, {4, 4});
    return idle(net.finish(net.node("Relu", "stem/act", "Relu_7", {a}, {4, 4})));
}

base::NodeId nodeNamed(const views::RunHandle& handle, const char* name)
{
    const auto node = handle.run->graph->findNode(name);
    if (!node) {
        qFatal("there is no node %s", name);
    }
    return *node;
}

} // namespace retro::tests
