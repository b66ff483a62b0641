// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash.h"
#include "core/rewrite/draft.h"

#include <optional>
#include <string_view>
#include <vector>

namespace retro::rewrite
{

/// What an operator of the standard is to a cone.
enum class ConeStep : std::uint8_t {
    None,    ///< it ends a cone
    Element, ///< arithmetic, comparison or a function, element by element, with broadcasting
    Curve,   ///< the same, and no polynomial: what a function of elements needs at least one of
    Row,     ///< reads a whole row: sum, mean, softmax, normalisation; also what moves a row as it is
};

/// What the node is; None as well for one that makes several results.
[[nodiscard]] ConeStep coneStepOf(const graph::Node& node);

/// The number of a constant all of whose elements are the same (of up to 65,536); nothing else.
[[nodiscard]] std::optional<double> uniformNumber(const Draft& draft, ValueId value);

/// A node with the nodes before it, back to one computed value: a function of that value alone. It grows backwards, one
/// such value after the other: everything between two of them comes in at once.
class Cone
{
public:
    /// A cone of `root`, without nodes yet. `draft` must outlive it.
    Cone(const Draft& draft, NodeId root) : m_draft(&draft), m_root(root), m_open{draft.node(root).outputs[0]} {}

    /// Takes nodes in up to the next value through which every way to the root leads. False: there is none within
    /// `most` nodes of which every one is at most `widest`.
    [[nodiscard]] bool grow(std::size_t most, ConeStep widest);

    [[nodiscard]] const Draft& draft() const { return *m_draft; }
    [[nodiscard]] NodeId root() const { return m_root; }
    /// In order of execution.
    [[nodiscard]] std::vector<NodeId> members() const { return {m_members.rbegin(), m_members.rend()}; }
    [[nodiscard]] std::size_t size() const { return m_members.size(); }
    /// The value that it is a function of.
    [[nodiscard]] ValueId leaf() const { return m_open.front(); }
    /// Operands of members that are the leaf.
    [[nodiscard]] std::size_t leafReads() const;
    /// Constants that members read, each once.
    [[nodiscard]] const std::vector<ValueId>& constants() const { return m_constants; }
    /// Equal for cones that compute the same in the same way.
    [[nodiscard]] std::uint64_t key() const { return m_key.digest(); }
    /// Equal for cones that compute the same in the same way but for constants of several numbers, which have equal
    /// types and shapes. The declared shape of the leaf is part of it.
    [[nodiscard]] std::uint64_t form() const;
    /// A constant of several numbers is among the constants.
    [[nodiscard]] bool hasSeveralNumbers() const { return m_hasSeveralNumbers; }
    /// Those of the members, in order of execution ("Mul Div Add").
    [[nodiscard]] std::string operators() const;

private:
    [[nodiscard]] bool takeLast(ConeStep widest);
    void addToKey(const graph::Node& node);
    void addOperandToKey(ValueId value);
    void addToBoth(std::uint64_t number);

    const Draft* m_draft;
    NodeId m_root;
    std::vector<NodeId> m_members; // latest first
    std::vector<ValueId> m_open;   // computed values that are read and not yet taken in
    std::vector<ValueId> m_seen;   // computed values in the order in which they were met
    std::vector<ValueId> m_constants;
    base::Hasher m_key;
    base::Hasher m_form;
    bool m_hasSeveralNumbers = false;
};

/// For each node of a draft how far a node of one of the kinds lies behind it, over nodes that a cone can have.
class ConeReach
{
public:
    /// Counts nodes that are `mark`; cones may hold nodes up to `widest`.
    ConeReach(const Draft& draft, ConeStep mark, ConeStep widest);
    /// A marked node is among the node and the `most` − 1 before it on some way.
    [[nodiscard]] bool holds(NodeId node, std::size_t most) const { return m_distance[node.index()] < most; }

private:
    std::vector<std::uint8_t> m_distance;
};

} // namespace retro::rewrite
