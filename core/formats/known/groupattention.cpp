// SPDX-License-Identifier: Apache-2.0
// GroupQueryAttention of com.microsoft: rotation, caches and windows around the Attention of the standard.
#include "core/formats/known/attentionheads.h"
#include "core/formats/known/knownfunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace retro::formats
{

using base::inputError;

namespace
{

constexpr std::int64_t kAttentionOpset = 24;     ///< version since which Attention takes numbers of keys
constexpr std::int64_t kScoresBehindSoftmax = 3; ///< qk_matmul_output_mode of Attention

/// Heads side by side as batch × tokens × heads × width.
std::string headsApart(FunctionWriter& body, const std::string& x, std::int64_t heads)
{
    return body.add("Reshape", {x, body.integers({0, 0, heads, -1})});
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

const FunctionFamily kGroupAttentionFunctions{
    {"com.microsoft", "GroupQueryAttention",
     "Reshape, Split, RMSNormalization, Transpose, RotaryEmbedding, CacheAppend, Attention", writeGroupQueryAttention},
};

} // namespace retro::formats
