// SPDX-License-Identifier: Apache-2.0
// Activations and elementary functions that the first list has not, limits and extremes.
#include "core/ops/numbertypes.h"
#include "core/tape/gradientgraph/emitrule.h"

#include <array>
#include <numbers>

namespace retro::tape
{

namespace
{

/// Short words for formulas.
struct Formula
{
    EmitSite& site;
    ValueId x = site.operands[0];
    ValueId y = site.outputs[0];
    ValueId up = site.up();

    [[nodiscard]] ValueId of(std::string_view op, ValueId a) const { return site.emit.node(op, {a}); }
    [[nodiscard]] ValueId number(double value) const { return site.emit.scalar(value); }
    [[nodiscard]] ValueId add(ValueId a, ValueId b) const { return site.emit.node("Add", {a, b}); }
    [[nodiscard]] ValueId sub(ValueId a, ValueId b) const { return site.emit.node("Sub", {a, b}); }
    [[nodiscard]] ValueId mul(ValueId a, ValueId b) const { return site.emit.node("Mul", {a, b}); }
    [[nodiscard]] ValueId div(ValueId a, ValueId b) const { return site.emit.node("Div", {a, b}); }
    [[nodiscard]] ValueId isAbove(ValueId a, double limit) const
    {
        return site.emit.node("Greater", {a, number(limit)});
    }
    [[nodiscard]] ValueId isBelow(ValueId a, double limit) const { return site.emit.node("Less", {a, number(limit)}); }
    [[nodiscard]] ValueId pick(ValueId condition, ValueId yes, ValueId no) const
    {
        return site.emit.node("Where", {condition, yes, no});
    }
    [[nodiscard]] EmittedParts times(ValueId slope) const { return {mul(up, slope)}; }
};

EmittedParts elu(EmitSite& site)
{
    const Formula f{site};
    return f.times(f.pick(f.isAbove(f.x, 0), f.number(1), f.add(f.y, f.number(site.number("alpha", 1)))));
}

EmittedParts selu(EmitSite& site)
{
    const Formula f{site};
    const double alpha = site.number("alpha", 1.67326319217681884765625);
    const double gamma = site.number("gamma", 1.05070102214813232421875);
    return f.times(f.pick(f.isAbove(f.x, 0), f.number(gamma), f.add(f.y, f.number(alpha * gamma))));
}

EmittedParts celu(EmitSite& site)
{
    const Formula f{site};
    const ValueId scaled = f.div(f.x, f.number(site.number("alpha", 1)));
    return f.times(f.pick(f.isAbove(f.x, 0), f.number(1), f.of("Exp", scaled)));
}

EmittedParts hardSigmoid(EmitSite& site)
{
    const Formula f{site};
    const ValueId isInside = site.emit.node("And", {f.isAbove(f.y, 0), f.isBelow(f.y, 1)});
    return f.times(f.pick(isInside, f.number(site.number("alpha", 0.2)), f.number(0)));
}

/// x · clip(x/6 + ½, 0, 1).
EmittedParts hardSwish(EmitSite& site)
{
    const Formula f{site};
    const ValueId middle = f.add(f.div(f.x, f.number(3)), f.number(0.5));
    const ValueId right = f.pick(f.isBelow(f.x, 3), middle, f.number(1));
    return f.times(f.pick(f.isAbove(f.x, -3), right, f.number(0)));
}

EmittedParts softsign(EmitSite& site)
{
    const Formula f{site};
    const ValueId base = f.add(f.number(1), f.of("Abs", f.x));
    return {f.div(f.up, f.mul(base, base))};
}

EmittedParts thresholded(EmitSite& site)
{
    const Formula f{site};
    return {f.pick(f.isAbove(f.x, site.number("alpha", 1)), f.up, f.number(0))};
}

/// x · tanh(softplus(x)).
EmittedParts mish(EmitSite& site)
{
    const Formula f{site};
    const ValueId t = f.of("Tanh", f.of("Softplus", f.x));
    const ValueId rest = f.mul(f.mul(f.x, f.of("Sigmoid", f.x)), f.sub(f.number(1), f.mul(t, t)));
    return f.times(f.add(t, rest));
}

/// x · σ(αx).
EmittedParts swish(EmitSite& site)
{
    const Formula f{site};
    const ValueId scaled = f.mul(f.x, f.number(site.number("alpha", 1)));
    const ValueId gate = f.of("Sigmoid", scaled);
    return f.times(f.add(gate, f.mul(f.mul(scaled, gate), f.sub(f.number(1), gate))));
}

/// x · Φ(x), or its form with tanh.
EmittedParts gelu(EmitSite& site)
{
    const Formula f{site};
    const ValueId half = f.number(0.5);
    const ValueId square = f.mul(f.x, f.x);
    if (site.text("approximate", "none") == "none") {
        const ValueId scaled = f.mul(f.x, f.number(std::numbers::sqrt2 / 2));
        const ValueId share = f.mul(half, f.add(f.number(1), f.of("Erf", scaled)));
        const ValueId bell = f.of("Exp", f.mul(square, f.number(-0.5)));
        const double density = std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2;
        return f.times(f.add(share, f.mul(f.mul(f.x, bell), f.number(density))));
    }
    const double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const ValueId inner = f.mul(f.mul(f.x, f.number(factor)), f.add(f.number(1), f.mul(square, f.number(0.044715))));
    const ValueId t = f.of("Tanh", inner);
    const ValueId slope = f.mul(f.number(factor), f.add(f.number(1), f.mul(square, f.number(3 * 0.044715))));
    const ValueId bent = f.mul(f.mul(f.mul(f.x, half), f.sub(f.number(1), f.mul(t, t))), slope);
    return f.times(f.add(f.mul(half, f.add(f.number(1), t)), bent));
}

EmittedParts tangent(EmitSite& site)
{
    const Formula f{site};
    return f.times(f.add(f.number(1), f.mul(f.y, f.y)));
}

EmittedParts hyperbolicSine(EmitSite& site)
{
    const Formula f{site};
    return f.times(f.of("Cosh", f.x));
}

EmittedParts hyperbolicCosine(EmitSite& site)
{
    const Formula f{site};
    return f.times(f.of("Sinh", f.x));
}

/// up / (a + b·x²), or its square root.
EmittedParts overQuadratic(EmitSite& site, double a, double b, bool hasRoot)
{
    const Formula f{site};
    const ValueId base = f.add(f.number(a), f.mul(f.number(b), f.mul(f.x, f.x)));
    return {f.div(f.up, hasRoot ? f.of("Sqrt", base) : base)};
}

EmittedParts arcSine(EmitSite& site) { return overQuadratic(site, 1, -1, true); }
EmittedParts arcCosine(EmitSite& site) { return {site.emit.node("Neg", {overQuadratic(site, 1, -1, true)[0]})}; }
EmittedParts arcTangent(EmitSite& site) { return overQuadratic(site, 1, 1, false); }
EmittedParts areaSine(EmitSite& site) { return overQuadratic(site, 1, 1, true); }
EmittedParts areaCosine(EmitSite& site) { return overQuadratic(site, -1, 1, true); }
EmittedParts areaTangent(EmitSite& site) { return overQuadratic(site, 1, -1, false); }

std::string constantBounds(const EmitSite& site)
{
    return site.wants(1) || site.wants(2) ? "its bounds are computed; only constant ones have a rule here" : "";
}

/// Bounds are operands, until operator set 10 attributes.
EmittedParts clip(EmitSite& site)
{
    const Formula f{site};
    EmittedParts parts(site.operands.size());
    ValueId part = f.up;
    const auto cut = [&](std::size_t slot, std::string_view name, std::string_view comparison) {
        const bool isAttribute = site.node.opset < 11 && site.node.attributes.contains(name);
        if (site.has(slot) || isAttribute) {
            const ValueId bound = site.has(slot) ? site.operands[slot] : f.number(site.number(name, 0));
            part = f.pick(site.emit.node(comparison, {f.x, bound}), f.number(0), part);
        }
    };
    cut(1, "min", "Less");
    cut(2, "max", "Greater");
    parts[0] = part;
    return parts;
}

EmittedParts prelu(EmitSite& site)
{
    const Formula f{site};
    EmittedParts parts(2);
    const ValueId isNegative = f.isBelow(f.x, 0);
    if (site.wants(0)) {
        parts[0] = f.pick(isNegative, f.mul(f.up, site.operands[1]), f.up);
    }
    if (site.wants(1)) {
        const ValueId part = f.pick(isNegative, f.mul(f.up, f.x), f.number(0));
        parts[1] = site.emit.sumTo(part, site.outputShape(), site.shape(1));
    }
    return parts;
}

EmittedParts mean(EmitSite& site)
{
    const Formula f{site};
    EmittedParts parts(site.operands.size());
    const ValueId share = f.mul(f.up, f.number(1 / static_cast<double>(parts.size())));
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        parts[slot] = site.wants(slot) ? site.emit.sumTo(share, site.outputShape(), site.shape(slot)) : ValueId();
    }
    return parts;
}

std::string comparesFloats(const EmitSite& site)
{
    return site.emit.opset() < 11 ? "it needs Equal of floats, which operator sets before 11 have not; convert the "
                                    "model to a newer opset"
                                  : "";
}

/// The first operand that has the extreme takes all.
EmittedParts extreme(EmitSite& site)
{
    const Formula f{site};
    EmittedParts parts(site.operands.size());
    ValueId left = f.up;
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        const ValueId isOwn = site.emit.node("Equal", {site.operands[slot], f.y});
        if (site.wants(slot)) {
            parts[slot] = site.emit.sumTo(f.pick(isOwn, left, f.number(0)), site.outputShape(), site.shape(slot));
        }
        left = f.pick(isOwn, f.number(0), left);
    }
    return parts;
}

