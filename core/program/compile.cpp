// SPDX-License-Identifier: Apache-2.0
#include "core/program/compile.h"

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/program/firstpass.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <span>
#include <unordered_map>
#include <vector>

namespace retro::program
{

namespace
{

/// Where an operand's relevance goes: in-edge `inEdge` of `child`. Child invalid: the operand takes none.
struct WiredSlot
{
    NodeId child;
    std::uint32_t inEdge = 0;
};

/// The virtual in-edge of an explained output.
struct WiredRoot
{
    NodeId node;
    std::uint32_t inEdge = 0;
    std::uint32_t output = 0;
};

/// An in-edge of a node: operand slot `slot` of `consumer` reads output `output`. Consumer invalid: the virtual edge of
/// the root, or (isThere false) an edge along which nothing landed.
struct WiredEdge
{
    NodeId consumer;
    std::uint32_t slot = 0;
    std::uint32_t output = 0;
    bool isThere = false;
    bool isJoined = false; ///< its part is first added to that of the edge before it
};

/// The part of the graph that relevance went through, as the parts that landed tell it: slots, in-edges in their order,
/// and the post-order of a depth-first walk from the roots (docs/traversal.md, section 1.1).
class Wiring
{
public:
    /// Errors (Input): parts that contradict the graph or each other.
    [[nodiscard]] static base::Result<Wiring> build(const FirstPass& pass, const graph::Graph& graph,
                                                    std::span<const ValueId> targets);

    /// One per explained value, in order.
    [[nodiscard]] const std::vector<WiredRoot>& roots() const { return m_roots; }
    /// By operand slot; empty for inputs and nodes that sent nothing.
    [[nodiscard]] const std::vector<WiredSlot>& slots(NodeId node) const { return m_slots[node.index()]; }
    [[nodiscard]] const std::vector<WiredEdge>& inEdges(NodeId node) const { return m_inEdges[node.index()]; }
    /// Nodes that relevance reached, leaves first.
    [[nodiscard]] const std::vector<NodeId>& postOrder() const { return m_postOrder; }
    [[nodiscard]] bool contains(NodeId node) const { return m_topo[node.index()] != kUnreached; }
    /// Position in postOrder().
    [[nodiscard]] std::uint32_t topo(NodeId node) const { return m_topo[node.index()]; }

private:
    static constexpr std::uint32_t kUnreached = 0xffffffffU;

    explicit Wiring(std::size_t nodes) : m_slots(nodes), m_inEdges(nodes), m_topo(nodes, kUnreached) {}
    [[nodiscard]] bool start(const LandedPart& part, const graph::Graph& graph, std::span<const ValueId> targets);
    [[nodiscard]] bool land(const LandedPart& part, const graph::Graph& graph);
    [[nodiscard]] bool put(NodeId child, std::uint32_t inEdge, const WiredEdge& edge);
    void number();
    void walkFrom(NodeId root, std::vector<bool>& seen);

