// SPDX-License-Identifier: Apache-2.0
#include "core/ops/numbertypes.h"
#include "core/tape/gradientgraph/emitrule.h"

#include <array>
#include <numbers>

namespace retro::tape
{

namespace
{

ValueId times(EmitSite& site, ValueId a, ValueId b) { return site.emit.node("Mul", {a, b}); }

/// 1 − a.
ValueId oneMinus(EmitSite& site, ValueId a) { return site.emit.node("Sub", {site.emit.scalar(1), a}); }

ValueId isPositive(EmitSite& site, ValueId x) { return site.emit.node("Greater", {x, site.emit.scalar(0)}); }

ValueId pick(EmitSite& site, ValueId condition, ValueId yes, ValueId no)
{
    return site.emit.node("Where", {condition, yes, no});
}

EmittedParts pass(EmitSite& site) { return {site.up()}; }

/// At inference; nothing depends on the ratio.
EmittedParts dropout(EmitSite& site)
{
    EmittedParts parts{site.up(), {}};
    if (site.wants(1)) {
        parts[1] = site.emit.filled(site.shape(1), 0);
    }
    return parts;
}

EmittedParts relu(EmitSite& site)
{
    return {pick(site, isPositive(site, site.operands[0]), site.up(), site.emit.scalar(0))};
}

/// What lies within the threshold is 0 and gets nothing.
EmittedParts shrink(EmitSite& site)
{
    const ValueId size = site.emit.node("Abs", {site.operands[0]});
    const ValueId passes = site.emit.node("Greater", {size, site.emit.scalar(site.number("lambd", 0.5))});
    return {pick(site, passes, site.up(), site.emit.scalar(0))};
}

EmittedParts leakyRelu(EmitSite& site)
{
    const ValueId slope = site.emit.scalar(site.number("alpha", 0.01));
    return {pick(site, isPositive(site, site.operands[0]), site.up(), times(site, site.up(), slope))};
}

EmittedParts sigmoid(EmitSite& site)
{
    const ValueId y = site.outputs[0];
    return {times(site, site.up(), times(site, y, oneMinus(site, y)))};
}

EmittedParts tanh(EmitSite& site)
{
    const ValueId y = site.outputs[0];
    return {times(site, site.up(), oneMinus(site, times(site, y, y)))};
}

EmittedParts exponential(EmitSite& site) { return {times(site, site.up(), site.outputs[0])}; }

EmittedParts logarithm(EmitSite& site) { return {site.emit.node("Div", {site.up(), site.operands[0]})}; }

EmittedParts squareRoot(EmitSite& site)
{
    return {site.emit.node("Div", {site.up(), times(site, site.emit.scalar(2), site.outputs[0])})};
}

EmittedParts reciprocal(EmitSite& site)
{
    const ValueId y = site.outputs[0];
    return {site.emit.node("Neg", {times(site, site.up(), times(site, y, y))})};
}

EmittedParts negate(EmitSite& site) { return {site.emit.node("Neg", {site.up()})}; }

EmittedParts absolute(EmitSite& site) { return {times(site, site.up(), site.emit.node("Sign", {site.operands[0]}))}; }

EmittedParts errorFunction(EmitSite& site)
{
    const ValueId x = site.operands[0];
    const ValueId bell = site.emit.node("Exp", {site.emit.node("Neg", {times(site, x, x)})});
    return {times(site, site.up(), times(site, site.emit.scalar(2 * std::numbers::inv_sqrtpi), bell))};
}

EmittedParts softplus(EmitSite& site)
{
    return {times(site, site.up(), site.emit.node("Sigmoid", {site.operands[0]}))};
}

EmittedParts sine(EmitSite& site) { return {times(site, site.up(), site.emit.node("Cos", {site.operands[0]}))}; }

EmittedParts cosine(EmitSite& site)
{
    return {site.emit.node("Neg", {times(site, site.up(), site.emit.node("Sin", {site.operands[0]}))})};
}

/// Undoes broadcasting of the part of a slot.
ValueId toOperand(EmitSite& site, ValueId part, std::size_t slot)
{
    return site.emit.sumTo(part, site.outputShape(), site.shape(slot));
}

EmittedParts sum(EmitSite& site)
{
    EmittedParts parts(site.operands.size());
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        if (site.wants(slot)) {
            parts[slot] = toOperand(site, site.up(), slot);
        }
    }
    return parts;
}

EmittedParts difference(EmitSite& site)
{
    EmittedParts parts(2);
    if (site.wants(0)) {
        parts[0] = toOperand(site, site.up(), 0);
    }
    if (site.wants(1)) {
        parts[1] = toOperand(site, site.emit.node("Neg", {site.up()}), 1);
    }
    return parts;
}

EmittedParts product(EmitSite& site)
{
    EmittedParts parts(2);
    for (std::size_t slot = 0; slot < 2; ++slot) {
        if (site.wants(slot)) {
            parts[slot] = toOperand(site, times(site, site.up(), site.operands[1 - slot]), slot);
        }
    }
    return parts;
}

EmittedParts quotient(EmitSite& site)
{
    EmittedParts parts(2);
    const ValueId part = site.emit.node("Div", {site.up(), site.operands[1]});
    if (site.wants(0)) {
        parts[0] = toOperand(site, part, 0);
    }
    if (site.wants(1)) {
        parts[1] = toOperand(site, site.emit.node("Neg", {times(site, part, site.outputs[0])}), 1);
    }
    return parts;
}

/// x − y·trunc(x/y) of floating numbers (fmod).
EmittedParts remainder(EmitSite& site)
{
    EmittedParts parts(2);
    if (site.wants(0)) {
        parts[0] = toOperand(site, site.up(), 0);
    }
    if (site.wants(1)) {
        Emitter& emit = site.emit;
        const ValueId ratio = emit.node("Div", {site.operands[0], site.operands[1]});
        const ValueId whole = emit.node("Floor", {emit.node("Abs", {ratio})});
        const ValueId times = emit.node("Mul", {emit.node("Sign", {ratio}), whole});
        parts[1] = toOperand(site, emit.node("Neg", {emit.node("Mul", {site.up(), times})}), 1);
    }
    return parts;
}

/// True where a is not 0, NaN included.
ValueId isNotZero(EmitSite& site, ValueId a) { return site.emit.node("Cast", {a}, {{"to", kBoolType}}); }

bool mayBeZero(const EmitSite& site, std::size_t slot)
{
    if (!site.model.isConstant(site.node.inputs[slot])) {
        return true;
    }
    const tensor::Tensor data = site.model.constant(site.node.inputs[slot]).contiguous();
    for (std::int64_t i = 0; i < data.size(); ++i) {
        if (data.at(i) == 0) {
            return true;
        }
    }
    return false;
}

/// c·x^(c − 1), and 0 for c = 0 whatever x is.
ValueId powerSlope(EmitSite& site, ValueId base, ValueId exponent)
{
    const ValueId less = site.emit.node("Sub", {exponent, site.emit.scalar(1)});
    const ValueId slope = times(site, exponent, site.emit.node("Pow", {base, less}));
    return mayBeZero(site, 1) ? pick(site, isNotZero(site, exponent), slope, site.emit.scalar(0)) : slope;
}

/// x^c · ln x, and 0 where x is 0 and c is not negative: the limit for a positive c.
ValueId exponentSlope(EmitSite& site, ValueId base, ValueId exponent)
{
    const ValueId slope = times(site, site.outputs[0], site.emit.node("Log", {base}));
    const ValueId isZero = site.emit.node("Not", {isNotZero(site, exponent)});
    const ValueId isLeastZero = site.emit.node("Or", {isPositive(site, exponent), isZero});
    const ValueId isFlat = site.emit.node("And", {isLeastZero, site.emit.node("Not", {isNotZero(site, base)})});
    return pick(site, isFlat, site.emit.scalar(0), slope);
}

/// The result has the type of the base; an exponent of another one is converted, and so is what it gets.
EmittedParts power(EmitSite& site)
{
    const ValueId base = site.operands[0];
    const bool isFloat = tensor::isFloating(site.model.typeOf(site.node.inputs[1]).dtype);
    const bool isAlike = isFloat && site.types[1] == site.types[0];
    const auto converted = [&site](ValueId value, tensor::DType type) {
        return site.emit.node("Cast", {value}, {{"to", ops::onnxOfFloating(type)}});
    };
    const ValueId exponent = isAlike ? site.operands[1] : converted(site.operands[1], site.types[0]);
    EmittedParts parts(2);
    if (site.wants(0)) {
        parts[0] = toOperand(site, times(site, site.up(), powerSlope(site, base, exponent)), 0);
    }
    if (site.wants(1)) {
        const ValueId part = toOperand(site, times(site, site.up(), exponentSlope(site, base, exponent)), 1);
        parts[1] = isAlike ? part : converted(part, site.types[1]);
    }
    return parts;
}

EmittedParts where(EmitSite& site)
{
    EmittedParts parts(3);
    const ValueId zero = site.emit.scalar(0);
    if (site.wants(1)) {
        parts[1] = toOperand(site, pick(site, site.operands[0], site.up(), zero), 1);
    }
    if (site.wants(2)) {
        parts[2] = toOperand(site, pick(site, site.operands[0], zero, site.up()), 2);
    }
    return parts;
}

std::string notTraining(const EmitSite& site)
{
    return site.has(2) ? "it has a training mode; export the model for inference" : "";
}

constexpr std::array kElementWiseRules{
    EmitRule{"Abs", never, absolute},
    EmitRule{"Add", never, sum},
    EmitRule{"Cos", never, cosine},
    EmitRule{"Div", never, quotient},
    EmitRule{"Dropout", notTraining, dropout},
    EmitRule{"Erf", never, errorFunction},
    EmitRule{"Exp", never, exponential},
    EmitRule{"Identity", never, pass},
    EmitRule{"LeakyRelu", never, leakyRelu},
    EmitRule{"Log", never, logarithm},
    EmitRule{"Mod", never, remainder},
    EmitRule{"Mul", never, product},
    EmitRule{"Neg", never, negate},
    EmitRule{"Pow", never, power},
    EmitRule{"Reciprocal", never, reciprocal},
    EmitRule{"Relu", never, relu},
    EmitRule{"Shrink", never, shrink},
    EmitRule{"Sigmoid", never, sigmoid},
    EmitRule{"Sin", never, sine},
    EmitRule{"Softplus", never, softplus},
    EmitRule{"Sqrt", never, squareRoot},
    EmitRule{"Sub", never, difference},
    EmitRule{"Sum", never, sum},
    EmitRule{"Tanh", never, tanh},
    EmitRule{"Where", never, where},
};

} // namespace

std::span<const EmitRule> elementWiseRules() { return kElementWiseRules; }

} // namespace retro::tape
