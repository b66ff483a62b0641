// SPDX-License-Identifier: Apache-2.0
// Activations and elementary functions that the first list has not, limits and extremes.
#include "core/ops/numbertypes.h"
#include "core/tape/gradientgraph/formula.h"

#include <numbers>

namespace retro::tape
{

namespace
{

Term elu(const Formula& f) { return f.up * f.pick(f.x.isAbove(0), 1, f.y + f.number("alpha", 1)); }

Term selu(const Formula& f)
{
    const double alpha = f.number("alpha", 1.67326319217681884765625);
    const double gamma = f.number("gamma", 1.05070102214813232421875);
    return f.up * f.pick(f.x.isAbove(0), gamma, f.y + alpha * gamma);
}

Term celu(const Formula& f)
{
    const Term scaled = f.x / f.number("alpha", 1);
    return f.up * f.pick(f.x.isAbove(0), 1, scaled.of("Exp"));
}

Term hardSigmoid(const Formula& f)
{
    const Term isInside = f.y.isAbove(0).with("And", f.y.isBelow(1));
    return f.up * f.pick(isInside, f.number("alpha", 0.2), 0);
}

/// x · clip(x/6 + ½, 0, 1).
Term hardSwish(const Formula& f)
{
    const Term right = f.pick(f.x.isBelow(3), f.x / 3 + 0.5, f.x.number(1));
    return f.up * f.pick(f.x.isAbove(-3), right, 0);
}

Term softsign(const Formula& f)
{
    const Term base = 1 + f.x.of("Abs");
    return f.up / (base * base);
}

/// x · tanh(softplus(x)).
Term mish(const Formula& f)
{
    const Term t = f.x.of("Softplus").of("Tanh");
    return f.up * (t + f.x * f.x.of("Sigmoid") * (1 - t * t));
}

/// x · σ(αx).
Term swish(const Formula& f)
{
    const Term scaled = f.x * f.number("alpha", 1);
    const Term gate = scaled.of("Sigmoid");
    return f.up * (gate + scaled * gate * (1 - gate));
}

/// x · Φ(x), or its form with tanh.
Term gelu(const Formula& f)
{
    const Term square = f.x * f.x;
    if (f.site.text("approximate", "none") == "none") {
        const Term share = 0.5 * (1 + (f.x * (std::numbers::sqrt2 / 2)).of("Erf"));
        const Term bell = (square * -0.5).of("Exp");
        return f.up * (share + f.x * bell * (std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2));
    }
    const double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const Term t = (f.x * factor * (1 + square * 0.044715)).of("Tanh");
    const Term slope = factor * (1 + square * (3 * 0.044715));
    return f.up * (0.5 * (1 + t) + f.x * 0.5 * (1 - t * t) * slope);
}

/// a + b·x².
Term quadratic(const Formula& f, double a, double b) { return a + b * (f.x * f.x); }

std::string constantBounds(const EmitSite& site)
{
    return site.wants(1) || site.wants(2) ? "its bounds are computed; only constant ones have a rule here" : "";
}

/// Bounds are operands, until operator set 10 attributes.
EmittedParts clip(EmitSite& site)
{
    const Formula f{site};
    EmittedParts parts(site.operands.size());
    Term part = f.up;
    const auto cut = [&](std::size_t slot, std::string_view name, std::string_view comparison) {
        const bool isAttribute = site.node.opset < 11 && site.node.attributes.contains(name);
        if (site.has(slot) || isAttribute) {
            const Term bound = site.has(slot) ? Term(site.emit, site.operands[slot]) : f.x.number(site.number(name, 0));
            part = f.pick(f.x.with(comparison, bound), 0, part);
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
    const Term isNegative = f.x.isBelow(0);
    if (site.wants(0)) {
        parts[0] = f.pick(isNegative, f.up * Term(site.emit, site.operands[1]), f.up);
    }
    if (site.wants(1)) {
        const Term part = f.pick(isNegative, f.up * f.x, 0);
        parts[1] = site.emit.sumTo(part, site.outputShape(), site.shape(1));
    }
    return parts;
}

EmittedParts mean(EmitSite& site)
{
    const Formula f{site};
    EmittedParts parts(site.operands.size());
    const Term share = f.up * (1 / static_cast<double>(parts.size()));
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
    Term left = f.up;
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        const Term isOwn = Term(site.emit, site.operands[slot]).with("Equal", f.y);
        if (site.wants(slot)) {
            parts[slot] = site.emit.sumTo(f.pick(isOwn, left, 0), site.outputShape(), site.shape(slot));
        }
        left = f.pick(isOwn, 0, left);
    }
    return parts;
}

/// Back to the floating type that it came from.
EmittedParts castBack(EmitSite& site)
{
    const tensor::DType from = site.types[0];
    const bool isSame = from == site.emit.floatType();
    EmittedParts parts(site.operands.size());
    parts[0] = isSame ? site.up() : site.emit.node("Cast", {site.up()}, {{"to", ops::onnxOf(from)}});
    return parts;
}

} // namespace

const EmitRules kActivationRules{
    {"Acos", never, byFormula<[](const Formula& f) { return -(f.up / quadratic(f, 1, -1).of("Sqrt")); }>},
    {"Acosh", never, byFormula<[](const Formula& f) { return f.up / quadratic(f, -1, 1).of("Sqrt"); }>},
    {"Asin", never, byFormula<[](const Formula& f) { return f.up / quadratic(f, 1, -1).of("Sqrt"); }>},
    {"Asinh", never, byFormula<[](const Formula& f) { return f.up / quadratic(f, 1, 1).of("Sqrt"); }>},
    {"Atan", never, byFormula<[](const Formula& f) { return f.up / quadratic(f, 1, 1); }>},
    {"Atanh", never, byFormula<[](const Formula& f) { return f.up / quadratic(f, 1, -1); }>},
    {"Cast", never, castBack},
    {"CastLike", never, castBack, 1},
    {"Celu", never, byFormula<celu>},
    {"Clip", constantBounds, clip},
    {"Cosh", never, byFormula<[](const Formula& f) { return f.up * f.x.of("Sinh"); }>},
    {"Elu", never, byFormula<elu>},
    {"Gelu", never, byFormula<gelu>},
    {"HardSigmoid", never, byFormula<hardSigmoid>},
    {"HardSwish", never, byFormula<hardSwish>},
    {"Max", comparesFloats, extreme},
    {"Mean", never, mean},
    {"Min", comparesFloats, extreme},
    {"Mish", never, byFormula<mish>},
    {"PRelu", never, prelu},
    {"Selu", never, byFormula<selu>},
    {"Sinh", never, byFormula<[](const Formula& f) { return f.up * f.x.of("Cosh"); }>},
    {"Softsign", never, byFormula<softsign>},
    {"Swish", never, byFormula<swish>},
    {"Tan", never, byFormula<[](const Formula& f) { return f.up * (1 + f.y * f.y); }>},
    {"ThresholdedRelu", never,
     byFormula<[](const Formula& f) { return f.pick(f.x.isAbove(f.number("alpha", 1)), f.up, 0); }>},
};

} // namespace retro::tape