    std::vector<WiredRoot> m_roots;
    std::vector<std::vector<WiredSlot>> m_slots;
    std::vector<std::vector<WiredEdge>> m_inEdges;
    std::vector<std::uint32_t> m_topo;
    std::size_t m_mostEdges = 0; // that any node can have
    std::vector<NodeId> m_postOrder;
};

/// Tokens land at the input that they are, past the shape maps and casts in between: their in-edge reads its only
/// output.
bool isTokensOf(const graph::Graph& graph, ValueId operand, NodeId child)
{
    return graph.isInput(child) && graph.value(operand).kind == graph::ValueKind::Result;
}

/// A node that takes relevance in the walk, and the slot that comes next.
struct Step
{
    NodeId node;
    std::size_t nextSlot = 0;
};

base::Result<Wiring> Wiring::build(const FirstPass& pass, const graph::Graph& graph, std::span<const ValueId> targets)
{
    Wiring wiring(graph.runNodeCount());
    wiring.m_mostEdges = pass.landed().size();
    for (const LandedPart& part : pass.landed()) {
        if (part.consumer.isValid() ? !wiring.land(part, graph) : !wiring.start(part, graph, targets)) {
            return base::inputError("its events do not tell through which operand each part came: it was recorded "
                                    "before runs kept that; record it again");
        }
    }
    if (wiring.m_roots.empty() || wiring.m_roots.size() != targets.size()) {
        return base::inputError("its events do not start at the explained value");
    }
    wiring.number();
    return wiring;
}

/// Start relevances land in the order of the explained values.
bool Wiring::start(const LandedPart& part, const graph::Graph& graph, std::span<const ValueId> targets)
{
    const std::size_t i = m_roots.size();
    if (i >= targets.size() || targets[i].index() >= graph.valueCount() || graph.nodeOf(targets[i]) != part.child) {
        return false;
    }
    m_roots.push_back({part.child, part.inEdge, graph.value(targets[i]).producerOutput});
    return put(part.child, part.inEdge, {NodeId(), 0, m_roots.back().output, true});
}

/// False when the part cannot have come this way.
bool Wiring::land(const LandedPart& part, const graph::Graph& graph)
{
    if (part.consumer.index() >= graph.nodeCount() || part.slot >= graph.node(part.consumer).inputs.size()) {
        return false;
    }
    const ValueId operand = graph.node(part.consumer).inputs[part.slot];
    const bool isOwn = operand.isValid() && graph.nodeOf(operand) == part.child;
    if (!operand.isValid() || (!isOwn && !isTokensOf(graph, operand, part.child))) {
        return false;
    }
    std::vector<WiredSlot>& slots = m_slots[part.consumer.index()];
    slots.resize(graph.node(part.consumer).inputs.size());
    if (slots[part.slot].child.isValid()) {
        return false;
    }
    slots[part.slot] = {part.child, part.inEdge};
    const std::uint32_t output = isOwn ? graph.value(operand).producerOutput : 0;
    return put(part.child, part.inEdge, {part.consumer, part.slot, output, true, part.isJoined});
}

bool Wiring::put(NodeId child, std::uint32_t inEdge, const WiredEdge& edge)
{
    std::vector<WiredEdge>& edges = m_inEdges[child.index()];
    if (inEdge >= m_mostEdges || (inEdge < edges.size() && edges[inEdge].isThere)) {
        return false;
    }
    if (edges.size() <= inEdge) {
        edges.resize(inEdge + 1);
    }
    edges[inEdge] = edge;
    return true;
}

/// The walk starts at the roots in order, each unless an earlier one led to it.
void Wiring::number()
{
    std::vector<bool> seen(m_slots.size(), false);
    for (const WiredRoot& root : m_roots) {
        if (!seen[root.node.index()]) {
            walkFrom(root.node, seen);
        }
    }
}

void Wiring::walkFrom(NodeId root, std::vector<bool>& seen)
{
    std::vector<Step> stack{{root, 0}};
    seen[root.index()] = true;
    while (!stack.empty()) {
        Step& top = stack.back();
        const std::vector<WiredSlot>& slots = m_slots[top.node.index()];
        if (top.nextSlot == slots.size()) {
            m_topo[top.node.index()] = static_cast<std::uint32_t>(m_postOrder.size());
            m_postOrder.push_back(top.node);
            stack.pop_back();
            continue;
        }
        const NodeId child = slots[top.nextSlot++].child;
        if (child.isValid() && !seen[child.index()]) {
            seen[child.index()] = true;
            stack.push_back({child, 0});
        }
    }
}

using base::Result;

base::Error notWhole(const graph::Graph& graph, NodeId node)
{
    return base::inputError("the events do not make up a whole relevance pass, so there is no program of it",
                            "node '" + graph.labelOf(node) + "'");
}

class Compiler
{
public:
    Compiler(const FirstPass& pass, const graph::Graph& graph, const Wiring& wiring)
        : m_pass(pass), m_graph(graph), m_wiring(wiring), m_arguments(pass.promises().size()),
          m_parts(graph.runNodeCount())
    {
        for (const NodeId node : wiring.postOrder()) {
            m_parts[node.index()].resize(wiring.inEdges(node).size());
        }
    }

    Result<Program> run(base::Hash128 key)
    {
        m_program.key = key;
        m_program.starts = static_cast<std::uint32_t>(m_wiring.roots().size());
        m_program.promises = static_cast<std::uint32_t>(m_pass.promises().size());
        RETRO_CHECK(makeArguments());
        m_program.argsEnd = static_cast<InstructionIndex>(m_program.instructions.size());
        RETRO_CHECK(makeRelevance());
        findLastUses();
        return std::move(m_program);
    }

private:
    // ARGS

