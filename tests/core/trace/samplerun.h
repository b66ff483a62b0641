// SPDX-License-Identifier: Apache-2.0
// A run with something in every table of a run file, and a comparison that says what differs.
#pragma once

#include "core/trace/notes.h"
#include "tests/core/trace/scenarios.h"

#include <cmath>

namespace retro::trace::test
{

inline std::shared_ptr<const graph::Graph> decoratedGraph()
{
    graph::GraphBuilder builder("a graph, \"quoted\"", 17);
    builder.setOpset("com.example", 2);
    std::vector<graph::Dimension> open(2);
    open[0].symbol = "N";
    open[1].extent = 4;
    const auto x = builder.addInput("x", tensor::DType::Float32, std::optional(open));
    const auto axes = builder.addConstant("axes", Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{0, 1}));
    const auto weight = builder.addConstant("W", Tensor::zeros(tensor::DType::Float32, {64, 64}));
    const auto h = builder.addResult("h");
    const auto unused = builder.addResult("h/second");
    const auto y = builder.addResult("y");
    builder.declare(y, tensor::DType::Float64, std::nullopt);
    graph::Node first;
    first.op = "Everything";
    first.domain = "com.example";
    first.name = "trunk/first";
    first.scope = "trunk";
    first.opset = 2;
    first.inputs = {x, graph::ValueId(), axes, weight};
    first.outputs = {h, unused};
    first.metadata["pkg.torch.onnx.stack_trace"] = "File \"model.py\", line 31, in forward";
    first.attributes["int"] = std::int64_t{-3};
    first.attributes["float"] = 0.1;
    first.attributes["text"] = std::string("zero\0inside", 11);
    first.attributes["tensor"] = Tensor::of<float>({2, 1}, std::vector<float>{1, -0.0F});
    first.attributes["ints"] = std::vector<std::int64_t>{1, 2, 3};
    first.attributes["floats"] = std::vector<double>{0.5};
    first.attributes["texts"] = std::vector<std::string>{"a", "", "c"};
    builder.addNode(std::move(first));
    graph::Node second;
    second.op = "Relu";
    second.inputs = {h};
    second.outputs = {y};
    second.opset = 17;
    builder.addNode(std::move(second));
    builder.addOutput(y);
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

/// Everything but events, ledger and handles.
inline void decorate(Run& run)
{
    const graph::Graph& graph = *run.graph;
    run.facts.modelName = "model ∑";
    run.facts.composite = "epsilon";
    run.facts.engine = "promise";
    run.facts.save = "autograd";
    run.facts.precision = "float32";
    run.facts.start = "logit";
    run.facts.targetValue = graph.outputs()[0];
    run.facts.targetIndex = {3, -1};
    run.facts.targetLogit = {0.1, -2.5e-300};
    run.facts.numbers = {{"relevance_start", 0.1}, {"seconds_load", 1e-9}, {"minus zero", -0.0}};
    run.facts.labels = {"cat", "", "dog"};
    run.values.resize(graph.valueCount());
    run.values[graph.inputs()[0].index()] = Tensor::full(tensor::DType::Float32, {1, 2}, 0.25);
    run.values[graph.outputs()[0].index()] = Tensor::zeros(tensor::DType::Bool, {0, 3});
    run.rules.resize(graph.nodeCount());
    run.rules[0] = {"epsilon 1e-06", "structure linear map", "linear map"};
    run.shapes.resize(graph.valueCount(), tensor::Shape{1, 2});
    run.shapes[0] = {};
    run.bookmarks = {{0, "start"}, {run.eventCount(), "end"}};
}

inline std::shared_ptr<const Run> sampleRun()
{
    Script script = residual();
    for (std::uint32_t row = 0; row < 4; ++row) {
        event::LedgerEntry entry;
        entry.node = row;
        entry.visit = row;
        entry.arrived = 1.5 + row;
        entry.handedOn = 1.25;
        entry.magnitude = 2;
        entry.causes[0] = 0.25;
        entry.causes[8] = -0.0;
        script.ledger(entry);
    }
    auto run = script.run();
    run->tensors[4] = Tensor();        // dropped
    run->tensors[6] = run->tensors[5]; // shared
    run->handles[7].sum = std::nan("");
    decorate(*run);
    return run;
}

/// The sample run with what files of version 3 know more.
inline std::shared_ptr<const Run> sampleRunWithInput()
{
    auto run = std::make_shared<Run>(*sampleRun());
    run->facts.title = "A model for tests";
    run->facts.scores = "numbers";
    InputFacts& input = run->facts.input.emplace();
    input.kind = "image";
    input.file = "jug.png";
    input.layout = "NHWC";
    input.mean = {0.5, 0.25, -1};
    input.deviation = {0.1};
    input.words = {"a", "", "word"};
    input.trueClass = "jug";
    input.tag = {1, 2, 3, 4};
    return run;
}

/// Notes on that run, one of each subject.
inline std::vector<Note> sampleNotes(const Run& run)
{
    return {{0, NoteSubject::Nothing, 0, "the start"},
            {3, NoteSubject::Node, 1, ""},
            {run.eventCount(), NoteSubject::Value, 2, "line\n∑ | two"},
            {run.eventCount(), NoteSubject::Promise, 0, std::string("zero\0inside", 11)}};
}

inline bool sameBits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

inline bool sameHandle(const HandleInfo& a, const HandleInfo& b)
{
    return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes && sameBits(a.sum, b.sum);
}

inline bool sameRule(const NodeRule& a, const NodeRule& b)
{
    return a.rule == b.rule && a.matcher == b.matcher && a.structure == b.structure;
}

template <class T, class Same>
bool sameAll(const std::vector<T>& a, const std::vector<T>& b, Same&& same)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

template <class T>
bool sameBytes(const std::vector<T>& a, const std::vector<T>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

inline bool sameFacts(const RunFacts& a, const RunFacts& b)
{
    const auto words = [](const RunFacts& f) {
        return std::vector<std::string>{f.kind,      f.modelName, f.composite, f.engine, f.save,
                                        f.precision, f.start,     f.title,     f.scores};
    };
    const auto sameNumber = [](const auto& x, const auto& y) {
        return x.first == y.first && sameBits(x.second, y.second);
    };
    return words(a) == words(b) && a.targetValue == b.targetValue && a.targetIndex == b.targetIndex &&
           sameAll(a.targetLogit, b.targetLogit, sameBits) && a.labels == b.labels && a.input == b.input &&
           std::equal(a.numbers.begin(), a.numbers.end(), b.numbers.begin(), b.numbers.end(), sameNumber);
}

/// Graph as text: everything but constant data.
inline std::string graphText(const graph::Graph& graph)
{
    std::string text = graph.name() + "\n";
    for (const auto& [domain, version] : graph.opsets()) {
        text += fmt::format("opset {}={}\n", domain, version);
    }
    for (const graph::Value& value : graph.values()) {
        text += fmt::format("value {} {} {} {}", value.name, static_cast<int>(value.kind), tensor::nameOf(value.dtype),
                            value.shape ? "shape" : "none");
        for (const graph::Dimension& dimension : value.shape.value_or(std::vector<graph::Dimension>())) {
            text += fmt::format(" {}/{}", dimension.extent.value_or(-1), dimension.symbol);
        }
        text += fmt::format(" from {}.{}\n", value.producer.value, value.producerOutput);
    }
    for (const graph::Node& node : graph.nodes()) {
        text += fmt::format("node {}|{}|{}|{}|{}:", node.op, node.domain, node.name, node.scope, node.opset);
        for (const graph::ValueId id : node.inputs) {
            text += fmt::format(" {}", id.value);
        }
        text += " ->";
        for (const graph::ValueId id : node.outputs) {
            text += fmt::format(" {}", id.value);
        }
        for (const auto& [key, note] : node.metadata) {
            text += fmt::format(" {}: {}", key, note);
        }
        text += "\n";
    }
    for (const graph::ValueId output : graph.outputs()) {
        text += fmt::format("output {}\n", output.value);
    }
    return text;
}

/// Names what differs between two runs; empty when nothing does. Values of constants do not count.
inline std::string difference(const Run& a, const Run& b)
{
    const auto sameTensor = [](const Tensor& x, const Tensor& y) { return x.bitEqual(y); };
    const std::vector<std::pair<std::string, bool>> parts{
        {"graph", graphText(*a.graph) == graphText(*b.graph)},
        {"attributes", graph::structuralHash(*a.graph) == graph::structuralHash(*b.graph)},
        {"facts", sameFacts(a.facts, b.facts)},
        {"events", sameBytes(a.events, b.events)},
        {"ledger", sameBytes(a.ledger, b.ledger)},
        {"visits", a.visitStart == b.visitStart},
        {"handles", sameAll(a.handles, b.handles, sameHandle)},
        {"tensors", sameAll(a.tensors, b.tensors, sameTensor)},
        {"values", sameAll(a.values, b.values, sameTensor)},
        {"rules", sameAll(a.rules, b.rules, sameRule)},
        {"shapes", a.shapes == b.shapes},
        {"bookmarks", a.bookmarks == b.bookmarks}};
    std::string text;
    for (const auto& [name, isSame] : parts) {
        text += isSame ? "" : name + " ";
    }
    return text;
}

} // namespace retro::trace::test
