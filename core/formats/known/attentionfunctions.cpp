// SPDX-License-Identifier: Apache-2.0
// Attention as com.microsoft joins it with what stands around it: heads that lie packed, biases, masks of several
// kinds, rotation, caches, windows. Each is written out around the Attention of the standard.
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

using HeadNames = FunctionWriter::Names;

constexpr std::int64_t kSplitByCount = 18;   ///< version since which Split makes a number of equal parts
constexpr std::int64_t kAttentionOpset = 24; ///< version since which Attention takes numbers of keys
constexpr std::int64_t kFirstOpset = 23;     ///< version since which the standard has Attention and RMSNormalization
constexpr std::int64_t kInt64 = 7;           ///< TensorProto.DataType
constexpr std::int64_t kBool = 9;
constexpr std::size_t kScoreOutput = 3;          ///< of all three operators
constexpr std::int64_t kScoresWithMask = 2;      ///< qk_matmul_output_mode of Attention
constexpr std::int64_t kScoresBehindSoftmax = 3; ///< the same

/// Heads side by side as batch × tokens × heads × width.
std::string headsApart(FunctionWriter& body, const std::string& x, std::int64_t heads)
{
    return body.add("Reshape", {x, body.integers({0, 0, heads, -1})});
}

/// The last two of four axes as one.
std::string headsJoined(FunctionWriter& body, const std::string& x)
{
    return body.add("Reshape", {x, body.integers({0, 0, -1})});
}

