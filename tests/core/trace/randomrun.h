// SPDX-License-Identifier: Apache-2.0
// Long random runs whose events are consistent with each other and otherwise mean nothing.
#pragma once

#include "tests/core/trace/script.h"

#include <fmt/format.h>

#include <random>

namespace retro::trace::test
{

class RandomRun
{
public:
    explicit RandomRun(unsigned seed) : m_random(seed)
    {
        std::vector<NodeLine> lines;
        for (int i = 0; i < 24; ++i) {
            lines.push_back({fmt::format("n{}", i),
                             i % 3 == 0 ? "Split" : "Add",
                             {anyValue(i), anyValue(i)},
                             "",
                             i % 3 == 0 ? std::size_t{2} : std::size_t{1}});
        }
        m_run.graph = graphOf({"x", "u"}, lines);
        for (std::size_t i = 0; i < 40; ++i) {
            m_run.handles.push_back({tensor::DType::Float32,
                                     {static_cast<std::int64_t>(i)},
                                     static_cast<std::int64_t>(4 * i),
                                     static_cast<double>(i)});
        }
        m_run.tensors.resize(m_run.handles.size());
        m_state = RunState(m_run);
        m_state.planned.resize(2 * m_run.graph->valueCount()); // events of a plan are to come
    }

    /// `count` events and a last one that ends the run.
    std::shared_ptr<const Run> make(std::size_t count)
    {
        while (m_run.events.size() < count) {
            add(candidate());
        }
        Event end;
        end.kind = EventKind::Finished;
        add(end);
        return std::make_shared<const Run>(m_run);
    }

private:
    std::uint32_t below(std::size_t count) { return count == 0 ? 0 : static_cast<std::uint32_t>(m_random() % count); }

    std::string anyValue(int before)
    {
        const std::uint32_t at = below(static_cast<std::size_t>(before) + 2);
        return at < 2 ? std::string(at == 0 ? "x" : "u") : fmt::format("n{}", at - 2);
    }

    /// An event that may be possible now; most fields are random, fields that say what was there before are right.
    Event candidate()
    {
        Event e;
        const auto kind = below(retro::event::kEventKindCount - 3);
        const auto isOfPass = kind < static_cast<std::uint32_t>(EventKind::Finished);
        e.kind = static_cast<EventKind>(isOfPass ? kind : kind + 2); // neither the end nor launches and their buffers
        e.visit = m_state.current.isValid() ? m_state.visit : 0;
        e.node = below(m_state.nodes.size());
        e.handle = below(m_run.handles.size());
        e.promise = below(m_state.promises.size());
        e.other = below(m_state.promises.size());
        e.branch = below(2);
        e.branch2 = below(2);
        e.slot = below(3);
        e.extra = below(4);
        fit(e);
        return e;
    }

    /// Of a planner or a plan: a value of the node, in memory or not as the event wants it.
    void fitPlan(Event& e)
    {
        const auto outputs = m_run.graph->outputsOf(NodeId(e.node));
        e.other = outputs[below(outputs.size())].value;
        e.flag = static_cast<std::uint8_t>(below(2));
        e.promise = PromiseId::kInvalid;
        e.extra = e.kind == EventKind::Recompute ? below(2) : below(1000);
        const HandleId there = m_state.planned[m_state.plannedSlot(e.other, e.flag == 1)].handle;
        e.handle = there.isValid() ? there.value : e.handle;
        if (e.kind == EventKind::Candidate) {
            e.slot = m_state.plan.tries;
            e.other = m_state.plan.best;
            e.flag = static_cast<std::uint8_t>(below(8));
        }
    }

    void fit(Event& e)
    {
        if (e.kind >= EventKind::Candidate) {
            fitPlan(e);
            return;
        }
        const NodeState& node = m_state.nodes[e.node];
        switch (e.kind) {
        case EventKind::Visit:
            e.visit = m_state.current.isValid() ? m_state.visit + 1 : 0;
            e.mode = static_cast<Mode>(1 + below(3));
            e.extra = static_cast<std::int64_t>(node.lastMode);
            e.other = m_state.current.value;
            break;
        case EventKind::Pop:
            e.extra = below(2);
            e.node = top(e.extra == 0 ? m_state.normalStack : m_state.searchStack);
            break;
        case EventKind::Dequeue:
            e.extra = below(m_state.queue.size());
            e.node = m_state.queue.empty() ? e.node : m_state.queue[static_cast<std::size_t>(e.extra)].value;
            break;
        case EventKind::Land:
            e.extra = node.landed > 0 ? static_cast<std::int64_t>(node.parts.size()) : 1 + below(4);
            e.promise = below(2) == 0 ? PromiseId::kInvalid : e.promise;
            e.other = below(m_state.nodes.size());
            break;
        case EventKind::Take:
            fitTake(e, node);
            break;
        case EventKind::NewPromise:
            e.promise = static_cast<std::uint32_t>(m_state.promises.size());
            e.slot = 1 + below(2);
            e.extra = below(11);
            e.flag = static_cast<std::uint8_t>(below(2));
            break;
        case EventKind::Resume:
            e.promise = node.waitsFor.promise.value;
            e.branch = node.waitsFor.branch;
            break;
        case EventKind::Rule:
            e.extra = m_state.ledgerRows;
            e.promise = PromiseId::kInvalid;
            break;
        default:
            fitBefore(e);
        }
    }

    void fitTake(Event& e, const NodeState& node)
    {
        e.slot = below(node.parts.size());
        e.other = NodeId::kInvalid;
        if (e.slot < node.parts.size()) {
            e.handle = node.parts[e.slot].handle.value;
            e.promise = node.parts[e.slot].branch.promise.value;
            e.branch = node.parts[e.slot].branch.branch;
        }
    }

    void fitBefore(Event& e)
    {
        if (e.promise >= m_state.promises.size() || e.branch >= m_state.promises[e.promise].branches.size()) {
            return;
        }
        const BranchState& branch = m_state.promises[e.promise].branches[e.branch];
        if (e.kind == EventKind::ArgNode) {
            e.extra = branch.argNode.value;
        } else if (e.kind == EventKind::BranchRelevance) {
            e.extra = branch.relevance.value;
        }
    }

    static std::uint32_t top(const std::vector<NodeId>& stack) { return stack.empty() ? 0 : stack.back().value; }

    void add(const Event& e)
    {
        if (delta::contradiction(e, m_state, m_run) != nullptr) {
            return;
        }
        m_state.apply(e, m_run, m_run.events.size());
        m_run.events.push_back(e);
        if (e.kind == EventKind::Visit) {
            m_run.visitStart.push_back(firstEventOfPick(m_run.events, m_run.events.size() - 1));
        }
    }

    std::mt19937 m_random;
    Run m_run;
    RunState m_state;
};

} // namespace retro::trace::test
