// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/draft.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retro::rewrite
{

/// value^exponent.
struct Power
{
    ValueId value;
    double exponent = 1;
};

/// factor · Π value^exponent: what Mul, Div, Neg, Reciprocal, Sqrt and Pow write in many orders.
struct Product
{
    double factor = 1;
    std::vector<Power> powers; ///< of distinct values, in the order in which they were met
    /// False when the form is not the same for all numbers (a value divided by itself, a root of a product).
    bool isExact = true;
};

/// Reads a chain of nodes backwards from its last node, by structure and not by the order of operands, and remembers
/// which nodes belong to it. A copy can try one form and be thrown away.
class Pattern
{
public:
    Pattern(const Draft& draft, NodeId root);
    /// A chain that was read: `members` in order of execution, the root among them.
    Pattern(const Draft& draft, NodeId root, std::vector<NodeId> members);

    [[nodiscard]] const Draft& draft() const { return *m_draft; }
    [[nodiscard]] NodeId root() const { return m_root; }
    /// Result of the chain.
    [[nodiscard]] ValueId result() const { return m_draft->node(m_root).outputs[0]; }

    /// The node that makes `value`, when it is `op` of the standard and everything else it makes is unread. It becomes
    /// a member. nullptr otherwise.
    const graph::Node* maker(ValueId value, std::string_view op);
    /// The number, when the value is a constant of one element (and at most one axis).
    [[nodiscard]] std::optional<double> scalar(ValueId value) const;
    /// A value as a product; looks through nodes whose values are read once, up to a bounded number of members: what is
    /// behind more is a factor of its own.
    [[nodiscard]] Product product(ValueId value);
    /// Members in order of execution.
    [[nodiscard]] const std::vector<NodeId>& members() const { return m_members; }
    /// Something outside reads a value between members: "value \"d\" is read outside the chain"; empty when nothing
    /// does.
    [[nodiscard]] std::string obstacle() const;

private:
    const graph::Node* makerOf(ValueId value) const;
    void addMember(NodeId id);
    [[nodiscard]] bool isReadOnce(ValueId value) const;
    [[nodiscard]] Product productOf(const graph::Node& node);
    [[nodiscard]] std::size_t readsByMembers(ValueId value) const;

    const Draft* m_draft;
    NodeId m_root;
    std::vector<NodeId> m_members;
};

/// What a chain becomes: a node of the standard.
struct Fusion
{
    std::string_view op;
    std::int64_t sinceOpset = 1;
    std::vector<ValueId> inputs; ///< the first is what the chain is a function of
    graph::Attributes attributes;
    std::vector<std::string> added = {}; ///< nodes that were put in front of it
    bool keepsBits = false;              ///< the members still compute the result (Draft::keepWritten)
};

} // namespace retro::rewrite
