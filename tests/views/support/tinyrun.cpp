// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/tinyrun.h"

#include "core/graph/graphbuilder.h"
#include "tests/results.h"

#include <cmath>
#include <cstdlib>

namespace retro::tests
{

namespace
{

using event::Cause;
using event::Event;
using event::EventKind;
using event::LedgerEntry;
using event::Mode;
using event::PromiseKind;
using tensor::Tensor;

constexpr int kSide = kTinySide;

template <class F>
Tensor tensorOf(tensor::Shape shape, F&& valueAt)
{
    std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(valueAt(i));
    }
    return Tensor::of<float>(std::move(shape), values);
}

bool isTag(int x, int y) { return x >= 17 && x < 22 && y >= 3 && y < 8; }

double pixel(int c, int x, int y)
{
    if (isTag(x, y)) {
        return y % 2 == 0 ? 0.95 : (c == 0 ? 0.8 : 0.1);
    }
    const bool isMug = x > 6 && x < 15 && y > 8 && y < 21;
    const double ground = 0.55 + 0.2 * std::sin(0.7 * x + 0.3 * y) + 0.05 * c;
    return isMug ? 0.25 + 0.1 * c : ground;
}

// Relevance of a stage: strong on the tag, weaker and of both signs elsewhere; scaled to `sum`.
Tensor relevanceOf(const tensor::Shape& shape, double sum)
{
    const auto height = static_cast<std::size_t>(shape[2]);
    const auto width = static_cast<std::size_t>(shape[3]);
    const Tensor raw = tensorOf(shape, [&](std::size_t i) {
        const auto x = static_cast<int>((i % width) * static_cast<std::size_t>(kSide) / width);
        const auto y = static_cast<int>((i / width % height) * static_cast<std::size_t>(kSide) / height);
        const double tag = isTag(x, y) ? 1.0 + 0.3 * std::cos(2.0 * x + y) : 0.0;
        return tag + 0.06 * std::sin(0.9 * x) * std::cos(0.8 * y + 0.4);
    });
    double total = 0;
    for (std::int64_t i = 0; i < raw.size(); ++i) {
        total += raw.at(i);
    }
    return tensorOf(shape, [&](std::size_t i) { return raw.at(static_cast<std::int64_t>(i)) * sum / total; });
}

graph::Graph makeGraph()
{
    graph::GraphBuilder builder("tiny", 17);
    const tensor::Shape wide{1, 4, kSide, kSide};
    const auto image = builder.addInput("image", tensor::DType::Float32, tensor::Shape{1, 3, kSide, kSide});
    const auto weight = [&](const char* name, tensor::Shape shape) {
        return builder.addConstant(name, Tensor::zeros(tensor::DType::Float32, std::move(shape)));
    };
    const auto add = [&](const char* op, const char* name, const char* scope, std::vector<base::ValueId> inputs,
                         const char* output) {
        graph::Node node;
        node.op = op;
        node.name = name;
        node.scope = scope;
        node.opset = 17;
        node.inputs = std::move(inputs);
        const base::ValueId result = builder.addResult(output);
        node.outputs = {result};
        builder.addNode(std::move(node));
        return result;
    };
    const auto a = add("Conv", "stem/conv1", "stem", {image, weight("stem.weight", {4, 3, 3, 3})}, "a");
    const auto b = add("Relu", "stem/relu1", "stem", {a}, "b");
    const auto c = add("Conv", "block1/conv2", "block1", {b, weight("block1.weight", {4, 4, 3, 3})}, "c");
    const auto d = add("Add", "block1/add", "block1", {c, b}, "d");
    const auto e = add("GlobalAveragePool", "head/pool", "head", {d}, "e");
    const auto f = add("Flatten", "head/flatten", "head", {e}, "f");
    const auto logits = add("Gemm", "head/fc", "head", {f, weight("head.weight", {3, 4})}, "logits");
    builder.addOutput(logits);
    return std::move(std::move(builder).build()).value();
}

/// Writes events one after another in the manner of the traversal.
class Script
{
public:
    explicit Script(trace::Run& run) : m_run(run) {}

    std::uint32_t keep(const Tensor& tensor)
    {
        double sum = 0;
        for (std::int64_t i = 0; i < tensor.size(); ++i) {
            sum += tensor.at(i);
        }
        m_run.handles.push_back({tensor.dtype(), tensor.shape(), tensor.bytes(), sum});
        m_run.tensors.push_back(tensor);
        return static_cast<std::uint32_t>(m_run.handles.size() - 1);
    }

    Event& add(EventKind kind, std::uint32_t node)
    {
        Event e;
        e.kind = kind;
        e.node = node;
        e.visit = m_visit;
        m_run.events.push_back(e);
        return m_run.events.back();
    }

