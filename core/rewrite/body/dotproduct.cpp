// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/body/dotproduct.h"

namespace retro::rewrite
{

namespace
{

/// In place of −∞: no row of it alone makes NaN, and rules count it as masked (docs/composites.md, softmax-taylor).
constexpr double kGone = -1e38;

tensor::Tensor causalMask(std::int64_t queries, std::int64_t keys, std::int64_t past)
{
    tensor::TensorBuffer mask(tensor::DType::Bool, {queries, keys});
    for (std::int64_t i = 0; i < queries * keys; ++i) {
        mask.data<bool>()[i] = i % keys <= i / keys + past;
    }
    return std::move(mask).freeze();
}

ValueId repeated(BodyBuilder& body, const std::string& name, ValueId x, const Shape& shape, std::int64_t times)
{
    if (times == 1) {
        return x;
    }
    const ValueId apart = body.reshape(name + " singled", x, {shape[0], shape[1], 1, shape[2], shape[3]});
    const Shape wide{shape[0], shape[1], times, shape[2], shape[3]};
    const ValueId copies = body.add("Expand", name + " copies", {apart, body.ints(name + " copies, shape", wide)});
    return body.reshape(name + " repeated", copies, {shape[0], shape[1] * times, shape[2], shape[3]});
}

ValueId masked(BodyBuilder& body, const DotProduct& product, ValueId scores)
{
    const std::int64_t queries = product.qShape[2];
    const std::int64_t keys = product.kShape[2];
    if (product.bias.isValid()) {
        scores = body.add("Add", "scores with bias", {scores, product.bias});
    }
    if (product.keep.isValid()) {
        scores = body.add("Where", "scores with mask", {product.keep, scores, body.number("masked", kGone)});
    }
    if (product.isCausal) {
        const ValueId mask = body.constant("causal mask", causalMask(queries, keys, product.past));
        scores = body.add("Where", "scores with causal mask", {mask, scores, body.number("behind", kGone)});
    }
    return scores;
}

} // namespace

DotProductValues write(BodyBuilder& body, const DotProduct& product)
{
    const std::int64_t times = product.qShape[1] / product.kShape[1];
    const ValueId k = repeated(body, "keys", product.k, product.kShape, times);
    const ValueId v = repeated(body, "values", product.v, product.vShape, times);
    DotProductValues made;
    const ValueId turned = body.transpose("keys transposed", k, {0, 1, 3, 2});
    const ValueId product0 = body.add("MatMul", "queries by keys", {product.q, turned});
    made.raw = body.add("Mul", "scores", {product0, body.number("scale", product.scale)});
    made.capped = made.raw;
    if (product.softcap != 0) {
        const ValueId cap = body.number("cap", product.softcap);
        const ValueId bounded = body.add("Tanh", "scores bounded", {body.add("Div", "scores by cap", {made.raw, cap})});
        made.capped = body.add("Mul", "scores capped", {bounded, cap});
    }
    made.biased = masked(body, product, made.capped);
    made.probabilities = body.add("Softmax", "attention", {made.biased}, {{"axis", std::int64_t{-1}}});
    if (product.keep.isValid()) { // rows that are masked everywhere are zero
        made.probabilities =
            body.add("Where", "attention kept", {product.keep, made.probabilities, body.number("none", 0)});
    }
    made.y = body.add("MatMul", "mixed values", {made.probabilities, v});
    return made;
}

ValueId writeSplitHeads(BodyBuilder& body, const std::string& name, ValueId x, const Shape& shape, std::int64_t heads)
{
    const Shape apart{shape[0], shape[1], heads, shape[2] / heads};
    return body.transpose(name + " by head", body.reshape(name + " apart", x, apart), {0, 2, 1, 3});
}

ValueId writeJoinHeads(BodyBuilder& body, const std::string& name, ValueId x, const Shape& shape)
{
    const ValueId turned = body.transpose(name + " by token", x, {0, 2, 1, 3});
    return body.reshape(name, turned, {shape[0], shape[2], shape[1] * shape[3]});
}

} // namespace retro::rewrite
