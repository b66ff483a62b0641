// SPDX-License-Identifier: Apache-2.0
// Bodies of a few nodes: gated and biased activations, normalisation of a sum.
#include "core/rewrite/body/bodybuilder.h"

namespace retro::rewrite
{

base::Result<FunctionBody> swiGluBody(BodyBuilder body)
{
    const ValueId gate = body.add("Swish", "gate", {body.operand(0)}, {{"alpha", body.floatAttribute("alpha", 1)}});
    body.output(0, body.add("Mul", "result", {gate, body.operand(1)}));
    return std::move(body).finish();
}

namespace
{

/// The bias may be missing.
base::Result<FunctionBody> biasedGelu(BodyBuilder body, const char* approximate)
{
    ValueId x = body.operand(0);
    if (body.isGiven(1)) {
        x = body.add("Add", "with bias", {x, body.operand(1)});
    }
    body.output(0, body.add("Gelu", "result", {x}, {{"approximate", std::string(approximate)}}));
    return std::move(body).finish();
}

/// x + skip + bias, normalised over the last axis.
base::Result<FunctionBody> skipNorm(BodyBuilder body, const std::string& op, std::size_t beta, std::size_t bias)
{
    ValueId sum = body.add("Add", "with skip", {body.operand(0), body.operand(1)});
    if (body.isGiven(bias)) {
        sum = body.add("Add", "with bias", {sum, body.operand(bias)});
    }
    std::vector<ValueId> inputs{sum, body.operand(2)};
    if (beta != bias && body.isGiven(beta)) {
        inputs.push_back(body.operand(beta));
    }
    body.output(0, body.add(op, "result", inputs,
                            {{"axis", std::int64_t{-1}}, {"epsilon", body.floatAttribute("epsilon", 1e-12)}}));
    body.output(3, sum);
    return std::move(body).finish();
}

} // namespace

base::Result<FunctionBody> biasGeluBody(BodyBuilder body) { return biasedGelu(std::move(body), "none"); }
base::Result<FunctionBody> fastGeluBody(BodyBuilder body) { return biasedGelu(std::move(body), "tanh"); }

base::Result<FunctionBody> skipLayerNormBody(BodyBuilder body)
{
    return skipNorm(std::move(body), "LayerNormalization", 3, 4);
}
base::Result<FunctionBody> skipRmsNormBody(BodyBuilder body)
{
    return skipNorm(std::move(body), "RMSNormalization", 3, 3);
}

} // namespace retro::rewrite