    void visit(std::uint32_t node, Mode mode)
    {
        m_visit = m_run.visitStart.empty() ? 0 : m_visit + 1;
        m_run.visitStart.push_back(m_run.events.size());
        Event& e = add(EventKind::Visit, node);
        e.mode = mode;
        e.other = m_current;
        e.extra = static_cast<std::int64_t>(m_modes[node]);
        m_modes[node] = mode;
        m_current = node;
    }

    void land(std::uint32_t node, std::uint32_t slot, std::uint32_t edges, std::uint32_t handle)
    {
        part(EventKind::Land, node, slot, edges, handle);
    }
    void take(std::uint32_t node, std::uint32_t slot, std::uint32_t edges, std::uint32_t handle)
    {
        part(EventKind::Take, node, slot, edges, handle);
    }
    void landBranch(EventKind kind, std::uint32_t node, std::uint32_t slot, std::uint32_t edges, std::uint32_t promise,
                    std::uint32_t branch)
    {
        Event& e = add(kind, node);
        e.slot = slot;
        e.extra = edges;
        e.promise = promise;
        e.branch = branch;
        e.other = m_current;
    }
    void stack(EventKind kind, std::uint32_t node, int which) { add(kind, node).extra = which; }
    Event& promise(EventKind kind, std::uint32_t node, std::uint32_t promise, std::uint32_t branch = 0)
    {
        Event& e = add(kind, node);
        e.promise = promise;
        e.branch = branch;
        return e;
    }
    void arg(std::uint32_t promiseId, std::uint32_t branch, std::uint32_t node, std::uint32_t handle)
    {
        promise(EventKind::Arg, node, promiseId, branch).handle = handle;
    }
    void relevance(std::uint32_t node, std::uint32_t handle) { add(EventKind::Relevance, node).handle = handle; }
    void branchRelevance(std::uint32_t promiseId, std::uint32_t branch, std::uint32_t handle)
    {
        Event& e = promise(EventKind::BranchRelevance, base::NodeId::kInvalid, promiseId, branch);
        e.handle = handle;
        e.extra = base::HandleId::kInvalid;
    }
    void rule(std::uint32_t node, double arrived, double handedOn, Cause cause, double amount)
    {
        add(EventKind::Rule, node).extra = static_cast<std::int64_t>(m_run.ledger.size());
        LedgerEntry entry;
        entry.node = node;
        entry.visit = m_visit;
        entry.arrived = arrived;
        entry.handedOn = handedOn;
        entry.magnitude = std::abs(arrived) * 1.3;
        entry.causes[static_cast<std::size_t>(cause)] = amount;
        m_run.ledger.push_back(entry);
    }

private:
    void part(EventKind kind, std::uint32_t node, std::uint32_t slot, std::uint32_t edges, std::uint32_t handle)
    {
        Event& e = add(kind, node);
        e.slot = slot;
        e.extra = edges;
        e.handle = handle;
        e.other = m_current;
    }
    trace::Run& m_run;
    std::uint32_t m_visit = 0;
    std::uint32_t m_current = base::NodeId::kInvalid;
    std::array<Mode, kTinyNodes> m_modes{};
};

constexpr std::uint32_t kNone = base::NodeId::kInvalid;

// From the class score to the Add.
std::uint32_t runHead(Script& script)
{
    const auto start = script.keep(tensorOf({1, 3}, [](std::size_t i) { return i == 0 ? 8.42 : 0.0; }));
    const auto flat = script.keep(tensorOf({1, 4}, [](std::size_t i) { return 2.0 + 0.1 * double(i) - 0.08; }));
    const auto pooled = script.keep(tensorOf({1, 4, 1, 1}, [](std::size_t i) { return 2.0 + 0.1 * double(i) - 0.08; }));
    const auto summed = script.keep(relevanceOf({1, 4, kSide, kSide}, 8.26));
    script.stack(EventKind::Push, kFc, 0);
    script.land(kFc, 0, 1, start);
    script.stack(EventKind::Pop, kFc, 0);
    script.visit(kFc, Mode::Normal);
    script.take(kFc, 0, 1, start);
    script.relevance(kFc, start);
    script.rule(kFc, 8.42, 8.28, Cause::Bias, 0.14);
    script.land(kFlatten, 0, 1, flat);
    script.visit(kFlatten, Mode::Normal);
    script.take(kFlatten, 0, 1, flat);
    script.relevance(kFlatten, flat);
    script.rule(kFlatten, 8.28, 8.28, Cause::Bias, 0);
    script.land(kPool, 0, 1, pooled);
    script.visit(kPool, Mode::Normal);
    script.take(kPool, 0, 1, pooled);
    script.relevance(kPool, pooled);
    script.rule(kPool, 8.28, 8.26, Cause::Stabiliser, 0.02);
    script.land(kAdd, 0, 1, summed);
    return summed;
}

// The Add raises P0; conv2 answers branch 0; relu1 opens P1 and answers branch 1 with it.
std::uint32_t runPromise(Script& script, std::uint32_t summed)
{
    const auto left = script.keep(relevanceOf({1, 4, kSide, kSide}, 5.1));
    const auto right = script.keep(relevanceOf({1, 4, kSide, kSide}, 3.16));
    const auto operand =
        script.keep(tensorOf({1, 4, kSide, kSide}, [](std::size_t i) { return 0.01 * double(i % 97); }));
    script.visit(kAdd, Mode::Normal);
    script.take(kAdd, 0, 1, summed);
    script.relevance(kAdd, summed);
    Event& opened = script.promise(EventKind::NewPromise, kAdd, 0);
    opened.slot = 2;
    opened.flag = 1;
    opened.extra = static_cast<std::int64_t>(PromiseKind::Add);
    script.promise(EventKind::PromiseRelevance, kNone, 0).handle = summed;
    script.landBranch(EventKind::Land, kConv2, 0, 1, 0, 0);
    script.stack(EventKind::Push, kConv2, 0);
    script.landBranch(EventKind::Land, kRelu1, 1, 2, 0, 1);
    script.stack(EventKind::Push, kRelu1, 1);
    script.stack(EventKind::Pop, kConv2, 0);
    script.visit(kConv2, Mode::Normal);
    script.landBranch(EventKind::Take, kConv2, 0, 1, 0, 0);
    script.promise(EventKind::ArgNode, kConv2, 0, 0).extra = kNone;
    script.arg(0, 0, kConv2, operand);
    script.promise(EventKind::Wait, kConv2, 0, 0);
    script.add(EventKind::Enqueue, kConv2).extra = 0;
    script.stack(EventKind::Pop, kRelu1, 1);
    script.visit(kRelu1, Mode::Search);
    Event& nested = script.promise(EventKind::NewPromise, kRelu1, 1);
    nested.slot = 1;
    nested.extra = static_cast<std::int64_t>(PromiseKind::Pre);
    Event& parent = script.promise(EventKind::AddParent, kNone, 1);
    parent.other = 0;
    parent.branch2 = 1;
    parent.slot = 1;
    script.promise(EventKind::ArgNode, kRelu1, 0, 1).extra = kNone;
    script.promise(EventKind::ArgNode, kRelu1, 1, 0).extra = kNone;
    script.arg(1, 0, kRelu1, operand);
    script.promise(EventKind::Ready, kNone, 1);
    script.arg(0, 1, kNone, operand);
    script.promise(EventKind::Ready, kNone, 0);
    script.branchRelevance(0, 0, left);
    script.branchRelevance(0, 1, right);
    script.rule(kAdd, 8.26, 8.26, Cause::Rounding, 0);
    script.promise(EventKind::Complete, kNone, 0);
    script.add(EventKind::Enqueue, kRelu1).extra = 1;
    return left;
}

// conv2 is fulfilled, relu1 gets its last part, the rest is plain.
void runTail(Script& script, std::uint32_t left)
{
    const auto through = script.keep(relevanceOf({1, 4, kSide, kSide}, 5.08));
    const auto both = script.keep(relevanceOf({1, 4, kSide, kSide}, 8.24));
    const auto atConv1 = script.keep(relevanceOf({1, 4, kSide, kSide}, 8.24));
    const auto atImage = script.keep(relevanceOf({1, 3, kSide, kSide}, 8.14));
    script.add(EventKind::Dequeue, kConv2).extra = 0;
    script.visit(kConv2, Mode::Fulfilment);
    script.promise(EventKind::Resume, kConv2, 0, 0);
    script.relevance(kConv2, left);
    script.rule(kConv2, 5.1, 5.08, Cause::Stabiliser, 0.02);
    script.land(kRelu1, 0, 2, through);
    script.add(EventKind::Dequeue, kRelu1).extra = 0;
    script.visit(kRelu1, Mode::Normal);
    script.take(kRelu1, 0, 2, through);
    script.landBranch(EventKind::Take, kRelu1, 1, 2, 0, 1);
    script.promise(EventKind::Open, kRelu1, 1).extra = 1;
    script.promise(EventKind::AddChild, kNone, 0, 1).other = 1;
    script.promise(EventKind::PromiseRelevance, kNone, 1).handle = both;
    script.branchRelevance(1, 0, both);
    script.promise(EventKind::Complete, kNone, 1);
    script.relevance(kRelu1, both);
    script.rule(kRelu1, 8.24, 8.24, Cause::Bias, 0);
    script.land(kConv1, 0, 1, atConv1);
    script.visit(kConv1, Mode::Normal);
    script.take(kConv1, 0, 1, atConv1);
    script.relevance(kConv1, atConv1);
    script.rule(kConv1, 8.24, 8.14, Cause::Bias, 0.1);
    script.land(kImage, 0, 1, atImage);
    script.visit(kImage, Mode::Normal);
    script.take(kImage, 0, 1, atImage);
    script.relevance(kImage, atImage);
    script.add(EventKind::Finished, kNone);
}

void fillShapes(trace::Run& run)
{
    const tensor::Shape wide{1, 4, kSide, kSide};
    run.shapes.resize(run.graph->valueCount());
    for (std::size_t i = 0; i < run.graph->valueCount(); ++i) {
        const graph::Value& value = run.graph->value(base::ValueId(i));
        if (value.kind == graph::ValueKind::Constant) {
            run.shapes[i] = value.constant.shape();
        } else if (value.name == "image") {
            run.shapes[i] = {1, 3, kSide, kSide};
        } else if (value.name == "e") {
            run.shapes[i] = {1, 4, 1, 1};
        } else if (value.name == "f") {
            run.shapes[i] = {1, 4};
        } else if (value.name == "logits") {
            run.shapes[i] = {1, 3};
        } else {
            run.shapes[i] = wide;
        }
    }
}

void fillFacts(trace::Run& run)
{
    run.facts.modelName = "tiny";
    run.facts.composite = "epsilon_plus";
    run.facts.engine = "promise";
    run.facts.save = "autograd";
    run.facts.precision = "float32";
    run.facts.start = "logit";
    run.facts.targetValue = *run.graph->findValue("logits");
    run.facts.targetIndex = {0};
    run.facts.targetLogit = {8.42};
    run.facts.labels = {"mug", "jug", "lamp"};
    run.facts.numbers = {{"relevance_start", 8.42}, {"relevance_inputs", 8.14}};
    for (const graph::Node& node : run.graph->nodes()) {
        const bool isConv = node.op == "Conv";
        run.rules.push_back({isConv ? "z-plus" : "epsilon 1e-06", isConv ? "type Conv" : "any node"});
    }
}

void fillValues(trace::Run& run)
{
    run.values.resize(run.graph->valueCount());
    run.values[run.graph->inputs().front().index()] = tensorOf({1, 3, kSide, kSide}, [](std::size_t i) {
        const auto area = static_cast<std::size_t>(kSide) * kSide;
        return pixel(static_cast<int>(i / area), static_cast<int>(i % kSide), static_cast<int>(i % area / kSide));
    });
    const std::vector<double> logits{8.42, 4.63, 2.93};
    run.values[run.graph->outputs().front().index()] = tensorOf({1, 3}, [&](std::size_t i) { return logits[i]; });
}

} // namespace