/// Back to the floating type that it came from.
EmittedParts castBack(EmitSite& site)
{
    const tensor::DType from = site.types[0];
    const bool isSame = from == site.emit.floatType();
    EmittedParts parts(site.operands.size());
    parts[0] = isSame ? site.up() : site.emit.node("Cast", {site.up()}, {{"to", ops::onnxOfFloating(from)}});
    return parts;
}

constexpr std::array kActivationRules{
    EmitRule{"Acos", never, arcCosine},
    EmitRule{"Acosh", never, areaCosine},
    EmitRule{"Asin", never, arcSine},
    EmitRule{"Asinh", never, areaSine},
    EmitRule{"Atan", never, arcTangent},
    EmitRule{"Atanh", never, areaTangent},
    EmitRule{"Cast", never, castBack},
    EmitRule{"CastLike", never, castBack, 1},
    EmitRule{"Celu", never, celu},
    EmitRule{"Clip", constantBounds, clip},
    EmitRule{"Cosh", never, hyperbolicCosine},
    EmitRule{"Elu", never, elu},
    EmitRule{"Gelu", never, gelu},
    EmitRule{"HardSigmoid", never, hardSigmoid},
    EmitRule{"HardSwish", never, hardSwish},
    EmitRule{"Max", comparesFloats, extreme},
    EmitRule{"Mean", never, mean},
    EmitRule{"Min", comparesFloats, extreme},
    EmitRule{"Mish", never, mish},
    EmitRule{"PRelu", never, prelu},
    EmitRule{"Selu", never, selu},
    EmitRule{"Sinh", never, hyperbolicSine},
    EmitRule{"Softsign", never, softsign},
    EmitRule{"Swish", never, swish},
    EmitRule{"Tan", never, tangent},
    EmitRule{"ThresholdedRelu", never, thresholded},
};

} // namespace

std::span<const EmitRule> activationRules() { return kActivationRules; }

} // namespace retro::tape