    Result<void> makeArguments()
    {
        const std::vector<RaisedPromise>& promises = m_pass.promises();
        for (const RaisedPromise& promise : promises) {
            for (const SearchedBranch& search : promise.branches) {
                if (search.feeds.isValid()) {
                    m_isAsked.resize(promises.size(), false);
                    m_isAsked[search.feeds.index()] = true;
                }
            }
        }
        m_isAsked.resize(promises.size(), false);
        RETRO_TRY(const std::vector<std::uint32_t> order, promisesByStart());
        for (const std::uint32_t id : order) {
            RETRO_CHECK(makeArguments(PromiseId(id)));
        }
        return {};
    }

    /// A promise at the same start as the one that it answers came later.
    Result<std::vector<std::uint32_t>> promisesByStart() const
    {
        const std::vector<RaisedPromise>& promises = m_pass.promises();
        std::vector<std::uint32_t> order(promises.size());
        std::iota(order.begin(), order.end(), 0U);
        for (const RaisedPromise& promise : promises) {
            if (!m_wiring.contains(promise.start)) {
                return notWhole(m_graph, promise.start);
            }
        }
        std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
            const std::uint32_t left = m_wiring.topo(promises[a].start);
            const std::uint32_t right = m_wiring.topo(promises[b].start);
            return left != right ? left < right : a > b;
        });
        return order;
    }

    Result<void> makeArguments(PromiseId id)
    {
        const RaisedPromise& promise = m_pass.promises()[id.index()];
        std::vector<BufferId>& arguments = m_arguments[id.index()];
        arguments.resize(promise.branches.size());
        for (std::size_t i = 0; i < promise.branches.size(); ++i) {
            const SearchedBranch& search = promise.branches[i];
            if (!search.isAnswered) {
                continue; // a pass that stopped early
            }
            m_label = {id, static_cast<std::uint32_t>(i)};
            RETRO_TRY(BufferId value, whereItEnded(promise, search));
            for (const NodeId crossed : std::views::reverse(search.path)) {
                value = carry(crossed, value);
            }
            arguments[i] = value;
        }
        if (m_isAsked[id.index()] && promise.splits(m_pass.promises())) {
            m_label = {id, 0};
            return forward(id);
        }
        return {};
    }

    Result<BufferId> whereItEnded(const RaisedPromise& promise, const SearchedBranch& search)
    {
        if (search.feeds.isValid()) {
            return answerOf(search.feeds, search.feedsOutput);
        }
        if (search.foundAt.isValid()) {
            const bool isRead = m_wiring.contains(search.foundAt) && !m_wiring.inEdges(search.foundAt).empty();
            return isRead ? Result<BufferId>(fetch(search.foundAt, m_wiring.inEdges(search.foundAt).front().output))
                          : Result<BufferId>(notWhole(m_graph, search.foundAt));
        }
        if (m_graph.isInput(promise.start) || search.operandSlot >= m_graph.node(promise.start).inputs.size()) {
            return notWhole(m_graph, promise.start);
        }
        return constant(promise.start, search.operandSlot);
    }

    Result<BufferId> answerOf(PromiseId id, std::uint32_t output)
    {
        const RaisedPromise& asked = m_pass.promises()[id.index()];
        const std::vector<BufferId>& arguments = m_arguments[id.index()];
        const BufferId found = asked.splits(m_pass.promises()) ? valueOf(asked.start, output)
                               : arguments.empty()             ? BufferId()
                                                               : arguments.front();
        return found.isValid() ? Result<BufferId>(found) : Result<BufferId>(notWhole(m_graph, asked.start));
    }

    BufferId fetch(NodeId node, std::uint32_t output)
    {
        const BufferId known = valueOf(node, output);
        return known.isValid() ? known : emitValue(Opcode::Fetch, node, output, {}, output);
    }

    BufferId constant(NodeId node, std::uint32_t slot)
    {
        const BufferId made = newBuffer({Buffer::Kind::Operand, node, slot});
        emit(Opcode::Constant, node, slot, {}, {&made, 1});
        return made;
    }

    BufferId carry(NodeId node, BufferId operand)
    {
        const BufferId known = valueOf(node, 0);
        return known.isValid() ? known : emitValue(Opcode::Carry, node, trackedSlot(node), {&operand, 1}, 0);
    }

