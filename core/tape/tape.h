// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"
#include "core/tape/operator.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <utility>

namespace retro::tape
{

/// One position of a tape: a leaf (no operator) or a node, with its forward value.
template <class V>
struct Cell
{
    Node<V> node;
    V value;
    bool isTracked = true; ///< false: its slot is never written and its rule never runs
};

/// A graph with its values: cell k has id k, parents come before their node. Made by compile().
template <class V>
class Tape
{
public:
    Tape(std::vector<Cell<V>> cells, std::size_t leafCount, Payload<V> payload)
        : m_cells(std::move(cells)), m_leafCount(leafCount), m_payload(std::move(payload))
    {}

    /// Leaves and nodes together.
    [[nodiscard]] std::size_t size() const { return m_cells.size(); }
    [[nodiscard]] std::size_t leafCount() const { return m_leafCount; }
    [[nodiscard]] const Cell<V>& cell(Id id) const { return m_cells[id]; }
    [[nodiscard]] bool isLeaf(Id id) const { return id < m_leafCount; }
    [[nodiscard]] const Payload<V>& payload() const { return m_payload; }
    /// Takes a cell out of the reverse pass, or back into it.
    void setTracked(Id id, bool isTracked) { m_cells[id].isTracked = isTracked; }
    /// What messages call a cell.
    void setName(Id id, std::string name) { m_cells[id].node.name = std::move(name); }
    /// Puts another forward value into a leaf; the nodes keep theirs (see recompute()).
    void setLeaf(Id id, V value) { m_cells[id].value = std::move(value); }
    /// Puts the forward value of a node in place.
    void setValue(Id id, V value) { m_cells[id].value = std::move(value); }
    /// Appends a cell whose value is known.
    void append(Cell<V> cell) { m_cells.push_back(std::move(cell)); }

private:
    std::vector<Cell<V>> m_cells;
    std::size_t m_leafCount;
    Payload<V> m_payload;
};

/// Values of the operands of a cell, borrowed from a tape.
template <class V>
[[nodiscard]] std::vector<const V*> operandsOf(const Tape<V>& tape, const Node<V>& node)
{
    std::vector<const V*> operands;
    operands.reserve(node.parents.size());
    for (const Id parent : node.parents) {
        operands.push_back(&tape.cell(parent).value);
    }
    return operands;
}

/// Refuses a node whose operands are not all earlier than `id`.
template <class V>
[[nodiscard]] Outcome<std::monostate> checkParents(const Node<V>& node, Id id)
{
    for (const Id parent : node.parents) {
        if (parent >= id) {
            return Fault{FaultKind::LaterParent, id,
                         fmt::format("{}: operand {} is not earlier than the node; list the nodes so that each reads "
                                     "only what was made before it",
                                     cellText(id, node.name), parent)};
        }
    }
    return std::monostate();
}

/// Runs the nodes once, left to right, over the leaves (Γ) and keeps every value: the tape. Linear in nodes. Faults:
/// LaterParent, ForwardFailed, each by node.
template <class V>
[[nodiscard]] Outcome<Tape<V>> compile(NodeList<V> nodes, std::vector<V> leaves, Payload<V> payload = {})
{
    base::guard(leaves.size() + nodes.size() < std::numeric_limits<Id>::max(),
                "a tape has fewer cells than there are ids");
    std::vector<Cell<V>> cells;
    cells.reserve(leaves.size() + nodes.size());
    const std::size_t leafCount = leaves.size();
    for (V& leaf : leaves) {
        cells.push_back({{}, std::move(leaf)});
    }
    Tape<V> tape(std::move(cells), leafCount, std::move(payload));
    for (Node<V>& node : nodes) {
        const Id id = static_cast<Id>(tape.size());
        RETRO_CHECK(checkParents(node, id));
        base::Result<V> value = node.op->forward(operandsOf(tape, node), tape.payload());
        if (!value.ok()) {
            return Fault{FaultKind::ForwardFailed, id, cellText(id, node.name) + ": " + value.error().text()};
        }
        tape.append({std::move(node), std::move(value).value()});
    }
    return tape;
}

/// A copy with the values of all nodes computed again from the leaves. Faults: ForwardFailed.
template <class V>
[[nodiscard]] Outcome<Tape<V>> recompute(Tape<V> tape)
{
    for (Id id = static_cast<Id>(tape.leafCount()); id < tape.size(); ++id) {
        const Node<V>& node = tape.cell(id).node;
        base::Result<V> value = node.op->forward(operandsOf(tape, node), tape.payload());
        if (!value.ok()) {
            return Fault{FaultKind::ForwardFailed, id, cellText(id, node.name) + ": " + value.error().text()};
        }
        tape.setValue(id, std::move(value).value());
    }
    return tape;
}

} // namespace retro::tape
