// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/attributes.h"
#include "core/rewrite/chainfuser.h"
#include "core/rewrite/passes.h"

#include <array>
#include <numbers>

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// factor · x · gate, the gate made by a node that only the product reads.
struct Gated
{
    double factor = 1;
    ValueId x;
    ValueId gate;
};

/// The ways to read a product of two values as x times a gate.
std::vector<Gated> gatedForms(const Product& product)
{
    if (!product.isExact || product.powers.size() != 2 || product.powers[0].exponent != 1 ||
        product.powers[1].exponent != 1) {
        return {};
    }
    const ValueId a = product.powers[0].value;
    const ValueId b = product.powers[1].value;
    return {{product.factor, a, b}, {product.factor, b, a}};
}

/// Factor k of a value k·x.
std::optional<double> multipleOf(Pattern& pattern, ValueId value, ValueId x)
{
    const Product product = pattern.product(value);
    return product.only(1) == x ? std::optional(product.factor) : std::nullopt;
}

constexpr double kTanhScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi; // √(2/π)
constexpr double kTanhCube = 0.044715;

/// k·(first + second), with first = a·x^i and second = b·x^j: √(2/π)·(x + 0.044715·x³), whatever was multiplied in.
bool isTanhSum(Pattern& pattern, const Product& outer, ValueId sum, ValueId x)
{
    const Node* add = pattern.soleMaker(sum, "Add");
    if (add == nullptr) {
        return false;
    }
    std::array<double, 4> byExponent{};
    for (const ValueId operand : add->inputs) {
        const Product term = pattern.product(operand);
        const double exponent = term.exponentOf(x) + outer.exponentOf(x);
        const bool isPowerOfX = term.isExact && term.powers.size() == (term.exponentOf(x) == 0 ? 0U : 1U);
        if (!isPowerOfX || (exponent != 1 && exponent != 3)) {
            return false;
        }
        byExponent[static_cast<std::size_t>(exponent)] += outer.factor * term.factor;
    }
    return pattern.isClose(byExponent[1], kTanhScale) && pattern.isClose(byExponent[3], kTanhScale * kTanhCube);
}

bool isTanhOperand(Pattern& pattern, ValueId operand, ValueId x)
{
    const Product outer = pattern.product(operand);
    if (!outer.isExact || outer.powers.empty() || outer.powers.size() > 2) {
        return false;
    }
    for (const Power& power : outer.powers) {
        const bool isRest = outer.powers.size() == 1 || outer.exponentOf(x) == 1;
        if (power.value != x && power.exponent == 1 && isRest) {
            return isTanhSum(pattern, outer, power.value, x);
        }
    }
    return false;
}

bool isErfOperand(Pattern& pattern, ValueId operand, ValueId x)
{
    const std::optional<double> multiple = multipleOf(pattern, operand, x);
    return multiple && pattern.isClose(*multiple, 1 / std::numbers::sqrt2);
}

struct GeluForm
{
    const char* gate;
    const char* approximate;
    bool (*isOperand)(Pattern&, ValueId, ValueId);
};

constexpr std::array kGeluForms{GeluForm{"Erf", "none", isErfOperand}, GeluForm{"Tanh", "tanh", isTanhOperand}};

/// factor·x·(a + b·g(u)) with a = b and factor·a = ½.
std::optional<Fusion> matchGelu(Pattern& pattern, const Gated& form)
{
    const std::optional<Shifted> sum = pattern.shifted(form.gate);
    if (!sum || !pattern.isClose(form.factor * sum->shift, 0.5)) {
        return std::nullopt;
    }
    const Product scaled = pattern.product(sum->rest);
    const std::optional<ValueId> gate = scaled.only(1);
    if (!gate || !pattern.isClose(scaled.factor, sum->shift)) {
        return std::nullopt;
    }
    for (const GeluForm& gelu : kGeluForms) {
        const Node* node = pattern.soleMaker(*gate, gelu.gate);
        if (node != nullptr && gelu.isOperand(pattern, node->inputs[0], form.x)) {
            return Fusion{"Gelu", 20, {form.x}, {{"approximate", std::string(gelu.approximate)}}};
        }
    }
    return std::nullopt;
}

/// x·σ(βx).
std::optional<Fusion> matchSwish(Pattern& pattern, const Gated& form)
{
    const Node* gate = pattern.soleMaker(form.gate, "Sigmoid");
    const std::optional<double> beta = gate != nullptr ? multipleOf(pattern, gate->inputs[0], form.x) : std::nullopt;
    if (!beta || form.factor != 1) {
        return std::nullopt;
    }
    return Fusion{"Swish", 24, {form.x}, {{"alpha", *beta}}};
}

/// x·max(0, min(1, x/6 + ½)) by HardSigmoid.
std::optional<Fusion> matchHardSwish(Pattern& pattern, const Gated& form)
{
    const Node* gate = pattern.soleMaker(form.gate, "HardSigmoid");
    if (gate == nullptr || gate->inputs[0] != form.x || form.factor != 1 ||
        !pattern.isClose(floatAttribute(*gate, "alpha", 0.2), 1.0 / 6) || floatAttribute(*gate, "beta", 0.5) != 0.5) {
        return std::nullopt;
    }
    return Fusion{"HardSwish", 14, {form.x}, {}};
}

/// x·clip(x + 3, 0, 6)/6.
std::optional<Fusion> matchHardSwishByClip(Pattern& pattern, const Gated& form)
{
    const Node* gate = pattern.soleMaker(form.gate, "Clip");
    if (gate == nullptr || gate->inputs.size() != 3 || pattern.scalar(gate->inputs[1]) != 0.0 ||
        pattern.scalar(gate->inputs[2]) != 6.0 || !pattern.isClose(form.factor, 1.0 / 6)) {
        return std::nullopt;
    }
    const std::optional<Shifted> sum = pattern.shifted(gate->inputs[0]);
    if (!sum || sum->shift != 3 || sum->rest != form.x) {
        return std::nullopt;
    }
    return Fusion{"HardSwish", 14, {form.x}, {}};
}

/// x·tanh(softplus(x)).
std::optional<Fusion> matchMish(Pattern& pattern, const Gated& form)
{
    const Node* gate = pattern.soleMaker(form.gate, "Tanh");
    const Node* inner = gate != nullptr ? pattern.soleMaker(gate->inputs[0], "Softplus") : nullptr;
    if (inner == nullptr || inner->inputs[0] != form.x || form.factor != 1) {
        return std::nullopt;
    }
    return Fusion{"Mish", 18, {form.x}, {}};
}

constexpr std::array kMatchers{matchGelu, matchSwish, matchHardSwish, matchHardSwishByClip, matchMish};

std::optional<Fusion> matchActivation(Draft& draft, Pattern& pattern)
{
    const std::string& op = draft.node(pattern.root()).op;
    if (op != "Mul" && op != "Div") {
        return std::nullopt;
    }
    const Product product = pattern.product(pattern.result());
    for (const Gated& form : gatedForms(product)) {
        for (const auto& matcher : kMatchers) {
            Pattern attempt = pattern;
            if (std::optional<Fusion> fusion = matcher(attempt, form)) {
                pattern = attempt;
                return fusion;
            }
        }
    }
    return std::nullopt;
}

} // namespace

void fuseActivations(Draft& draft, std::vector<RewriteStep>& steps)
{
    ChainFuser(draft, steps, "fuse activation").run(matchActivation);
}

} // namespace retro::rewrite