    Result<void> forward(PromiseId id)
    {
        const RaisedPromise& promise = m_pass.promises()[id.index()];
        const NodeId start = promise.start;
        if (m_graph.isInput(start)) {
            return notWhole(m_graph, start); // nothing to compute it from
        }
        std::vector<BufferId> operands(m_graph.node(start).inputs.size());
        for (std::size_t i = 0; i < promise.branches.size(); ++i) {
            const std::uint32_t slot = promise.branches[i].operandSlot;
            if (!promise.branches[i].isAnswered) {
                return {}; // a pass that stopped early: nobody was answered either
            }
            if (slot >= operands.size() || operands[slot].isValid()) {
                return notWhole(m_graph, start);
            }
            operands[slot] = m_arguments[id.index()][i];
        }
        std::vector<BufferId> made(m_graph.node(start).outputs.size());
        for (const WiredEdge& edge : m_wiring.inEdges(start)) {
            if (edge.isThere && edge.output < made.size() && !made[edge.output].isValid() &&
                !valueOf(start, edge.output).isValid()) {
                made[edge.output] = newBuffer({Buffer::Kind::Value, start, edge.output});
                m_values.emplace(keyOf(start, edge.output), made[edge.output]);
            }
        }
        emit(Opcode::Forward, start, 0, operands, made);
        return {};
    }

    // REL

    Result<void> makeRelevance()
    {
        m_label = {};
        for (std::uint32_t i = 0; i < m_program.starts; ++i) {
            const WiredRoot& root = m_wiring.roots()[i];
            const BufferId start = newBuffer({Buffer::Kind::Relevance, root.node, root.output});
            emit(Opcode::Start, root.node, i, {}, {&start, 1});
            m_parts[root.node.index()][root.inEdge] = start;
        }
        for (const NodeId node : std::views::reverse(m_wiring.postOrder())) {
            if (m_pass.isKnown(node)) {
                RETRO_CHECK(visit(node));
            }
        }
        return {};
    }

    Result<void> visit(NodeId node)
    {
        ++m_program.nodes;
        m_label = {};
        const std::size_t outputs = m_graph.outputsOf(node).size();
        std::vector<BufferId> relevance;
        for (std::uint32_t k = 0; k < outputs; ++k) {
            RETRO_TRY(const BufferId whole, sum(node, k));
            relevance.push_back(whole);
            if (whole.isValid()) {
                m_program.buffers[whole.index()].isResult = true;
                m_program.results.push_back({node, k, whole});
            }
            if (whole.isValid() && m_pass.isSnapshot(node, k)) {
                emit(Opcode::Snapshot, node, k, {&whole, 1}, {});
            }
        }
        return m_pass.isRuleApplied(node) ? applyRule(node, std::move(relevance)) : Result<void>();
    }

    /// Relevance of an output; invalid when nothing reads it.
    Result<BufferId> sum(NodeId node, std::uint32_t output)
    {
        std::vector<BufferId> parts;
        const std::vector<WiredEdge>& edges = m_wiring.inEdges(node);
        for (std::size_t i = 0; i < edges.size(); ++i) {
            if (!edges[i].isThere || !m_parts[node.index()][i].isValid()) {
                return notWhole(m_graph, node);
            }
            if (edges[i].output == output) {
                parts.push_back(m_parts[node.index()][i]);
                m_program.buffers[parts.back().index()].isJoined = edges[i].isJoined;
            }
        }
        if (parts.size() < 2) {
            return parts.empty() ? BufferId() : parts.front();
        }
        const BufferId whole = newBuffer({Buffer::Kind::Relevance, node, output});
        emit(Opcode::Sum, node, output, parts, {&whole, 1});
        return whole;
    }

    Result<void> applyRule(NodeId node, std::vector<BufferId> reads)
    {
        if (m_graph.isInput(node)) {
            return notWhole(m_graph, node); // an input has no rule
        }
        const std::size_t slots = m_graph.node(node).inputs.size();
        const std::size_t outputs = reads.size();
        reads.resize(outputs + slots);
        const PromiseId by = m_pass.ruleBy(node);
        if (by.isValid() && m_pass.promises()[by.index()].start == node &&
            m_pass.promises()[by.index()].splits(m_pass.promises())) {
            m_label = {by, 0};
            RETRO_CHECK(takeArguments(by, std::span(reads).subspan(outputs)));
        }
        std::vector<BufferId> parts(slots);
        for (std::size_t slot = 0; slot < m_wiring.slots(node).size(); ++slot) {
            const WiredSlot& wired = m_wiring.slots(node)[slot];
            if (wired.child.isValid()) {
                parts[slot] = newBuffer({Buffer::Kind::Relevance, node, static_cast<std::uint32_t>(slot)});
                m_parts[wired.child.index()][wired.inEdge] = parts[slot];
            }
        }
        emit(Opcode::Rule, node, 0, reads, parts);
        m_program.instructions.back().outputs = static_cast<std::uint32_t>(outputs);
        return {};
    }

