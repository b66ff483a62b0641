// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elements.h"
#include "core/rewrite/passes.h"
#include "core/rewrite/recognise/cone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

/// Cells of recurrent networks whose steps are written out: LSTM and GRU. A product with a gate becomes Gate, which is
/// what it is in the steps of the operators; all other steps are the same already. Cells are told by what their values
/// are bounded by: a gate comes from a logistic function, a candidate from another activation.

namespace retro::rewrite
{

using graph::Node;

namespace
{

bool isOneOf(std::string_view op, std::span<const std::string_view> ops)
{
    return std::ranges::find(ops, op) != ops.end();
}

constexpr std::array<std::string_view, 2> kLogistic{"Sigmoid", "HardSigmoid"};
constexpr std::array<std::string_view, 6> kCandidates{"Tanh", "Relu", "Softsign", "LeakyRelu", "Elu", "Softplus"};
using enum ops::Elements;
constexpr std::array<std::string_view, 5> kSums{"Add", "Sum", "Gemm", "MatMul", "Concat"};

/// The node that computes a value, or null.
const Node* makerOf(const Draft& draft, ValueId value)
{
    const NodeId maker = value.isValid() && !draft.isConstant(value) ? draft.value(value).producer : NodeId();
    return maker.isValid() ? &draft.node(maker) : nullptr;
}

/// The node that computes the elements of a value: behind what only moves them.
const Node* computedBy(const Draft& draft, ValueId value)
{
    constexpr int kMostMoves = 6;
    const Node* node = makerOf(draft, value);
    for (int i = 0; i < kMostMoves && node != nullptr && ops::areElements(*node, {Kept, Reshaped, Turned, Taken});
         ++i) {
        node = makerOf(draft, node->inputs[0]);
    }
    return node;
}

bool isComputedBy(const Draft& draft, ValueId value, std::span<const std::string_view> ops)
{
    const Node* node = computedBy(draft, value);
    return node != nullptr && isOneOf(node->op, ops);
}

/// The gate g of a value that is g or 1 − g, without what only moves it.
struct GateValue
{
    ValueId gate;
    bool isRest = false;
};

std::optional<GateValue> gateOf(const Draft& draft, ValueId value)
{
    if (isComputedBy(draft, value, kLogistic)) {
        return GateValue{value};
    }
    const Node* rest = makerOf(draft, value);
    const bool isRest = rest != nullptr && ops::areElements(*rest, {Subtracted}) &&
                        uniformNumber(draft, rest->inputs[0]) == 1.0 && isComputedBy(draft, rest->inputs[1], kLogistic);
    return isRest ? std::optional(GateValue{rest->inputs[1], true}) : std::nullopt;
}

/// A product of a signal with a gate.
struct Gated
{
    NodeId node;
    ValueId signal;
    GateValue gate;
};

/// The ways to read a value as signal times gate.
std::vector<Gated> gatedForms(const Draft& draft, ValueId value)
{
    std::vector<Gated> forms;
    const Node* node = makerOf(draft, value);
    for (std::size_t slot = 0; node != nullptr && ops::areElements(*node, {Multiplied}) && slot < 2; ++slot) {
        if (const std::optional<GateValue> gate = gateOf(draft, node->inputs[slot])) {
            forms.push_back({draft.value(value).producer, node->inputs[1 - slot], *gate});
        }
    }
    return forms;
}

using Cell = std::vector<Gated>;

/// The first form of signal times gate whose signal is a candidate.
std::optional<Gated> takenCandidate(const Draft& draft, ValueId value)
{
    for (const Gated& form : gatedForms(draft, value)) {
        if (isComputedBy(draft, form.signal, kCandidates)) {
            return form;
        }
    }
    return std::nullopt;
}

/// c' = f·c + i·g, the candidate g bounded; i·g alone where there is no cell before.
std::optional<Cell> newCell(const Draft& draft, ValueId value)
{
    const Node* sum = computedBy(draft, value);
    for (std::size_t slot = 0; sum != nullptr && ops::combinesTwo(*sum, {Summed}) && slot < 2; ++slot) {
        const std::optional<Gated> taken = takenCandidate(draft, sum->inputs[slot]);
        const std::vector<Gated> kept = gatedForms(draft, sum->inputs[1 - slot]);
        if (taken && !kept.empty()) {
            return Cell{*taken, kept.front()};
        }
    }
    const std::optional<Gated> alone = takenCandidate(draft, value);
    return alone ? std::optional(Cell{*alone}) : std::nullopt;
}

/// h = o·tanh(c').
std::optional<Cell> lstmCell(const Draft& draft, ValueId value)
{
    for (const Gated& out : gatedForms(draft, value)) {
        const Node* bounded = computedBy(draft, out.signal);
        std::optional<Cell> cell =
            bounded != nullptr && isOneOf(bounded->op, kCandidates) ? newCell(draft, bounded->inputs[0]) : std::nullopt;
        if (cell) {
            cell->push_back(out);
            return cell;
        }
    }
    return std::nullopt;
}

/// The product of the reset gate inside the sum that a candidate is a function of.
std::optional<Gated> resetIn(const Draft& draft, ValueId sum, int depth)
{
    const Node* node = computedBy(draft, sum);
    if (node == nullptr || depth == 0) {
        return std::nullopt;
    }
    const std::vector<Gated> forms = gatedForms(draft, node->outputs[0]);
    if (!forms.empty()) {
        return forms.front();
    }
    for (const ValueId input : node->inputs) {
        const std::optional<Gated> found = isOneOf(node->op, kSums) ? resetIn(draft, input, depth - 1) : std::nullopt;
        if (found) {
            return found;
        }
    }
    return std::nullopt;
}

/// The reset product of a value that is the candidate of a GRU.
std::optional<Gated> resetOf(const Draft& draft, ValueId candidate)
{
    constexpr int kMostSums = 5;
    const Node* node = computedBy(draft, candidate);
    const bool isCandidate = node != nullptr && isOneOf(node->op, kCandidates);
    return isCandidate ? resetIn(draft, node->inputs[0], kMostSums) : std::nullopt;
}

/// z·h + (1 − z)·n: the two products, the candidate's first.
std::optional<Cell> mixOfTwo(const Draft& draft, const Node& sum)
{
    for (std::size_t slot = 0; ops::combinesTwo(sum, {Summed}) && slot < 2; ++slot) {
        const std::optional<Gated> taken = takenCandidate(draft, sum.inputs[slot]);
        for (const Gated& kept : gatedForms(draft, sum.inputs[1 - slot])) {
            if (taken && kept.gate.gate == taken->gate.gate && kept.gate.isRest != taken->gate.isRest) {
                return Cell{*taken, kept};
            }
        }
    }
    return std::nullopt;
}

/// a ± z·(b − c) where a is b or c: the product, and the candidate among them.
std::optional<Cell> mixByDifference(const Draft& draft, const Node& sum, ValueId& candidate)
{
    const bool isSum = ops::areElements(sum, {Summed});
    for (std::size_t slot = isSum ? 0 : 1; ops::combinesTwo(sum, {Summed, Subtracted}) && slot < 2; ++slot) {
        for (const Gated& form : gatedForms(draft, sum.inputs[slot])) {
            const Node* difference = makerOf(draft, form.signal);
            const ValueId base = sum.inputs[1 - slot];
            const bool isMix = difference != nullptr && ops::areElements(*difference, {Subtracted}) &&
                               difference->inputs[isSum ? 1 : 0] == base;
            if (!isMix) {
                continue;
            }
            const bool isFirst = isComputedBy(draft, difference->inputs[0], kCandidates);
            candidate = difference->inputs[isFirst && resetOf(draft, difference->inputs[0]) ? 0 : 1];
            return Cell{form};
        }
    }
    return std::nullopt;
}

/// The new state of a GRU.
std::optional<Cell> gruCell(const Draft& draft, ValueId value)
{
    const Node* sum = makerOf(draft, value);
    if (sum == nullptr) {
        return std::nullopt;
    }
    ValueId candidate;
    std::optional<Cell> cell = mixOfTwo(draft, *sum);
    if (cell) {
        candidate = cell->front().signal;
    } else {
        cell = mixByDifference(draft, *sum, candidate);
    }
    if (!cell && ops::areElements(*sum, {Multiplied})) { // no state before: (1 − z)·n
        const std::optional<Gated> taken = takenCandidate(draft, value);
        cell = taken && taken->gate.isRest ? std::optional(Cell{*taken}) : std::nullopt;
        candidate = cell ? taken->signal : candidate;
    }
    const std::optional<Gated> reset = cell ? resetOf(draft, candidate) : std::nullopt;
    if (reset) {
        cell->push_back(*reset);
    }
    return reset ? cell : std::nullopt;
}

/// The product as a node of its own kind: the signal first.
Node gateNode(const Draft& draft, const Gated& form)
{
    Node node = draft.node(form.node);
    const ValueId gate = node.inputs[node.inputs[0] == form.signal ? 1 : 0];
    node.op = "Gate";
    node.domain = "retrograde";
    node.opset = 1;
    node.inputs = {form.signal, gate};
    return node;
}

struct CellKind
{
    const char* name;
    std::optional<Cell> (*find)(const Draft&, ValueId);
};
constexpr std::array kCellKinds{CellKind{"LSTM", lstmCell}, CellKind{"GRU", gruCell}};

} // namespace

void fuseCells(Draft& draft, std::vector<RewriteStep>& steps)
{
    for (std::size_t i = draft.nodeCount(); i-- > 0 && !draft.isStopped();) {
        const Node& root = draft.node(NodeId(i));
        if (draft.isRemoved(NodeId(i)) || !ops::combinesTwo(root, {Summed, Subtracted, Multiplied})) {
            continue;
        }
        for (const CellKind& kind : kCellKinds) {
            const std::optional<Cell> cell = kind.find(draft, root.outputs[0]);
            if (!cell) {
                continue;
            }
            RewriteStep step{"fuse cell", {}, {}, {}, false};
            for (const Gated& form : *cell) {
                step.removed.push_back(draft.node(form.node).name);
                draft.replaceNode(form.node, gateNode(draft, form));
            }
            step.added = step.removed;
            step.text =
                fmt::format("{} cell: {} → Gate (the signal takes all)", kind.name, fmt::join(step.added, ", "));
            steps.push_back(std::move(step));
            break;
        }
    }
}

} // namespace retro::rewrite
