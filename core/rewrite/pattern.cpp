// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/pattern.h"

#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// Chains that mean something to a rewrite have fewer than 16 nodes. A value behind more is read as it is, which is as
/// true: so every root costs a bounded time, however long the chain before it.
constexpr std::size_t kMostMembers = 24;

bool isMultiplicative(std::string_view op)
{
    static constexpr std::array<std::string_view, 6> kOps{"Mul", "Div", "Neg", "Reciprocal", "Sqrt", "Pow"};
    return std::ranges::find(kOps, op) != kOps.end();
}

bool isInteger(double number) { return number == std::floor(number); }

void multiplyBy(Product& product, const Power& power)
{
    const auto at = std::find_if(product.powers.begin(), product.powers.end(),
                                 [&](const Power& known) { return known.value == power.value; });
    if (at == product.powers.end()) {
        product.powers.push_back(power);
        return;
    }
    product.isExact = product.isExact && (at->exponent > 0) == (power.exponent > 0);
    at->exponent += power.exponent;
}

Product times(Product a, const Product& b)
{
    a.factor *= b.factor;
    a.isExact = a.isExact && b.isExact;
    for (const Power& power : b.powers) {
        multiplyBy(a, power);
    }
    return a;
}

/// A root is taken of a single value only: of a product it would need to know signs.
Product raised(Product base, double exponent)
{
    const bool isPlainValue = base.factor == 1 && base.powers.size() == 1 && base.powers[0].exponent == 1;
    base.isExact = base.isExact && (isInteger(exponent) || isPlainValue);
    base.factor = std::pow(base.factor, exponent);
    for (Power& power : base.powers) {
        power.exponent *= exponent;
    }
    return base;
}

} // namespace

Pattern::Pattern(const Draft& draft, NodeId root) : m_draft(&draft), m_root(root), m_members{root} {}

Pattern::Pattern(const Draft& draft, NodeId root, std::vector<NodeId> members)
    : m_draft(&draft), m_root(root), m_members(std::move(members))
{}

void Pattern::addMember(NodeId id)
{
    const auto at = std::lower_bound(m_members.begin(), m_members.end(), id);
    if (at == m_members.end() || *at != id) {
        m_members.insert(at, id);
    }
}

bool Pattern::isReadOnce(ValueId value) const
{
    return value == result() || (m_draft->readerCount(value) == 1 && !m_draft->isOutput(value));
}

const Node* Pattern::makerOf(ValueId value) const
{
    if (!value.isValid() || !m_draft->value(value).producer.isValid() || m_draft->isConstant(value)) {
        return nullptr;
    }
    const Node& node = m_draft->node(m_draft->value(value).producer);
    return node.domain.empty() && node.outputs.size() == 1 ? &node : nullptr;
}

const Node* Pattern::maker(ValueId value, std::string_view op)
{
    const Node* node = makerOf(value);
    if (node == nullptr || node->op != op) {
        return nullptr;
    }
    addMember(m_draft->value(value).producer);
    return node;
}

std::optional<double> Pattern::scalar(ValueId value) const
{
    if (!m_draft->isConstant(value)) {
        return std::nullopt;
    }
    const graph::Value& constant = m_draft->value(value);
    if (constant.constant.size() != 1 || constant.constant.rank() > 1) {
        return std::nullopt;
    }
    return constant.constant.at(0);
}

Product Pattern::product(ValueId value)
{
    if (const std::optional<double> number = scalar(value)) {
        return {*number, {}, true};
    }
    const Node* node = m_members.size() < kMostMembers && isReadOnce(value) ? makerOf(value) : nullptr;
    if (node != nullptr && isMultiplicative(node->op)) {
        addMember(m_draft->value(value).producer);
        return productOf(*node);
    }
    return {1, {{value, 1}}, true};
}

Product Pattern::productOf(const Node& node)
{
    const Product first = product(node.inputs[0]);
    if (ops::areElements(node, {ops::Elements::Multiplied})) {
        return times(first, product(node.inputs[1]));
    }
    if (ops::areElements(node, {ops::Elements::Divided})) {
        return times(first, raised(product(node.inputs[1]), -1));
    }
    if (ops::areElements(node, {ops::Elements::Negated})) {
        return times({-1, {}, true}, first);
    }
    if (node.op == "Reciprocal") {
        return raised(first, -1);
    }
    if (node.op == "Sqrt") {
        return raised(first, 0.5);
    }
    const std::optional<double> exponent = scalar(node.inputs[1]);
    return exponent ? raised(first, *exponent) : Product{1, {}, false};
}

std::size_t Pattern::readsByMembers(ValueId value) const
{
    std::size_t count = 0;
    for (const NodeId id : m_members) {
        const std::vector<ValueId>& inputs = m_draft->node(id).inputs;
        count += static_cast<std::size_t>(std::count(inputs.begin(), inputs.end(), value));
    }
    return count;
}

std::string Pattern::obstacle() const
{
    for (const NodeId id : m_members) {
        const ValueId value = m_draft->node(id).outputs[0];
        if (id == m_root) {
            continue;
        }
        if (m_draft->isOutput(value)) {
            return fmt::format("\"{}\" is an output of the model", m_draft->value(value).name);
        }
        if (readsByMembers(value) != m_draft->readerCount(value)) {
            return fmt::format("\"{}\" is read outside the chain too", m_draft->value(value).name);
        }
    }
    return {};
}

} // namespace retro::rewrite
