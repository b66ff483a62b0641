// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/scorescale.h"

#include "core/ops/elements.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// Operators between a shape and a factor.
constexpr std::array<std::string_view, 9> kScalarOps{"Shape", "Slice", "Gather",     "Cast",   "Sqrt",
                                                     "Div",   "Pow",   "Reciprocal", "Squeeze"};

/// The extent of the last axis of `of`: Shape, then Slice from −1 on or Gather at −1, then Casts.
bool isLastExtent(Pattern& pattern, ValueId value, ValueId of)
{
    while (const Node* cast = pattern.maker(value, "Cast")) {
        value = cast->inputs[0];
    }
    if (const Node* squeeze = pattern.maker(value, "Squeeze")) {
        value = squeeze->inputs[0];
    }
    const Node* pick = pattern.maker(value, "Slice");
    pick = pick == nullptr ? pattern.maker(value, "Gather") : pick;
    if (pick == nullptr || pick->inputs.size() < 2 || pattern.scalar(pick->inputs[1]) != -1.0) {
        return false;
    }
    const bool isTail = pick->op == "Gather" || (pick->inputs.size() > 2 && pattern.scalar(pick->inputs[2]) > 1e9);
    const Node* shape = isTail ? pattern.maker(pick->inputs[0], "Shape") : nullptr;
    return shape != nullptr && shape->inputs[0] == of;
}

/// value = width^exponent, through Div, Sqrt, Reciprocal and Cast; the exponent is 0 when it is something else.
double exponentOfWidth(Pattern& pattern, ValueId value, ValueId of)
{
    Pattern attempt = pattern;
    if (isLastExtent(attempt, value, of)) {
        pattern = attempt;
        return 1;
    }
    if (const Node* cast = pattern.maker(value, "Cast")) {
        return exponentOfWidth(pattern, cast->inputs[0], of);
    }
    if (const Node* root = pattern.maker(value, "Sqrt")) {
        return exponentOfWidth(pattern, root->inputs[0], of) / 2;
    }
    if (const Node* inverse = pattern.maker(value, "Reciprocal")) {
        return -exponentOfWidth(pattern, inverse->inputs[0], of);
    }
    const Node* quotient = pattern.maker(value, "Div");
    if (quotient != nullptr && pattern.scalar(quotient->inputs[0]) == 1.0) {
        return -exponentOfWidth(pattern, quotient->inputs[1], of);
    }
    return 0;
}

/// True for a chain of scalars that starts at a Shape; what it really is, resolve() finds out.
bool isScalarOfShape(const Pattern& pattern, ValueId value)
{
    const Draft& draft = pattern.draft();
    for (int steps = 0; steps < 12 && value.isValid() && draft.value(value).producer.isValid(); ++steps) {
        const Node& node = draft.node(draft.value(value).producer);
        if (std::find(kScalarOps.begin(), kScalarOps.end(), node.op) == kScalarOps.end()) {
            return false;
        }
        if (node.op == "Shape") {
            return true;
        }
        value = ops::areElements(node, {ops::Elements::Divided}) ? node.inputs[1] : node.inputs[0];
    }
    return false;
}

} // namespace

ValueId ScoreScale::takeFrom(Pattern& pattern, ValueId value)
{
    Pattern attempt = pattern;
    const Product product = attempt.product(value);
    ValueId rest;
    std::vector<Power> computed;
    for (const Power& power : product.powers) {
        if (isScalarOfShape(attempt, power.value)) {
            computed.push_back(power);
        } else if (!rest.isValid() && power.exponent == 1) {
            rest = power.value;
        } else {
            return value; // a product of computed values is a value like any other
        }
    }
    if (!rest.isValid() || !product.isExact) {
        return value;
    }
    pattern = attempt;
    m_factor *= product.factor;
    m_computed.insert(m_computed.end(), computed.begin(), computed.end());
    return rest;
}

bool ScoreScale::resolve(Pattern& pattern, ValueId q)
{
    if (m_computed.empty()) {
        return true;
    }
    double exponent = 0;
    for (const Power& power : m_computed) {
        const double own = exponentOfWidth(pattern, power.value, q);
        if (own == 0) {
            return false;
        }
        exponent += power.exponent * own;
    }
    m_isByWidth = exponent == -0.5 && m_factor == 1;
    return m_isByWidth;
}

} // namespace retro::rewrite
