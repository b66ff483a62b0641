// SPDX-License-Identifier: Apache-2.0
#include "core/ops/registry.h"
#include "core/rewrite/chainfuser.h"
#include "core/rewrite/passes.h"

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// (x − mean)/√(mean square + ε) · scale, as it was read.
struct Standardised
{
    ValueId x;
    ValueId scale; ///< invalid: `factor` for all
    double factor = 1;
    double epsilon = 0;
    std::int64_t axis = -1; ///< from the end
};

/// value · root^-½ · scale.
struct Quotient
{
    ValueId value;
    ValueId root;
    ValueId scale;
    double factor = 1;
};

/// The place of one factor in a quotient.
ValueId& placeOf(const Draft& draft, const Power& power, Quotient& quotient)
{
    if (power.exponent == -0.5) {
        return quotient.root;
    }
    return draft.isConstant(power.value) ? quotient.scale : quotient.value;
}

std::optional<Quotient> quotientOf(const Draft& draft, const Product& product)
{
    Quotient quotient{{}, {}, {}, product.factor};
    for (const Power& power : product.powers) {
        ValueId& role = placeOf(draft, power, quotient);
        if (role.isValid() || (power.exponent != 1 && power.exponent != -0.5)) {
            return std::nullopt;
        }
        role = power.value;
    }
    const bool isWhole = product.isExact && quotient.value.isValid() && quotient.root.isValid();
    return isWhole ? std::optional(quotient) : std::nullopt;
}

std::optional<std::size_t> rankOf(const Draft& draft, std::initializer_list<ValueId> values)
{
    for (const ValueId value : values) {
        if (draft.value(value).shape) {
            return draft.value(value).shape->size();
        }
    }
    return std::nullopt;
}

/// The mean of squares of a value, with what is added to it.
struct SquareMean
{
    ValueId value;
    double epsilon = 0;
    std::vector<std::int64_t> axes;
};

std::optional<SquareMean> squareMean(Pattern& pattern, ValueId root)
{
    const std::optional<Shifted> sum = pattern.shifted(root);
    const std::optional<Mean> mean = sum ? pattern.mean(sum->rest) : std::nullopt;
    if (!mean) {
        return std::nullopt;
    }
    const Product square = pattern.product(mean->operand);
    const std::optional<ValueId> value = square.only(2);
    if (!value || square.factor != 1) {
        return std::nullopt;
    }
    return SquareMean{*value, sum->shift, mean->axes};
}

/// x of a value x − mean(x) over `axes`; exporters may write the difference twice.
std::optional<ValueId> centredOf(Pattern& pattern, ValueId difference, const std::vector<std::int64_t>& axes)
{
    const Node* node = pattern.maker(difference, "Sub");
    const std::optional<Mean> mean = node != nullptr ? pattern.mean(node->inputs[1]) : std::nullopt;
    const bool holds = mean && mean->operand == node->inputs[0] && mean->axes == axes;
    return holds ? std::optional(node->inputs[0]) : std::nullopt;
}

/// What is divided by the root of its mean square; for LayerNormalization that is x − mean(x).
std::optional<ValueId> operandOf(Pattern& pattern, const Quotient& quotient, const SquareMean& square, bool isCentred)
{
    if (!isCentred) {
        return quotient.value == square.value ? std::optional(quotient.value) : std::nullopt;
    }
    const std::optional<ValueId> x = centredOf(pattern, quotient.value, square.axes);
    const std::optional<ValueId> other = centredOf(pattern, square.value, square.axes);
    return x == other ? x : std::nullopt;
}

/// A constant with no more axes than are normalised: it broadcasts to them whatever the rank of x is.
bool isAffineOperand(const Draft& draft, ValueId value, std::int64_t axis)
{
    return draft.isConstant(value) && tensor::isFloating(draft.value(value).constant.dtype()) &&
           static_cast<std::int64_t>(draft.value(value).constant.rank()) <= -axis;
}

std::optional<Standardised> standardised(Pattern& pattern, ValueId value, bool isCentred)
{
    const Draft& draft = pattern.draft();
    const std::optional<Quotient> quotient = quotientOf(draft, pattern.product(value));
    const std::optional<SquareMean> square = quotient ? squareMean(pattern, quotient->root) : std::nullopt;
    const std::optional<ValueId> x = square ? operandOf(pattern, *quotient, *square, isCentred) : std::nullopt;
    const std::optional<std::int64_t> axis =
        x ? trailingAxis(square->axes, rankOf(draft, {*x, quotient->value, value})) : std::nullopt;
    if (!axis || (quotient->scale.isValid() && !isAffineOperand(draft, quotient->scale, *axis)) ||
        (quotient->scale.isValid() && quotient->factor != 1)) {
        return std::nullopt;
    }
    return Standardised{*x, quotient->scale, quotient->factor, square->epsilon, *axis};
}

bool isMultiplicative(const Node& node) { return node.op == "Mul" || node.op == "Div"; }

/// The constant that a last Add adds; invalid without one.
ValueId biasOf(const Draft& draft, const Node& node)
{
    for (const ValueId input : node.inputs) {
        if (node.op == "Add" && draft.isConstant(input)) {
            return input;
        }
    }
    return {};
}

/// Scale of the node: what the chain multiplied by, else one number for all.
ValueId scaleOf(Draft& draft, const Pattern& pattern, const Standardised& form)
{
    if (form.scale.isValid()) {
        return form.scale;
    }
    tensor::TensorBuffer one(DType::Float64, {1});
    one.span<double>()[0] = form.factor;
    return draft.addConstant(draft.node(pattern.root()).name + ".scale", std::move(one).freeze(),
                             draft.value(form.x).dtype);
}

graph::Attributes attributesOf(const Standardised& form) { return {{"axis", form.axis}, {"epsilon", form.epsilon}}; }

std::optional<Fusion> matchLayerNorm(Draft& draft, Pattern& pattern)
{
    const Node& root = draft.node(pattern.root());
    const ValueId bias = biasOf(draft, root);
    if (!root.domain.empty() || !(bias.isValid() || isMultiplicative(root))) {
        return std::nullopt;
    }
    const ValueId inner = !bias.isValid() ? pattern.result() : root.inputs[root.inputs[0] == bias ? 1 : 0];
    const std::optional<Standardised> form = standardised(pattern, inner, true);
    if (!form || (bias.isValid() && !isAffineOperand(draft, bias, form->axis))) {
        return std::nullopt;
    }
    std::vector<ValueId> inputs{form->x, scaleOf(draft, pattern, *form)};
    if (bias.isValid()) {
        inputs.push_back(bias);
    }
    return Fusion{"LayerNormalization", 17, std::move(inputs), attributesOf(*form)};
}

std::optional<Fusion> matchRmsNorm(Draft& draft, Pattern& pattern)
{
    const Node& root = draft.node(pattern.root());
    if (!root.domain.empty() || !isMultiplicative(root)) {
        return std::nullopt;
    }
    const std::optional<Standardised> form = standardised(pattern, pattern.result(), false);
    if (!form) {
        return std::nullopt;
    }
    return Fusion{"RMSNormalization", 23, {form->x, scaleOf(draft, pattern, *form)}, attributesOf(*form)};
}

} // namespace

void fuseLayerNorm(Draft& draft, std::vector<RewriteStep>& steps)
{
    ChainFuser(draft, steps, "fuse LayerNormalization").run(matchLayerNorm);
}

void fuseRmsNorm(Draft& draft, std::vector<RewriteStep>& steps)
{
    ChainFuser(draft, steps, "fuse RMSNormalization").run(matchRmsNorm);
}

} // namespace retro::rewrite
