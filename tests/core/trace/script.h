// SPDX-License-Identifier: Apache-2.0
// Writes runs by hand: a small graph, and events whose "before" fields are filled in from the state so far.
#pragma once

#include "core/graph/graphbuilder.h"
#include "core/trace/delta/consistency.h"
#include "core/trace/recorder.h"
#include "core/trace/runstate.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace retro::trace::test
{

using event::EventKind;
using event::Mode;
using event::PromiseKind;

struct NodeLine
{
    std::string name;
    std::string op;
    std::vector<std::string> operands;
    std::string scope = {};
    std::size_t outputs = 1; ///< output k > 0 of node n is called "n:k"
};

/// Nodes in the given order; inputs are called by name; the last node's first output is the output.
inline std::shared_ptr<const graph::Graph> graphOf(const std::vector<std::string>& inputs,
                                                   const std::vector<NodeLine>& lines)
{
    graph::GraphBuilder builder("test", 17);
    for (const std::string& input : inputs) {
        builder.addInput(input, tensor::DType::Float32, tensor::Shape{1, 2});
    }
    graph::ValueId last;
    for (const NodeLine& line : lines) {
        graph::Node node;
        node.op = line.op;
        node.name = line.name;
        node.scope = line.scope;
        node.opset = 17;
        for (const std::string& operand : line.operands) {
            node.inputs.push_back(builder.find(operand).value());
        }
        for (std::size_t k = 0; k < line.outputs; ++k) {
            node.outputs.push_back(builder.addResult(k == 0 ? line.name : fmt::format("{}:{}", line.name, k)));
        }
        last = node.outputs.front();
        builder.addNode(std::move(node));
    }
    builder.addOutput(last);
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

class Script
{
public:
    /// Handles 0 … handles−1 are float32 tensors of i+1 elements, each of value i.
    Script(std::shared_ptr<const graph::Graph> graph, std::size_t handles)
    {
        m_shadow.graph = std::move(graph);
        for (std::size_t i = 0; i < handles; ++i) {
            const tensor::Shape shape{static_cast<std::int64_t>(i) + 1};
            const Tensor tensor = Tensor::full(tensor::DType::Float32, shape, static_cast<double>(i));
            m_recorder.onTensor(HandleId(i), tensor);
            m_shadow.handles.push_back({tensor.dtype(), tensor.shape(), tensor.bytes(), sumOf(tensor)});
        }
        state = RunState(m_shadow);
    }

    [[nodiscard]] std::uint32_t node(const std::string& name) const
    {
        const graph::Graph& graph = *m_shadow.graph;
        if (const auto found = graph.findNode(name)) {
            return found->value;
        }
        return graph.inputNode(graph.findValue(name).value()).value;
    }

    void send(const Event& event)
    {
        if (const char* reason = delta::contradiction(event, state, m_shadow)) {
            std::cerr << "event " << count << " (" << nameOf(event.kind) << "): " << reason << std::endl;
            std::abort();
        }
        state.apply(event, m_shadow, count++);
        m_recorder.onEvent(event);
    }

    void visit(Mode mode, const std::string& name)
    {
        Event e = make(EventKind::Visit, name);
        e.visit = state.current.isValid() ? state.visit + 1 : 0;
        e.mode = mode;
        e.extra = static_cast<std::int64_t>(state.nodes[e.node].lastMode);
        e.other = state.current.value;
        send(e);
    }
    void push(const std::string& name, int stack = 0) { sendExtra(EventKind::Push, name, stack); }
    void pop(const std::string& name, int stack = 0) { sendExtra(EventKind::Pop, name, stack); }
    void enqueue(const std::string& name) { sendExtra(EventKind::Enqueue, name, m_enqueued++); }
    void dequeue(const std::string& name, int position) { sendExtra(EventKind::Dequeue, name, position); }
    /// A tensor lands.
    void land(const std::string& name, std::uint32_t slot, std::uint32_t of, std::uint32_t handle,
              const std::string& from = {})
    {
        Event e = part(EventKind::Land, name, slot, of, from);
        e.handle = handle;
        send(e);
    }
    void landBranch(const std::string& name, std::uint32_t slot, std::uint32_t of, std::uint32_t promise,
                    std::uint32_t branch, const std::string& from)
    {
        Event e = part(EventKind::Land, name, slot, of, from);
        e.promise = promise;
        e.branch = branch;
        send(e);
    }
    /// Takes whatever lies in the slot.
    void take(const std::string& name, std::uint32_t slot)
    {
        const NodeState& at = state.nodes[node(name)];
        Event e = part(EventKind::Take, name, slot, static_cast<std::uint32_t>(at.parts.size()), {});
        e.handle = at.parts[slot].handle.value;
        e.promise = at.parts[slot].branch.promise.value;
        e.branch = at.parts[slot].branch.branch;
        send(e);
    }
    std::uint32_t newPromise(PromiseKind kind, const std::string& name, std::uint32_t branches, bool isOpen = true)
    {
        Event e = make(EventKind::NewPromise, name);
        e.promise = static_cast<std::uint32_t>(state.promises.size());
        e.slot = branches;
        e.flag = isOpen ? 1 : 0;
        e.extra = static_cast<std::int64_t>(kind);
        send(e);
        return e.promise;
    }
    void addParent(std::uint32_t promise, std::uint32_t other, std::uint32_t branch2, std::uint32_t slot = 0)
    {
        Event e = of(EventKind::AddParent, promise, 0);
        e.slot = slot;
        e.other = other;
        e.branch2 = branch2;
        send(e);
    }
    void addChild(std::uint32_t promise, std::uint32_t branch, std::uint32_t child)
    {
        Event e = of(EventKind::AddChild, promise, branch);
        e.other = child;
        send(e);
    }
    void record(std::uint32_t promise, std::uint32_t branch, const std::string& name)
    {
        Event e = of(EventKind::Record, promise, branch);
        e.node = node(name);
        send(e);
    }
    void argNode(std::uint32_t promise, std::uint32_t branch, const std::string& name)
    {
        Event e = of(EventKind::ArgNode, promise, branch);
        e.node = node(name);
        e.extra = state.promises[promise].branches[branch].argNode.value;
        send(e);
    }
    void arg(std::uint32_t promise, std::uint32_t branch, std::uint32_t handle, const std::string& name = {})
    {
        Event e = of(EventKind::Arg, promise, branch);
        e.node = name.empty() ? NodeId::kInvalid : node(name);
        e.handle = handle;
        send(e);
    }
    void ready(std::uint32_t promise) { send(of(EventKind::Ready, promise, 0)); }
    void open(std::uint32_t promise) { send(of(EventKind::Open, promise, 0)); }
    void complete(std::uint32_t promise) { send(of(EventKind::Complete, promise, 0)); }
    void promiseRelevance(std::uint32_t promise, std::uint32_t handle, std::uint32_t output = 0)
    {
        Event e = of(EventKind::PromiseRelevance, promise, 0);
        e.slot = output;
        e.handle = handle;
        send(e);
    }
    void branchRelevance(std::uint32_t promise, std::uint32_t branch, std::uint32_t handle)
    {
        Event e = of(EventKind::BranchRelevance, promise, branch);
        e.handle = handle;
        e.extra = state.promises[promise].branches[branch].relevance.value;
        send(e);
    }
    void wait(const std::string& name, std::uint32_t promise, std::uint32_t branch)
    {
        Event e = of(EventKind::Wait, promise, branch);
        e.node = node(name);
        send(e);
    }
    void resume(const std::string& name)
    {
        Event e = make(EventKind::Resume, name);
        e.promise = state.nodes[e.node].waitsFor.promise.value;
        e.branch = state.nodes[e.node].waitsFor.branch;
        send(e);
    }
    /// A visit of a node from the stack that takes its only part.
    void visitNext(const std::string& name)
    {
        visit(Mode::Normal, name);
        pop(name);
        take(name, 0);
    }
    /// visitNext(), and the part is all of the relevance.
    void visitNext(const std::string& name, std::uint32_t handle)
    {
        visitNext(name);
        relevance(name, handle);
    }
    void relevance(const std::string& name, std::uint32_t handle, std::uint32_t output = 0)
    {
        Event e = make(EventKind::Relevance, name);
        e.slot = output;
        e.handle = handle;
        send(e);
    }
    void rule(const std::string& name, std::uint32_t promise = PromiseId::kInvalid)
    {
        Event e = make(EventKind::Rule, name);
        e.promise = promise;
        e.extra = state.ledgerRows;
        send(e);
    }
    void finished() { send(of(EventKind::Finished, PromiseId::kInvalid, 0)); }
    void ledger(const event::LedgerEntry& entry) { m_recorder.onLedger(entry); }

    /// Ends the script.
    [[nodiscard]] std::shared_ptr<Run> run()
    {
        auto run = std::make_shared<Run>(std::move(m_recorder).take());
        run->graph = m_shadow.graph;
        return run;
    }

    RunState state;
    std::uint64_t count = 0;

private:
    [[nodiscard]] Event make(EventKind kind, const std::string& name) const
    {
        Event e;
        e.kind = kind;
        e.visit = state.visit;
        e.node = name.empty() ? NodeId::kInvalid : node(name);
        return e;
    }
    [[nodiscard]] Event of(EventKind kind, std::uint32_t promise, std::uint32_t branch) const
    {
        Event e = make(kind, {});
        e.promise = promise;
        e.branch = branch;
        return e;
    }
    [[nodiscard]] Event part(EventKind kind, const std::string& name, std::uint32_t slot, std::uint32_t inEdges,
                             const std::string& from) const
    {
        Event e = make(kind, name);
        e.slot = slot;
        e.extra = inEdges;
        e.other = from.empty() ? NodeId::kInvalid : node(from);
        return e;
    }
    void sendExtra(EventKind kind, const std::string& name, std::int64_t extra)
    {
        Event e = make(kind, name);
        e.extra = extra;
        send(e);
    }

    Run m_shadow; // graph and handles, for the state
    Recorder m_recorder;
    std::int64_t m_enqueued = 0;
};

} // namespace retro::trace::test
