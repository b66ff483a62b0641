// SPDX-License-Identifier: Apache-2.0
#include "core/ops/numbertypes.h"
#include "core/tape/gradientgraph/formula.h"

#include <numbers>

namespace retro::tape
{

namespace
{

ValueId times(EmitSite& site, ValueId a, ValueId b) { return site.emit.node("Mul", {a, b}); }

ValueId isPositive(EmitSite& site, ValueId x) { return site.emit.node("Greater", {x, site.emit.scalar(0)}); }

ValueId pick(EmitSite& site, ValueId condition, ValueId yes, ValueId no)
{
    return site.emit.node("Where", {condition, yes, no});
}

/// At inference; nothing depends on the ratio.
EmittedParts dropout(EmitSite& site)
{
    EmittedParts parts{site.up(), {}};
    if (site.wants(1)) {
        parts[1] = site.emit.filled(site.shape(1), 0);
    }
    return parts;
}

/// What lies within the threshold is 0 and gets nothing.
Term shrink(const Formula& f) { return f.pick(f.x.of("Abs").isAbove(f.number("lambd", 0.5)), f.up, 0); }

Term errorFunction(const Formula& f) { return f.up * (2 * std::numbers::inv_sqrtpi * (-(f.x * f.x)).of("Exp")); }

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
        return site.emit.node("Cast", {value}, {{"to", ops::onnxOf(type)}});
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

} // namespace

const EmitRules kElementWiseRules{
    {"Abs", never, byFormula<[](const Formula& f) { return f.up * f.x.of("Sign"); }>},
    {"Add", never, sum},
    {"Cos", never, byFormula<[](const Formula& f) { return -(f.up * f.x.of("Sin")); }>},
    {"Div", never, quotient},
    {"Dropout", notTraining, dropout},
    {"Erf", never, byFormula<errorFunction>},
    {"Exp", never, byFormula<[](const Formula& f) { return f.up * f.y; }>},
    {"Identity", never, byFormula<[](const Formula& f) { return f.up; }>},
    {"LeakyRelu", never,
     byFormula<[](const Formula& f) { return f.pick(f.x.isAbove(0), f.up, f.up * f.number("alpha", 0.01)); }>},
    {"Log", never, byFormula<[](const Formula& f) { return f.up / f.x; }>},
    {"Mod", never, remainder},
    {"Mul", never, product},
    {"Neg", never, byFormula<[](const Formula& f) { return -f.up; }>, kAllSlots, always},
    {"Pow", never, power},
    {"Reciprocal", never, byFormula<[](const Formula& f) { return -(f.up * (f.y * f.y)); }>},
    {"Relu", never, byFormula<[](const Formula& f) { return f.pick(f.x.isAbove(0), f.up, 0); }>},
    {"Shrink", never, byFormula<shrink>},
    {"Sigmoid", never, byFormula<[](const Formula& f) { return f.up * (f.y * (1 - f.y)); }>},
    {"Sin", never, byFormula<[](const Formula& f) { return f.up * f.x.of("Cos"); }>},
    {"Softplus", never, byFormula<[](const Formula& f) { return f.up * f.x.of("Sigmoid"); }>},
    {"Sqrt", never, byFormula<[](const Formula& f) { return f.up / (2 * f.y); }>},
    {"Sub", never, difference},
    {"Sum", never, sum},
    {"Tanh", never, byFormula<[](const Formula& f) { return f.up * (1 - f.y * f.y); }>},
    {"Where", never, where, kAllSlots, always},
};

} // namespace retro::tape
