// SPDX-License-Identifier: Apache-2.0

#include "core/ops/algebra.h"
#include "core/rewrite/body/bodybuilder.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::rewrite
{

using tensor::DType;

namespace
{

/// softmax(scale·q·kᵀ + masks)·v that a body writes out; q, k and v of rank 4: batch × heads × tokens × width.
struct DotProduct
{
    ValueId q;
    ValueId k;
    ValueId v;
    Shape qShape;
    Shape kShape; ///< past keys included
    Shape vShape;
    double scale = 1;
    double softcap = 0; ///< 0: none
    ValueId bias = {};  ///< added to the logits; may be invalid
    ValueId keep = {};  ///< bool: logits that stay; may be invalid
    bool isCausal = false;
    std::int64_t past = 0; ///< keys in front of the first query's own
};

/// What was written.
struct DotProductValues
{
    ValueId raw;
    ValueId capped;
    ValueId biased;
    ValueId probabilities;
    ValueId y; ///< batch × heads × queries × value width
};

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

/// Writes it. Keys and values of fewer heads are repeated, each for as many heads of the queries in a row.
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

/// batch × tokens × heads·width as batch × heads × tokens × width, and back.
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

/// Operands of the standard's Attention.
struct AttentionSlot
{
    enum : std::size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };
};

/// Operand of rank 3 or 4 as batch × heads × tokens × width.
ValueId byHead(BodyBuilder& body, std::size_t slot, const char* name, std::string_view headsName, Shape& shape)
{
    const Shape own = body.shapeOf(slot);
    if (own.size() == 4) {
        shape = own;
        return body.operand(slot);
    }
    const std::int64_t heads = body.attribute(headsName, std::int64_t{1});
    shape = {own[0], heads, own[1], own[2] / heads};
    return writeSplitHeads(body, name, body.operand(slot), own, heads);
}

/// With the past tokens in front.
ValueId withPast(BodyBuilder& body, ValueId now, std::size_t slot, const char* name, Shape& shape)
{
    if (!body.isGiven(slot)) {
        return now;
    }
    shape[2] += body.shapeOf(slot)[2];
    return body.add("Concat", name, {body.operand(slot), now}, {{"axis", std::int64_t{2}}});
}

/// Only logits that this one keeps, too, stay.
void alsoKeep(BodyBuilder& body, DotProduct& product, const std::string& name, ValueId keep)
{
    product.keep = product.keep.isValid() ? body.add("And", name, {product.keep, keep}) : keep;
}

/// True for the first of some keys.
tensor::Tensor firstOf(std::int64_t keys, std::int64_t count)
{
    tensor::TensorBuffer inside(DType::Bool, {keys});
    for (std::int64_t j = 0; j < keys; ++j) {
        inside.data<bool>()[j] = j < count;
    }
    return std::move(inside).freeze();
}

/// The mask with as many columns as there are keys: those behind its end are not seen.
void takeMask(BodyBuilder& body, DotProduct& product)
{
    if (!body.isGiven(AttentionSlot::kMask)) {
        return;
    }
    ValueId mask = body.operand(AttentionSlot::kMask);
    Shape rest = body.shapeOf(AttentionSlot::kMask);
    const std::int64_t width = rest.back();
    const std::int64_t keys = product.kShape[2];
    const DType type = body.given(AttentionSlot::kMask).type.dtype;
    if (width != 1 && width < keys) {
        rest.back() = keys - width;
        const ValueId unseen = body.constant("behind the mask", tensor::Tensor::zeros(type, rest));
        mask = body.add("Concat", "mask of all keys", {mask, unseen}, {{"axis", std::int64_t{-1}}});
    }
    if (type == DType::Bool) {
        product.keep = mask;
        return;
    }
    product.bias = mask;
    if (width != 1 && width < keys) {
        product.keep = body.constant("inside the mask", firstOf(keys, width));
    }
    const tensor::Tensor& constant = body.given(AttentionSlot::kMask).constant;
    if (!constant.isValid() || !ops::algebra::allFinite(constant)) { // −∞ hides, and rows of it alone are zero
        const ValueId hidden = body.add("IsInf", "mask hides", {mask}, {{"detect_positive", std::int64_t{0}}});
        const ValueId shown = body.add("Not", "mask shows", {hidden});
        product.bias = body.add("Where", "finite mask", {shown, mask, body.number("no bias", 0)});
        alsoKeep(body, product, "mask shows inside", shown);
    }
}

/// 0, 1, 2 … or, for `isBackwards`, the other way round, down to 0.
tensor::Tensor countingNumbers(Shape shape, bool isBackwards)
{
    tensor::TensorBuffer numbers(DType::Int64, std::move(shape));
    const std::span<std::int64_t> all = numbers.span<std::int64_t>();
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = static_cast<std::int64_t>(isBackwards ? all.size() - 1 - i : i);
    }
    return std::move(numbers).freeze();
}

/// True for the keys of each image that count, batch × 1 × 1 × keys. A length beyond the keys or below 0 is refused
/// when it runs: turning the first `length` of a row around, all of them true, changes nothing else.
ValueId insideLengths(BodyBuilder& body, ValueId lengths, std::int64_t batch, std::int64_t keys)
{
    const ValueId places = body.constant("places", countingNumbers({1, keys}, false));
    const ValueId perRow = body.reshape("lengths of rows", lengths, {batch, 1});
    const ValueId inside = body.add("Less", "inside of rows", {places, perRow});
    const ValueId checked = body.add("ReverseSequence", "lengths within the keys", {inside, lengths},
                                     {{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}});
    return body.reshape("inside", checked, {batch, 1, 1, keys});
}

