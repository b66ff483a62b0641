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

    /// Exponent of a value; 0 when it does not occur.
    [[nodiscard]] double exponentOf(ValueId value) const;
    /// The only value, when the product is factor · value^exponent.
    [[nodiscard]] std::optional<ValueId> only(double exponent) const;
};

/// A scalar constant plus something.
struct Shifted
{
    double shift = 0;
    ValueId rest;
};

/// Mean over axes that are kept with extent 1.
struct Mean
{
    ValueId operand;
    std::vector<std::int64_t> axes;
};

/// Reads a chain of nodes backwards from its last node, by structure and not by the order of operands, and remembers
/// which nodes belong to it. A copy can try one form and be thrown away.
class Pattern
{
public:
    Pattern(const Draft& draft, NodeId root);

    [[nodiscard]] const Draft& draft() const { return *m_draft; }
    [[nodiscard]] NodeId root() const { return m_root; }
    /// Result of the chain.
    [[nodiscard]] ValueId result() const { return m_draft->node(m_root).outputs[0]; }

    /// The node that makes `value`, when it is `op` of the standard and everything else it makes is unread. It becomes
    /// a member. nullptr otherwise.
    const graph::Node* maker(ValueId value, std::string_view op);
    /// As maker, when the value is read once or is the result.
    const graph::Node* soleMaker(ValueId value, std::string_view op);
    /// The number, when the value is a constant of one element (and at most one axis).
    [[nodiscard]] std::optional<double> scalar(ValueId value);
    /// A value as a product; looks through nodes whose values are read once, up to a bounded number of members: what is
    /// behind more is a factor of its own.
    [[nodiscard]] Product product(ValueId value);
    /// A value that is the sum of a scalar constant and something.
    [[nodiscard]] std::optional<Shifted> shifted(ValueId value);
    /// A value that is a ReduceMean over known axes with keepdims.
    [[nodiscard]] std::optional<Mean> mean(ValueId value);

    /// a = b within what the stored types of the constants that were read can tell apart.
    [[nodiscard]] bool isClose(double a, double b) const;
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
    double m_tolerance = 1e-6;
};

/// The first axis, counted from the end (−k), when `axes` are the last k axes of a value of `rank` (if known); nothing
/// otherwise.
[[nodiscard]] std::optional<std::int64_t> trailingAxis(std::vector<std::int64_t> axes, std::optional<std::size_t> rank);

/// What a chain becomes: a node of the standard.
struct Fusion
{
    std::string_view op;
    std::int64_t sinceOpset = 1;
    std::vector<ValueId> inputs; ///< the first is what the chain is a function of
    graph::Attributes attributes;
    std::vector<std::string> added = {}; ///< nodes that were put in front of it
};

} // namespace retro::rewrite