    Result<void> takeArguments(PromiseId id, std::span<BufferId> operands) const
    {
        const RaisedPromise& promise = m_pass.promises()[id.index()];
        for (std::size_t i = 0; i < promise.branches.size(); ++i) {
            const std::uint32_t slot = promise.branches[i].operandSlot;
            if (slot >= operands.size() || operands[slot].isValid() || !promise.branches[i].isAnswered) {
                return notWhole(m_graph, promise.start);
            }
            operands[slot] = m_arguments[id.index()][i];
        }
        return {};
    }

    // Both

    struct Label
    {
        PromiseId promise;
        std::uint32_t branch = 0;
    };

    static std::uint64_t keyOf(NodeId node, std::uint32_t output)
    {
        return (static_cast<std::uint64_t>(node.value) << 32U) | output;
    }

    [[nodiscard]] BufferId valueOf(NodeId node, std::uint32_t output) const
    {
        const auto at = m_values.find(keyOf(node, output));
        return at == m_values.end() ? BufferId() : at->second;
    }

    [[nodiscard]] std::uint32_t trackedSlot(NodeId node) const
    {
        const std::vector<WiredSlot>& slots = m_wiring.slots(node);
        std::uint32_t slot = 0;
        while (slot < slots.size() && !slots[slot].child.isValid()) {
            ++slot;
        }
        return slot;
    }

    BufferId emitValue(Opcode opcode, NodeId node, std::uint32_t item, std::span<const BufferId> reads,
                       std::uint32_t output)
    {
        const BufferId made = newBuffer({Buffer::Kind::Value, node, output});
        m_values.emplace(keyOf(node, output), made);
        emit(opcode, node, item, reads, {&made, 1});
        return made;
    }

    BufferId newBuffer(Buffer buffer)
    {
        const BufferId id{m_program.buffers.size()};
        m_program.buffers.push_back(buffer);
        return id;
    }

    void emit(Opcode opcode, NodeId node, std::uint32_t item, std::span<const BufferId> reads,
              std::span<const BufferId> writes)
    {
        Instruction step;
        step.opcode = opcode;
        step.node = node;
        step.item = item;
        step.promise = m_label.promise;
        step.branch = m_label.branch;
        step.firstRead = static_cast<std::uint32_t>(m_program.reads.size());
        step.readCount = static_cast<std::uint32_t>(reads.size());
        step.firstWrite = static_cast<std::uint32_t>(m_program.writes.size());
        step.writeCount = static_cast<std::uint32_t>(writes.size());
        m_program.reads.insert(m_program.reads.end(), reads.begin(), reads.end());
        m_program.writes.insert(m_program.writes.end(), writes.begin(), writes.end());
        for (const BufferId made : writes) {
            if (made.isValid()) {
                m_program.buffers[made.index()].madeBy = static_cast<InstructionIndex>(m_program.instructions.size());
            }
        }
        m_program.instructions.push_back(step);
    }

    void findLastUses()
    {
        for (std::size_t i = 0; i < m_program.instructions.size(); ++i) {
            for (const BufferId read : m_program.readsOf(m_program.instructions[i])) {
                if (read.isValid()) {
                    m_program.buffers[read.index()].lastUse = static_cast<InstructionIndex>(i);
                }
            }
        }
    }

    const FirstPass& m_pass;
    const graph::Graph& m_graph;
    const Wiring& m_wiring;
    Program m_program;
    Label m_label;
    std::vector<bool> m_isAsked;                          // by promise: another one asks for its value
    std::vector<std::vector<BufferId>> m_arguments;       // by promise and branch
    std::vector<std::vector<BufferId>> m_parts;           // by node and in-edge
    std::unordered_map<std::uint64_t, BufferId> m_values; // forward values that are made, by node and output
};

} // namespace

Result<Program> compile(const FirstPass& pass, const graph::Graph& graph, std::span<const ValueId> targets,
                        base::Hash128 key)
{
    if (!pass.isFinished()) {
        return base::inputError("the relevance pass did not end, so there is no program of it");
    }
    RETRO_TRY(const Wiring wiring, Wiring::build(pass, graph, targets));
    return Compiler(pass, graph, wiring).run(key);
}

} // namespace retro::program