/// Keys behind the end of each row are not seen. Without past ones, the causal mask is counted from that end, or from
/// the number of keys in front of the queries, which CacheAppend gives beside it.
void takeLengths(BodyBuilder& body, DotProduct& product)
{
    if (!body.isGiven(AttentionSlot::kLengths)) {
        return;
    }
    const ValueId wide =
        body.add("Cast", "lengths wide", {body.operand(AttentionSlot::kLengths)}, {{"to", std::int64_t{7}}});
    const Shape perImage{product.kShape[0], 1, 1, 1};
    const bool isPair = body.shapeOf(AttentionSlot::kLengths).size() == 2;
    const std::vector<ValueId> parts =
        isPair ? body.split("lengths and keys in front", wide, 1, {1, 1}) : std::vector<ValueId>{wide};
    const ValueId lengths = body.reshape("lengths", parts.front(), perImage);
    const ValueId positions = body.constant("positions", countingNumbers({1, product.kShape[2]}, false));
    const ValueId inside = isPair ? body.add("Less", "inside", {positions, lengths})
                                  : insideLengths(body, wide, product.kShape[0], product.kShape[2]);
    alsoKeep(body, product, "mask inside", inside);
    if (!product.isCausal || (body.isGiven(AttentionSlot::kPastKey) && !isPair)) {
        return;
    }
    product.isCausal = false;
    if (isPair) {
        const ValueId before = body.reshape("keys in front", parts.back(), perImage);
        const ValueId own = body.constant("own place", countingNumbers({product.qShape[2], 1}, false));
        const ValueId last = body.add("Add", "last key of each query", {before, own});
        alsoKeep(body, product, "mask seen", body.add("LessOrEqual", "seen", {positions, last}));
        return;
    }
    const ValueId behind = body.constant("queries behind", countingNumbers({product.qShape[2], 1}, true));
    const ValueId ends = body.add("Sub", "keys of each query", {lengths, behind});
    alsoKeep(body, product, "mask seen", body.add("Less", "seen from the end", {positions, ends}));
}

/// Keys outside the window around the place of each query are not seen.
void takeWindow(BodyBuilder& body, DotProduct& product)
{
    const std::int64_t left = body.attribute("left_window_size", std::int64_t{-1});
    const std::int64_t right = body.attribute("right_window_size", std::int64_t{-1});
    if (left < 0 && right < 0) {
        return;
    }
    const std::int64_t keys = product.kShape[2];
    tensor::TensorBuffer seen(DType::Bool, {product.qShape[2], keys});
    for (std::int64_t i = 0; i < product.qShape[2] * keys; ++i) {
        const std::int64_t behind = i % keys - (i / keys + product.past); // its own place
        seen.data<bool>()[i] = (left < 0 || behind >= -left) && (right < 0 || behind <= right);
    }
    alsoKeep(body, product, "mask in window", body.constant("window", std::move(seen).freeze()));
}

} // namespace

base::Result<FunctionBody> attentionBody(BodyBuilder body)
{
    const bool hasWindow = body.attribute("left_window_size", std::int64_t{-1}) >= 0 ||
                           body.attribute("right_window_size", std::int64_t{-1}) >= 0;
    if (hasWindow && body.isGiven(AttentionSlot::kLengths)) {
        return base::inputError(
            "a window of keys beside nonpad_kv_seqlen is not written out; give a mask in its place");
    }
    DotProduct product;
    product.q = byHead(body, AttentionSlot::kQuery, "queries", "q_num_heads", product.qShape);
    product.k = byHead(body, AttentionSlot::kKey, "keys", "kv_num_heads", product.kShape);
    product.v = byHead(body, AttentionSlot::kValue, "values", "kv_num_heads", product.vShape);
    product.k = withPast(body, product.k, AttentionSlot::kPastKey, "keys with past", product.kShape);
    product.v = withPast(body, product.v, AttentionSlot::kPastValue, "values with past", product.vShape);
    product.past = body.isGiven(AttentionSlot::kPastKey) ? body.shapeOf(AttentionSlot::kPastKey)[2] : 0;
    const auto width = static_cast<double>(std::max<std::int64_t>(product.qShape[3], 1));
    product.scale = body.attribute("scale", 1 / std::sqrt(width));
    product.softcap = body.attribute("softcap", 0.0);
    product.isCausal = body.attribute("is_causal", std::int64_t{0}) != 0;
    takeMask(body, product);
    takeLengths(body, product);
    takeWindow(body, product);
    const DotProductValues made = write(body, product);
    const Shape y{product.qShape[0], product.qShape[1], product.qShape[2], product.vShape[3]};
    const bool isFlat = body.shapeOf(AttentionSlot::kQuery).size() == 3;
    body.output(0, isFlat ? writeJoinHeads(body, "result", made.y, y) : made.y);
    const std::array scores{made.raw, made.capped, made.biased, made.probabilities};
    body.output(1, product.k);
    body.output(2, product.v);
    body.output(3, scores[static_cast<std::size_t>(body.attribute("qk_matmul_output_mode", std::int64_t{0}))]);
    return std::move(body).finish();
}

} // namespace retro::rewrite
