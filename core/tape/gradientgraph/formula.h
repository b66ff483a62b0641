// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/gradientgraph/emitrule.h"

namespace retro::tape
{

/// A value of the graph that is built, as a formula has it: a · b adds the node that computes it.
class Term
{
public:
    Term(Emitter& emit, ValueId id) : m_emit(&emit), m_id(id) {}
    operator ValueId() const { return m_id; }

    /// A node of one operand, and one that compares with a number.
    [[nodiscard]] Term of(std::string_view op) const { return {*m_emit, m_emit->node(op, {m_id})}; }
    [[nodiscard]] Term isAbove(double limit) const { return with("Greater", number(limit)); }
    [[nodiscard]] Term isBelow(double limit) const { return with("Less", number(limit)); }
    [[nodiscard]] Term with(std::string_view op, Term b) const { return {*m_emit, m_emit->node(op, {m_id, b.m_id})}; }
    [[nodiscard]] Term number(double value) const { return {*m_emit, m_emit->scalar(value)}; }

    friend Term operator+(Term a, Term b) { return a.with("Add", b); }
    friend Term operator-(Term a, Term b) { return a.with("Sub", b); }
    friend Term operator*(Term a, Term b) { return a.with("Mul", b); }
    friend Term operator/(Term a, Term b) { return a.with("Div", b); }
    friend Term operator+(Term a, double b) { return a + a.number(b); }
    friend Term operator*(Term a, double b) { return a * a.number(b); }
    friend Term operator/(Term a, double b) { return a / a.number(b); }
    friend Term operator+(double a, Term b) { return b.number(a) + b; }
    friend Term operator-(double a, Term b) { return b.number(a) - b; }
    friend Term operator*(double a, Term b) { return b.number(a) * b; }
    friend Term operator-(Term a) { return a.of("Neg"); }

private:
    Emitter* m_emit;
    ValueId m_id;
};

/// What a formula of an element-wise function is made of: its operand, its result, and what arrives there.
struct Formula
{
    EmitSite& site;
    Term x{site.emit, site.operands[0]};
    Term y{site.emit, site.outputs[0]};
    Term up{site.emit, site.up()};

    /// An attribute.
    [[nodiscard]] double number(std::string_view name, double fallback) const { return site.number(name, fallback); }
    /// `yes` where the condition holds, else `no`.
    [[nodiscard]] Term pick(Term condition, double yes, Term no) const { return pick(condition, x.number(yes), no); }
    [[nodiscard]] Term pick(Term condition, Term yes, double no) const { return pick(condition, yes, x.number(no)); }
    [[nodiscard]] Term pick(Term condition, double yes, double no) const { return pick(condition, x.number(yes), no); }
    [[nodiscard]] Term pick(Term condition, Term yes, Term no) const
    {
        return {site.emit, site.emit.node("Where", {condition, yes, no})};
    }
};

/// The rule of a function of elements: the gradient of its operand as a formula.
template <Term (*part)(const Formula&)>
EmittedParts byFormula(EmitSite& site)
{
    return {part(Formula{site})};
}

} // namespace retro::tape