views::RunHandle makeTinyRun()
{
    auto run = std::make_shared<trace::Run>();
    run->graph = std::make_shared<const graph::Graph>(makeGraph());
    Script script(*run);
    const std::uint32_t summed = runHead(script);
    const std::uint32_t left = runPromise(script, summed);
    runTail(script, left);
    fillShapes(*run);
    fillFacts(*run);
    fillValues(*run);
    return {run, std::make_shared<trace::Timeline>(tests::made(trace::Timeline::open(run)))};
}

views::RunHandle makeTinyGradientRun()
{
    views::RunHandle handle = makeTinyRun();
    auto run = std::make_shared<trace::Run>(*handle.run);
    for (trace::NodeRule& rule : run->rules) {
        rule = {"gradient", "any node", "linear map"};
    }
    handle.run = run;
    handle.timeline = std::make_shared<trace::Timeline>(trace::Timeline::open(run).value());
    return handle;
}

views::InputInfo makeTinyInput()
{
    views::InputInfo info;
    info.isPicture = true;
    info.fileName = QStringLiteral("jug-tagged.png");
    info.labels = {QStringLiteral("mug"), QStringLiteral("jug"), QStringLiteral("lamp")};
    info.trueClass = QStringLiteral("jug");
    info.tagName = QStringLiteral("tag");
    info.tagBox = QRect(17, 3, 5, 5);
    return info;
}

std::uint64_t endOfVisit(const views::RunModel& model, std::uint32_t visit) { return model.run().endOfVisit(visit); }

} // namespace retro::tests