/// Tokens × heads as heads × tokens, or back.
std::string headsSwapped(FunctionWriter& body, const std::string& x)
{
    return body.add("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
}

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

/// Operands of GroupQueryAttention.
struct GroupSlot
{
    enum : std::size_t {
        kQuery,
        kKey,
        kValue,
        kPastKey,
        kPastValue,
        kLast,
        kTotal,
        kCosines,
        kSines,
        kPositions,
        kScoreBias,
        kSink,
        kKeyScale,
        kValueScale,
        kQueryNorm,
        kKeyNorm,
        kQueryLengths
    };
};

/// What is the same for the whole call.
struct GroupSetting
{
    std::int64_t heads = 0;
    std::int64_t keyHeads = 0;
    std::int64_t window = 0; ///< 0: all keys
    bool isSliding = false;
    bool isCausal = true;
    bool hasSink = false;    ///< something stands in the denominators alone
    std::int64_t scores = 0; ///< which ones are an output: 0 none, 1 before the softmax, 2 behind it
};

bool hasQuantisedCache(const FunctionWriter& body)
{
    const auto isQuantised = [&](const char* name) {
        const std::string type = body.text(name, "NONE");
        return !type.empty() && type != "NONE";
    };
    const std::int64_t bits = body.integer("kv_cache_bit_width", 0);
    return body.isGiven(GroupSlot::kKeyScale) || body.isGiven(GroupSlot::kValueScale) || isQuantised("k_quant_type") ||
           isQuantised("v_quant_type") || (bits != 0 && bits != 16 && bits != 32);
}

/// What goes together is there, and nothing that is not supported.
base::Result<void> checkGroupOperands(const FunctionWriter& body)
{
    if (hasQuantisedCache(body)) {
        return inputError("a quantised cache (k_scale, v_scale, k_quant_type, v_quant_type, kv_cache_bit_width) is not "
                          "supported; export the model with a cache of floats");
    }
    if (body.isGiven(GroupSlot::kQueryLengths)) {
        return inputError("query_seqlens (operand 16) is not supported");
    }
    if (body.isGiven(GroupSlot::kKey) != body.isGiven(GroupSlot::kValue) ||
        body.isGiven(GroupSlot::kPastKey) != body.isGiven(GroupSlot::kPastValue)) {
        return inputError("key and value (operands 1 and 2) go together, and so do past_key and past_value");
    }
    return {};
}

base::Result<GroupSetting> groupSetting(const FunctionWriter& body)
{
    GroupSetting setting{body.integer("num_heads", 0), body.integer("kv_num_heads", 0)};
    if (setting.heads < 1 || setting.keyHeads < 1 || setting.heads % setting.keyHeads != 0) {
        return inputError(
            fmt::format("num_heads is {} and kv_num_heads {}; both must be positive, the first a multiple "
                        "of the second",
                        setting.heads, setting.keyHeads));
    }
    RETRO_CHECK(checkGroupOperands(body));
    const std::int64_t window = body.integer("local_window_size", -1);
    if (window < -1 || window == 0) {
        return inputError(fmt::format("local_window_size is {}, but must be positive, or -1 for all keys", window));
    }
    setting.window = std::max<std::int64_t>(window, 0);
    setting.isSliding = body.integer("sliding_window_cache", 0) != 0;
    setting.isCausal = body.integer("causal", 1) != 0;
    setting.hasSink = body.isGiven(GroupSlot::kSink) || body.integer("smooth_softmax", 0) > 0;
    setting.scores = body.integer("qk_output", 0);
    if (setting.scores < 0 || setting.scores > 2 || (setting.scores == 0 && body.isRead(kScoreOutput))) {
        return inputError(
            fmt::format("qk_output is {}; where output 3 (output_qk) is read, it must be 1 (scores before "
                        "the softmax) or 2 (behind it)",
                        setting.scores));
    }
    if (setting.isSliding && setting.window == 0) {
        return inputError("sliding_window_cache needs a local_window_size");
    }
    if (setting.isSliding && body.isGiven(GroupSlot::kScoreBias)) {
        return inputError("attention_bias (operand 10) together with sliding_window_cache is not supported");
    }
    return setting;
}

/// Queries, keys and values, each batch × tokens × heads × width.
HeadNames groupOperands(FunctionWriter& body, const GroupSetting& setting)
{
    const std::int64_t own = setting.keyHeads;
    if (body.isGiven(GroupSlot::kKey)) {
        return {headsApart(body, body.operand(GroupSlot::kQuery), setting.heads),
                headsApart(body, body.operand(GroupSlot::kKey), own),
                headsApart(body, body.operand(GroupSlot::kValue), own)};
    }
    const std::string all = headsApart(body, body.operand(GroupSlot::kQuery), setting.heads + 2 * own);
    return body.addOf("", "Split", {all, body.integers({setting.heads, own, own})}, {{"axis", std::int64_t{2}}},
                      kSplitByCount, 3);
}

/// Each head of queries or keys by its root mean square.
std::string headsNormalised(FunctionWriter& body, const std::string& x, std::size_t slot, const char* epsilon)
{
    if (!body.isGiven(slot)) {
        return x;
    }
    return body.add(
        "RMSNormalization", {x, body.operand(slot)},
        {{"axis", std::int64_t{-1}}, {"epsilon", body.number(epsilon, body.number("qk_norm_epsilon", 1e-6))}},
        kFirstOpset);
}

std::string headsTurned(FunctionWriter& body, const std::string& x, const std::string& positions)
{
    return body
        .addOf("com.microsoft", "RotaryEmbedding",
               {x, positions, body.operand(GroupSlot::kCosines), body.operand(GroupSlot::kSines)},
               {{"interleaved", body.integer("rotary_interleaved", 0)}}, 1, 1)
        .front();
}

/// New rows behind those of the past: rows, present, and as far as `results` goes numbers of keys, positions, window.
HeadNames appended(FunctionWriter& body, const std::string& x, std::size_t past, const GroupSetting& setting,
                   std::size_t results)
{
    graph::Attributes attributes{{"front", std::int64_t{setting.hasSink ? 1 : 0}}, {"window", setting.window}};
    attributes["sliding"] = std::int64_t{setting.isSliding ? 1 : 0};
    return body.addOf("retrograde", "CacheAppend",
                      {x, body.isGiven(past) ? body.operand(past) : std::string(), body.operand(GroupSlot::kLast),
                       body.operand(GroupSlot::kTotal)},
                      std::move(attributes), 1, results);
}

/// What head_sink adds to the scores of the key of zeros in front: batch × heads × queries × 1.
std::string sinkColumn(FunctionWriter& body, const std::string& bias)
{
    const std::string sink = body.isGiven(GroupSlot::kSink)
                                 ? body.add("Reshape", {body.operand(GroupSlot::kSink), body.integers({1, -1, 1, 1})})
                                 : body.add("Reshape", {body.numberLikeOperand(0), body.integers({1, 1, 1, 1})});
    if (bias.empty()) {
        return sink;
    }
    const std::string outer = body.add("Shape", {bias}, {{"start", std::int64_t{0}}, {"end", std::int64_t{3}}});
    const std::string shape = body.add("Concat", {outer, body.integers({1})}, {{"axis", std::int64_t{0}}});
    return body.add("Expand", {sink, shape});
}

/// The operand for the scores, with the column of the key in front; empty without either.
std::string groupBias(FunctionWriter& body, const GroupSetting& setting, const std::string& rows)
{
    std::string bias = body.isGiven(GroupSlot::kScoreBias) ? body.operand(GroupSlot::kScoreBias) : std::string();
    const bool hasColumn = setting.hasSink && (body.isGiven(GroupSlot::kSink) || !bias.empty());
    if (!hasColumn) {
        return bias;
    }
    if (bias.empty()) {
        const std::string count = body.add("Shape", {rows}, {{"start", std::int64_t{2}}, {"end", std::int64_t{3}}});
        const std::string behind = body.add("Sub", {count, body.integers({1})});
        const std::string shape =
            body.add("Concat", {body.integers({1, setting.heads, 1}), behind}, {{"axis", std::int64_t{0}}});
        const std::string zeros = body.add("Expand", {body.numberLikeOperand(0), shape});
        return body.add("Concat", {sinkColumn(body, {}), zeros}, {{"axis", std::int64_t{-1}}});
    }
    // one row of the bias per head, as the sinks have it
    const std::string shape = body.integers({1, setting.heads, 1, 1});
    bias = body.add("Expand", {bias, shape});
    return body.add("Concat", {sinkColumn(body, bias), bias}, {{"axis", std::int64_t{-1}}});
}

/// What Attention takes as its mask; empty where there is none.
std::string groupMask(FunctionWriter& body, const GroupSetting& setting, const HeadNames& values)
{
    const std::string bias = groupBias(body, setting, values[0]);
    if (setting.window == 0 || bias.empty()) {
        return setting.window == 0 ? bias : values[4];
    }
    return body.add("Where", {values[4], bias, body.numberLikeOperand(-std::numeric_limits<double>::infinity())});
}

/// Constants that do not fit, as far as they are known before shapes are.
base::Result<void> expectGroupConstants(const FunctionWriter& body, const GroupSetting& setting, bool turns)
{
    if (turns && (!body.isGiven(GroupSlot::kCosines) || !body.isGiven(GroupSlot::kSines))) {
        return inputError("do_rotary needs cos_cache and sin_cache (operands 7 and 8)");
    }
    const auto cosines = turns ? body.constantShape(GroupSlot::kCosines) : std::nullopt;
    const auto sines = turns ? body.constantShape(GroupSlot::kSines) : std::nullopt;
    if (cosines && sines && (cosines->size() != 2 || *cosines != *sines)) {
        return inputError("cos_cache and sin_cache (operands 7 and 8) must both be positions × half of the elements "
                          "that turn");
    }
    const auto sink = body.constantShape(GroupSlot::kSink);
    if (sink && *sink != std::vector<std::int64_t>{setting.heads}) {
        return inputError(fmt::format("head_sink (operand 11) must hold {} numbers, one per head", setting.heads));
    }
    return {};
}

/// Columns of an operand, which these heads must divide, as far as it is known before shapes are.
base::Result<std::optional<std::int64_t>> headWidth(const FunctionWriter& body, std::size_t slot, std::int64_t heads,
                                                    std::string_view what)
{
    const std::optional<std::int64_t> columns = body.rank(slot) == std::size_t{3} ? body.width(slot) : std::nullopt;
    if (!columns) {
        return std::optional<std::int64_t>();
    }
    if (*columns % heads != 0) {
        return inputError(fmt::format("{} has {} columns, which do not divide into {} heads", what, *columns, heads));
    }
    return std::optional(*columns / heads);
}

/// All heads of queries, keys and values are as wide as each other.
base::Result<void> expectHeadWidths(const FunctionWriter& body, const GroupSetting& setting)
{
    if (!body.isGiven(GroupSlot::kKey)) {
        const auto packed =
            headWidth(body, GroupSlot::kQuery, setting.heads + 2 * setting.keyHeads,
                      "query (operand 0), which holds keys and values too (num_heads + 2 · kv_num_heads),");
        return packed ? base::Result<void>() : base::Result<void>(packed.error());
    }
    RETRO_TRY(const auto own, headWidth(body, GroupSlot::kQuery, setting.heads, "query (operand 0, num_heads)"));
    RETRO_TRY(const auto keys, headWidth(body, GroupSlot::kKey, setting.keyHeads, "key (operand 1, kv_num_heads)"));
    RETRO_TRY(const auto values,
              headWidth(body, GroupSlot::kValue, setting.keyHeads, "value (operand 2, kv_num_heads)"));
    if (own && keys && *own != *keys) {
        return inputError(fmt::format("{} heads (num_heads) make queries (operand 0) {} wide, but {} heads "
                                      "(kv_num_heads) make keys (operand 1) {} wide",
                                      setting.heads, *own, setting.keyHeads, *keys));
    }
    if (keys && values && *keys != *values) {
        return inputError(
            fmt::format("keys (operand 1) are {} wide by head, but values (operand 2) {}", *keys, *values));
    }
    return {};
}

/// The scores that qk_output asks for: keys that a query does not see have 0, and none for a sink.
std::string groupScores(FunctionWriter& body, const GroupSetting& setting, std::string scores)
{
    if (setting.hasSink) {
        scores = body.add("Slice", {scores, body.integers({1}),
                                    body.integers({std::numeric_limits<std::int64_t>::max()}), body.integers({-1})});
    }
    if (setting.scores == 2) {
        return scores;
    }
    return body.add("Where", {body.add("IsInf", {scores}), body.numberLikeOperand(0), scores});
}

Written writeGroupQueryAttention(FunctionWriter& body)
{
    RETRO_TRY(const GroupSetting setting, groupSetting(body));
    RETRO_CHECK(expectHeadWidths(body, setting));
    const bool turns = body.integer("do_rotary", 0) != 0;
    RETRO_CHECK(expectGroupConstants(body, setting, turns));
    const HeadNames apart = groupOperands(body, setting);
    const std::string queries = headsNormalised(body, apart[0], GroupSlot::kQueryNorm, "q_norm_epsilon");
    const std::string keys = headsNormalised(body, apart[1], GroupSlot::kKeyNorm, "k_norm_epsilon");
    const HeadNames values =
        appended(body, headsSwapped(body, apart[2]), GroupSlot::kPastValue, setting, setting.window > 0 ? 5 : 4);
    std::string q = headsSwapped(body, queries);
    std::string k = headsSwapped(body, keys);
    if (turns) {
        const std::string positions =
            body.isGiven(GroupSlot::kPositions) ? body.operand(GroupSlot::kPositions) : values[3];
        q = headsTurned(body, q, positions);
        k = headsTurned(body, k, positions);
    }
    const HeadNames cached = appended(body, k, GroupSlot::kPastKey, setting, 2);
    graph::Attributes attributes{{"is_causal", std::int64_t{setting.isCausal ? 1 : 0}}};
    if (const double scale = body.number("scale", 0); scale != 0) {
        attributes["scale"] = scale;
    }
    if (const double cap = body.number("softcap", 0); cap > 0) {
        attributes["softcap"] = cap;
    }
    const std::string mask = groupMask(body, setting, values);
    const bool wantsScores = setting.scores != 0 && body.isRead(kScoreOutput);
    if (wantsScores) {
        attributes["qk_matmul_output_mode"] = setting.scores == 1 ? kScoresWithMask : kScoresBehindSoftmax;
    }
    const HeadNames mixed = body.addOf("", "Attention", {q, cached[0], values[0], mask, "", "", values[2]},
                                       std::move(attributes), kAttentionOpset, wantsScores ? kScoreOutput + 1 : 1);
    body.output(0, headsJoined(body, headsSwapped(body, mixed[0])));
    if (wantsScores) {
        body.output(kScoreOutput, groupScores(body, setting, mixed[kScoreOutput]));
    }
    body.output(1, cached[1]);
    body.output(2, values[1]);
    return true;
}

} // namespace

const FunctionFamily kAttentionFunctions{
    {"com.microsoft", "Attention", "MatMul, Add, Split, Attention", writeAttention},
    {"com.microsoft", "QAttention", "DequantizeLinear, MatMul, Add, Split, Attention", writeQuantisedAttention},
    {"com.microsoft", "MultiHeadAttention", "Split, Add, Attention", writeMultiHeadAttention},
    {"com.microsoft", "GroupQueryAttention",
     "Reshape, Split, RMSNormalization, Transpose, RotaryEmbedding, CacheAppend, Attention", writeGroupQueryAttention},
};

} // namespace retro::formats
