// SPDX-License-Identifier: Apache-2.0
// Attention as com.microsoft joins it with what stands around it: a projection, heads that lie packed, biases, masks of
// several kinds. Each is written out around the Attention of the standard.
#include "core/formats/known/attentionheads.h"
#include "core/formats/known/knownfunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace retro::formats
{

using base::inputError;

namespace
{

constexpr std::int64_t kInt64 = 7; ///< TensorProto.DataType
constexpr std::int64_t kBool = 9;

/// Operands of MultiHeadAttention.
struct HeadSlot
{
    enum : std::size_t {
        kQuery,
        kKey,
        kValue,
        kBias,
        kPadding,
        kScoreBias,
        kPastKey,
        kPastValue,
        kPastLength,
        kIndirection
    };
};

/// Parts that lie packed along axis 3 of five, each batch × tokens × (heads · width).
HeadNames unpacked(FunctionWriter& body, std::size_t slot, std::int64_t parts)
{
    HeadNames made = body.addOf("", "Split", {body.operand(slot)}, {{"axis", std::int64_t{3}}, {"num_outputs", parts}},
                                kSplitByCount, static_cast<std::size_t>(parts));
    for (std::string& part : made) {
        part = headsJoined(body, part);
    }
    return made;
}

/// Keys or values with tokens in front of heads.
std::string byToken(FunctionWriter& body, std::size_t slot)
{
    return body.rank(slot).value_or(3) == 4 ? headsJoined(body, headsSwapped(body, body.operand(slot)))
                                            : body.operand(slot);
}

/// Queries, keys and values, batch × tokens × (heads · width) each.
base::Result<HeadNames> threeOperands(FunctionWriter& body)
{
    const bool hasKey = body.isGiven(HeadSlot::kKey);
    const bool hasValue = body.isGiven(HeadSlot::kValue);
    const auto rankOf = [&](std::size_t slot, std::size_t usual) { return body.rank(slot).value_or(usual); };
    if (!hasKey && !hasValue && rankOf(HeadSlot::kQuery, 5) == 5) {
        return unpacked(body, HeadSlot::kQuery, 3);
    }
    if (hasKey && !hasValue && rankOf(HeadSlot::kQuery, 3) == 3 && rankOf(HeadSlot::kKey, 5) == 5) {
        HeadNames made{body.operand(HeadSlot::kQuery)};
        const HeadNames packed = unpacked(body, HeadSlot::kKey, 2);
        made.insert(made.end(), packed.begin(), packed.end());
        return made;
    }
    const std::size_t rank = rankOf(HeadSlot::kKey, 3);
    if (!hasKey || !hasValue || rankOf(HeadSlot::kQuery, 3) != 3 || (rank != 3 && rank != 4) ||
        rankOf(HeadSlot::kValue, 3) != rank) {
        return inputError("its operands must be queries, keys and values of three axes; keys and values of four; "
                          "queries of five axes alone (packed); or queries of three and keys of five (packed)");
    }
    return HeadNames{body.operand(HeadSlot::kQuery), byToken(body, HeadSlot::kKey), byToken(body, HeadSlot::kValue)};
}

/// The same, each with its part of the bias, which is as wide as it is. Keys and values of four axes have been through
/// their own layer: no bias is added to them.
void addHeadBias(FunctionWriter& body, HeadNames& heads)
{
    if (!body.isGiven(HeadSlot::kBias)) {
        return;
    }
    HeadNames widths;
    for (const std::string& one : heads) {
        widths.push_back(body.add("Shape", {one}, {{"start", std::int64_t{2}}, {"end", std::int64_t{3}}}));
    }
    const std::string parts = body.add("Concat", widths, {{"axis", std::int64_t{0}}});
    const HeadNames biases = body.addOf("", "Split", {body.operand(HeadSlot::kBias), parts}, {}, kSplitByCount, 3);
    const bool isMadeBefore = body.isGiven(HeadSlot::kKey) && body.rank(HeadSlot::kKey) == std::size_t{4};
    for (std::size_t i = 0; i < (isMadeBefore ? 1 : heads.size()); ++i) {
        heads[i] = body.add("Add", {heads[i], biases[i]});
    }
}

/// Where an operator has what decides which keys are seen.
struct MaskSlots
{
    std::string_view name; ///< of the mask
    std::size_t mask;
    std::size_t scoreBias;
    std::size_t past;
    std::int64_t pastTokens; ///< the axis of its tokens
    bool mayHaveStarts;      ///< a mask of one axis may say where keys begin, behind where they end
};
constexpr MaskSlots kHeadMasks{
    "key_padding_mask", HeadSlot::kPadding, HeadSlot::kScoreBias, HeadSlot::kPastKey, 2, false};

/// Number of keys, those of the past included.
std::string keyCount(FunctionWriter& body, const std::string& keys, const MaskSlots& slots)
{
    const std::string count = body.add("Gather", {body.add("Shape", {keys}), body.wholeNumber(1)});
    if (!body.isGiven(slots.past)) {
        return count;
    }
    const std::string past = body.add("Shape", {body.operand(slots.past)});
    return body.add("Add", {count, body.add("Gather", {past, body.wholeNumber(slots.pastTokens)})});
}

/// Keys before the end that a mask of one axis has for each image, and from its start on, where it has one.
std::string keysInside(FunctionWriter& body, const std::string& keys, const MaskSlots& slots)
{
    const std::string positions =
        body.add("Range", {body.wholeNumber(0), keyCount(body, keys, slots), body.wholeNumber(1)});
    const std::string whole = body.add("Cast", {body.operand(slots.mask)}, {{"to", kInt64}});
    const auto perImage = [&](const std::string& numbers) {
        return body.add("Unsqueeze", {numbers, body.integers({1, 2, 3})});
    };
    const auto images = body.extentFromEnd(0, 3);
    if (!slots.mayHaveStarts || (images && images == body.extentFromEnd(slots.mask, 1))) {
        return body.add("Less", {positions, perImage(whole)});
    }
    const std::string first = body.integers({0});
    const std::string batch = body.add("Gather", {body.add("Shape", {keys}), first});
    const std::string ends = body.add("Slice", {whole, first, batch});
    const std::string none = body.add("Sub", {ends, ends}); // starts where there are none
    const std::string all = body.add("Concat", {whole, none}, {{"axis", std::int64_t{0}}});
    const std::string starts = body.add("Slice", {all, batch, body.add("Add", {batch, batch})});
    return body.add("And", {body.add("Less", {positions, perImage(ends)}),
                            body.add("GreaterOrEqual", {positions, perImage(starts)})});
}

/// Where keys count: bool, broadcastable to the scores, of a mask of 0 and 1 or of a number of keys per image.
base::Result<std::string> countingKeys(FunctionWriter& body, const std::string& keys, const MaskSlots& slots)
{
    const auto rank = body.rank(slots.mask);
    if (rank == std::size_t{1}) {
        return keysInside(body, keys, slots);
    }
    if (rank != std::size_t{2} && rank != std::size_t{3}) {
        return inputError(fmt::format("{} (operand {}) must be batch × keys, batch × queries × keys, or the number "
                                      "of keys of each image",
                                      slots.name, slots.mask));
    }
    // A mask of fewer keys, which Attention would fill up, is none of this operator's: it must have one per key.
    const std::string given = body.operand(slots.mask);
    const std::string counts = body.add("Cast", {given}, {{"to", kBool}});
    const std::string axes = rank == std::size_t{2} ? body.integers({0}) : body.integers({0, 1});
    const std::string outer = body.add("Gather", {body.add("Shape", {given}), axes});
    const std::string all = body.add("Unsqueeze", {keyCount(body, keys, slots), body.integers({0})});
    const std::string whole =
        body.add("Reshape", {counts, body.add("Concat", {outer, all}, {{"axis", std::int64_t{0}}})});
    return body.add("Unsqueeze", {whole, rank == std::size_t{2} ? body.integers({1, 2}) : body.integers({1})});
}

/// What is added to the scores: 0 where a key counts, else the masked value; plus the operand for it.
base::Result<std::string> scoreMask(FunctionWriter& body, const std::string& keys, const MaskSlots& slots)
{
    std::string mask = body.isGiven(slots.scoreBias) ? body.operand(slots.scoreBias) : std::string();
    if (!body.isGiven(slots.mask)) {
        return mask;
    }
    RETRO_TRY(const std::string counts, countingKeys(body, keys, slots));
    const std::string zero = body.numberLikeOperand(0);
    const std::string bias =
        body.add("Where", {counts, zero, body.numberLikeOperand(body.number("mask_filter_value", -10000))});
    return mask.empty() ? bias : body.add("Add", {mask, bias});
}

/// num_heads, where all operands that are there are supported.
base::Result<std::int64_t> checkedHeads(const FunctionWriter& body)
{
    if (body.isGiven(HeadSlot::kPastLength) || body.isGiven(HeadSlot::kIndirection)) {
        return inputError("past_sequence_length and cache_indirection (operands 8 and 9) are not supported; export the "
                          "model without beam search");
    }
    if (body.isGiven(HeadSlot::kPastKey) != body.isGiven(HeadSlot::kPastValue)) {
        return inputError("past_key and past_value (operands 6 and 7) go together");
    }
    const std::int64_t heads = body.integer("num_heads", 0);
    if (heads < 1) {
        return inputError(fmt::format("num_heads is {}, but must be positive", heads));
    }
    return heads;
}

/// What the Attention of the standard is told by an operator with as many heads of keys as of queries.
graph::Attributes ofAllHeads(const FunctionWriter& body, std::int64_t heads)
{
    graph::Attributes attributes{{"q_num_heads", heads}, {"kv_num_heads", heads}};
    attributes["is_causal"] = body.integer("unidirectional", 0);
    if (const double scale = body.number("scale", 0); scale != 0) {
        attributes["scale"] = scale;
    }
    return attributes;
}

Written writeMultiHeadAttention(FunctionWriter& body)
{
    RETRO_TRY(const std::int64_t heads, checkedHeads(body));
    RETRO_TRY(HeadNames operands, threeOperands(body));
    addHeadBias(body, operands);
    RETRO_TRY(const std::string mask, scoreMask(body, operands[1], kHeadMasks));
    const bool hasPast = body.isGiven(HeadSlot::kPastKey);
    if (!mask.empty() || hasPast) {
        operands.push_back(mask);
    }
    if (hasPast) {
        operands.push_back(body.operand(HeadSlot::kPastKey));
        operands.push_back(body.operand(HeadSlot::kPastValue));
    }
    graph::Attributes attributes = ofAllHeads(body, heads);
    const bool wantsScores = body.isRead(kScoreOutput);
    if (wantsScores) {
        attributes["qk_matmul_output_mode"] = kScoresWithMask;
    }
    const std::size_t results = wantsScores ? kScoreOutput + 1 : body.isAsked(2) ? 3 : body.isAsked(1) ? 2 : 1;
    const HeadNames made = body.addOf("", "Attention", operands, std::move(attributes), kFirstOpset, results);
    for (std::size_t k = 0; k < std::min(results, kScoreOutput); ++k) {
        body.output(k, made[k]);
    }
    if (wantsScores) { // keys behind a query have the least number that there is
        const std::string least = body.numberLikeOperand(std::numeric_limits<float>::lowest());
        body.output(kScoreOutput, body.add("Clip", {made[kScoreOutput], least}));
    }
    return true;
}

/// Where Attention and QAttention have what they share.
struct ProjectedSlots
{
    std::size_t bias = 2;
    std::size_t mask;
    std::size_t past;
    std::size_t scoreBias;
    std::size_t pastLength;
};
constexpr std::size_t kNoSlot = 99;
constexpr ProjectedSlots kPlainSlots{2, 3, 4, 5, 6};
constexpr ProjectedSlots kQuantisedSlots{2, 5, 8, kNoSlot, kNoSlot};

/// What is not supported, and what does not go together.
base::Result<void> expectForm(const FunctionWriter& body, const ProjectedSlots& slots)
{
    if (body.integer("past_present_share_buffer", 0) != 0 || body.integer("do_rotary", 0) != 0 ||
        body.isGiven(slots.pastLength)) {
        return inputError("past_present_share_buffer, past_sequence_length (operand 6) and do_rotary are not "
                          "supported; export the model without them");
    }
    return body.isGiven(slots.past) && body.isGiven(slots.scoreBias)
               ? inputError("past (operand 4) and attention_bias (operand 5) do not go together")
               : base::Result<void>();
}

/// Widths of queries, keys and values, where they are known.
base::Result<std::vector<std::int64_t>> checkedWidths(const FunctionWriter& body, const ProjectedSlots& slots)
{
    const std::int64_t heads = body.integer("num_heads", 0);
    const std::optional<std::vector<std::int64_t>> constant = body.constantShape(1);
    const std::int64_t columns = constant && !constant->empty() ? constant->back() : body.width(1).value_or(0);
    std::vector<std::int64_t> widths = body.integers("qkv_hidden_sizes");
    if (widths.empty() && columns > 0) {
        widths.assign(3, columns / 3);
    }
    const auto isOfHeads = [heads](std::int64_t width) { return width > 0 && width % heads == 0; };
    const std::int64_t all = std::accumulate(widths.begin(), widths.end(), std::int64_t{0});
    const bool fits =
        heads > 0 && (widths.empty() || (widths.size() == 3 && widths[0] == widths[1] &&
                                         std::ranges::all_of(widths, isOfHeads) && (columns == 0 || columns == all)));
    if (!fits) {
        return inputError(fmt::format("{} columns of weights do not split into queries, keys and values of {} heads",
                                      columns == 0 ? all : columns, heads));
    }
    if (!widths.empty() && (body.isGiven(slots.past) || body.isAsked(1)) && widths[1] != widths[2]) {
        return inputError(fmt::format("with a past or a present, keys and values must be of one width, but they have "
                                      "{} and {} per head",
                                      widths[1] / heads, widths[2] / heads));
    }
    return widths;
}

/// Self-attention with its projection: x·W + b is queries, keys and values side by side.
Written writeProjected(FunctionWriter& body, const std::string& x, const std::string& weights,
                       const ProjectedSlots& slots)
{
    RETRO_CHECK(expectForm(body, slots));
    RETRO_TRY(const std::vector<std::int64_t> widths, checkedWidths(body, slots));
    std::string projected = body.add("MatMul", {x, weights});
    if (body.isGiven(slots.bias)) {
        projected = body.add("Add", {projected, body.operand(slots.bias)});
    }
    HeadNames split{projected};
    graph::Attributes parts{{"axis", std::int64_t{2}}};
    if (widths.empty()) {
        parts["num_outputs"] = std::int64_t{3};
    } else {
        split.push_back(body.integers(widths));
    }
    HeadNames operands = body.addOf("", "Split", split, std::move(parts), kSplitByCount, 3);
    RETRO_TRY(const std::string mask,
              scoreMask(body, operands[1], {"mask_index", slots.mask, slots.scoreBias, slots.past, 3, true}));
    const bool hasPast = body.isGiven(slots.past);
    if (!mask.empty() || hasPast) {
        operands.push_back(mask);
    }
    if (hasPast) { // keys and values, one below the other
        for (const std::string& one :
             body.addOf("", "Split", {body.operand(slots.past)},
                        {{"axis", std::int64_t{0}}, {"num_outputs", std::int64_t{2}}}, kSplitByCount, 2)) {
            operands.push_back(body.add("Squeeze", {one, body.integers({0})}));
        }
    }
    const HeadNames made = body.addOf("", "Attention", operands, ofAllHeads(body, body.integer("num_heads", 0)),
                                      kFirstOpset, body.isAsked(1) ? 3 : 1);
    body.output(0, made[0]);
    if (body.isAsked(1)) {
        const std::string axis = body.integers({0});
        body.output(1,
                    body.add("Concat", {body.add("Unsqueeze", {made[1], axis}), body.add("Unsqueeze", {made[2], axis})},
                             {{"axis", std::int64_t{0}}}));
    }
    return true;
}

Written writeAttention(FunctionWriter& body)
{
    return writeProjected(body, body.operand(0), body.operand(1), kPlainSlots);
}

/// Of whole numbers.
Written writeQuantisedAttention(FunctionWriter& body)
{
    const std::string x = body.dequantised(0, 3, 6);
    return writeProjected(body, x, body.dequantised(1, 4, 7, {{"axis", std::int64_t{-1}}}), kQuantisedSlots);
}

} // namespace

const FunctionFamily kAttentionFunctions{
    {"com.microsoft", "Attention", "MatMul, Add, Split, Attention", writeAttention},
    {"com.microsoft", "QAttention", "DequantizeLinear, MatMul, Add, Split, Attention", writeQuantisedAttention},
    {"com.microsoft", "MultiHeadAttention", "Split, Add, Attention", writeMultiHeadAttention},
};

} // namespace retro::formats
