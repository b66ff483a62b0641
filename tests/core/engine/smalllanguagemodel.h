// SPDX-License-Identifier: Apache-2.0
// A small causal language model of random weights with its tokenizer.json, as files: words, two layers of attention
// with two heads and a layer of ReLU each.
#pragma once

#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "tests/core/rewrite/graphs.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace retro::tests
{

inline constexpr std::array kSmallWords{"<unk>",  "the", "capital", "of",    "France", "is",   "Paris",
                                        "London", "a",   "city",    "river", "in",     "runs", "through"};
inline constexpr std::int64_t kSmallWidth = 8;
inline constexpr std::int64_t kSmallHeads = 2;

/// How its attentions are written. Flat: as a chain over (batch · heads) × tokens × width. Cached: GroupQueryAttention
/// with a past, packed in every other layer.
enum class AttentionAs { OneNode, Chain, Flat, Cached };

/// What words score. Twins: those of number 2k and 2k + 1 always the same, so no word is the best alone.
enum class Scores { Own, Twins };

/// ids (batch × tokens) → logits (batch × tokens × words); with caches also a mask and pasts → presents.
class SmallLanguageModel
{
public:
    explicit SmallLanguageModel(int layers = 2, AttentionAs form = AttentionAs::OneNode, Scores scores = Scores::Own)
        : m_form(form)
    {
        m_builder.setOpset("", kOpset);
        const std::vector<graph::Dimension> row{{std::nullopt, "batch"}, {std::nullopt, "tokens"}};
        const auto ids = m_builder.addInput("input_ids", tensor::DType::Int64, row);
        if (form == AttentionAs::Cached) {
            addLengths();
        }
        base::ValueId x = add("Gather", "embedded", {weights("table", {kWords, kSmallWidth}), ids});
        for (int i = 0; i < layers; ++i) {
            x = layer(fmt::format("layer{}/", i), x);
        }
        const auto logits = add("MatMul", "logits", {x, head(scores)});
        if (form == AttentionAs::Cached) { // says that it predicts words
            m_builder.declare(logits, tensor::DType::Float32,
                              std::vector<graph::Dimension>{row[0], row[1], {kWords, ""}});
        }
        m_builder.addOutput(logits);
    }

    [[nodiscard]] rewrite::testing::SharedGraph graph() &&
    {
        auto built = std::move(m_builder).build();
        return built.ok() ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
    }

    /// model.onnx and tokenizer.json in a folder.
    [[nodiscard]] base::Result<std::filesystem::path> write(const std::filesystem::path& folder) &&
    {
        RETRO_TRY(const graph::Graph built, std::move(m_builder).build());
        RETRO_TRY(const std::vector<std::byte> bytes, formats::toOnnx(built));
        RETRO_CHECK(base::writeFile(folder / "model.onnx", bytes));
        RETRO_CHECK(base::writeFile(folder / "tokenizer.json", tokenizer()));
        return folder / "model.onnx";
    }

    /// One token per word; words have spaces between.
    [[nodiscard]] static std::string tokenizer()
    {
        std::string words;
        for (std::size_t i = 0; i < kSmallWords.size(); ++i) {
            words += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", kSmallWords[i], i);
        }
        return R"({"model":{"type":"WordLevel","unk_token":"<unk>","vocab":{)" + words +
               R"(}},"pre_tokenizer":{"type":"WhitespaceSplit"}})";
    }

private:
    static constexpr std::int64_t kOpset = 23;
    static constexpr auto kWords = static_cast<std::int64_t>(kSmallWords.size());

    base::ValueId weights(const std::string& name, const tensor::Shape& shape)
    {
        return m_builder.addConstant(name, rewrite::testing::randomTensor(shape, ++m_seed));
    }
    base::ValueId head(Scores scores)
    {
        const tensor::Shape shape{kSmallWidth, kWords};
        const tensor::Tensor drawn = rewrite::testing::randomTensor(shape, ++m_seed);
        std::vector<float> all;
        for (std::int64_t i = 0; i < drawn.size(); ++i) { // rows have an even number of words
            all.push_back(static_cast<float>(drawn.at(scores == Scores::Twins ? i - i % 2 : i)));
        }
        return m_builder.addConstant("head", tensor::Tensor::of<float>(shape, all));
    }
    base::ValueId numbers(const std::string& name, const std::vector<std::int64_t>& all)
    {
        return m_builder.addConstant(name, tensor::Tensor::of<std::int64_t>({std::ssize(all)}, all));
    }
    base::ValueId add(const std::string& op, const std::string& name, std::vector<base::ValueId> inputs,
                      graph::Attributes attributes = {})
    {
        return m_builder.addOp(op, name + "_node", std::move(inputs), name, std::move(attributes));
    }

    base::ValueId layer(const std::string& in, base::ValueId x)
    {
        const tensor::Shape square{kSmallWidth, kSmallWidth};
        const auto mixed = m_form == AttentionAs::Cached ? cached(in, x) : attention(in, x, square);
        const auto joined = add("MatMul", in + "joined", {mixed, weights(in + "wo", square)});
        const auto between = add("Add", in + "between", {x, joined});
        const auto hidden = add("MatMul", in + "hidden", {between, weights(in + "w1", {kSmallWidth, 2 * kSmallWidth})});
        const auto positive = add("Relu", in + "positive", {hidden});
        const auto back = add("MatMul", in + "back", {positive, weights(in + "w2", {2 * kSmallWidth, kSmallWidth})});
        return add("Add", in + "out", {between, back});
    }

    base::ValueId attention(const std::string& in, base::ValueId x, const tensor::Shape& square)
    {
        const auto q = add("MatMul", in + "q", {x, weights(in + "wq", square)});
        const auto k = add("MatMul", in + "k", {x, weights(in + "wk", square)});
        const auto v = add("MatMul", in + "v", {x, weights(in + "wv", square)});
        return m_form == AttentionAs::OneNode
                   ? add("Attention", in + "attention", {q, k, v},
                         {{"q_num_heads", kSmallHeads}, {"kv_num_heads", kSmallHeads}, {"is_causal", std::int64_t{1}}})
                   : chain(in, q, k, v);
    }

    /// The number of the last key, and of all, as the mask has them.
    void addLengths()
    {
        constexpr std::int64_t kInt32 = 6;
        m_builder.setOpset("com.microsoft", 1);
        const auto mask =
            m_builder.addInput("attention_mask", tensor::DType::Int64,
                               std::vector<graph::Dimension>{{std::nullopt, "batch"}, {std::nullopt, "all"}});
        const auto sum =
            add("ReduceSum", "counted", {mask, numbers("count_axis", {1})}, {{"keepdims", std::int64_t{0}}});
        const auto last = add("Sub", "last_key", {sum, numbers("count_one", {1})});
        m_last = add("Cast", "seqlens_k", {last}, {{"to", kInt32}});
        const auto one = m_builder.addConstant("axis_one", tensor::Tensor::scalar<std::int64_t>(1));
        const auto all = add("Gather", "all_keys", {add("Shape", "mask_shape", {mask}), one});
        m_total = add("Cast", "total_sequence_length", {all}, {{"to", kInt32}});
        constexpr std::int64_t kPositions = 64;
        m_cos = weights("cos_cache", {kPositions, kSmallWidth / kSmallHeads / 2});
        m_sin = weights("sin_cache", {kPositions, kSmallWidth / kSmallHeads / 2});
    }

    base::ValueId cached(const std::string& in, base::ValueId x)
    {
        const int layer = m_cached++;
        const auto past = [&](const char* what) {
            const std::vector<graph::Dimension> extents{
                {std::nullopt, "batch"}, {kSmallHeads, ""}, {std::nullopt, "past"}, {kSmallWidth / kSmallHeads, ""}};
            return m_builder.addInput(fmt::format("past_key_values.{}.{}", layer, what), tensor::DType::Float32,
                                      extents);
        };
        const auto product = [&](const char* part, std::int64_t columns) {
            return add("MatMul", in + part, {x, weights(in + "w" + part, {kSmallWidth, columns})});
        };
        std::vector<base::ValueId> operands =
            layer % 2 == 0
                ? std::vector{product("q", kSmallWidth), product("k", kSmallWidth), product("v", kSmallWidth)}
                : std::vector{product("qkv", 3 * kSmallWidth), base::ValueId(), base::ValueId()};
        for (const auto one : {past("key"), past("value"), m_last, m_total, m_cos, m_sin}) {
            operands.push_back(one);
        }
        std::vector<base::ValueId> results{m_builder.addResult(in + "attention")};
        for (const char* const what : {"key", "value"}) {
            results.push_back(m_builder.addResult(fmt::format("present.{}.{}", layer, what)));
            m_builder.addOutput(results.back());
        }
        m_builder.addNode(
            {"GroupQueryAttention",
             "com.microsoft",
             in + "attention_node",
             "",
             1,
             std::move(operands),
             results,
             {{"num_heads", kSmallHeads}, {"kv_num_heads", kSmallHeads}, {"do_rotary", std::int64_t{1}}}});
        return results.front();
    }

    base::ValueId byHead(const std::string& name, base::ValueId x)
    {
        const auto apart = add("Reshape", name + "_apart",
                               {x, numbers(name + "_shape", {0, 0, kSmallHeads, kSmallWidth / kSmallHeads})});
        const auto heads =
            add("Transpose", name + "_by_head", {apart}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
        if (m_form != AttentionAs::Flat) {
            return heads;
        }
        const auto tokens =
            add("Shape", name + "_extents", {x}, {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
        const auto shape =
            add("Concat", name + "_flat_shape",
                {numbers(name + "_all", {-1}), tokens, numbers(name + "_width", {kSmallWidth / kSmallHeads})},
                {{"axis", std::int64_t{0}}});
        return add("Reshape", name + "_flat", {heads, shape});
    }

    base::ValueId chain(const std::string& in, base::ValueId q, base::ValueId k, base::ValueId v)
    {
        const auto turned = add("Transpose", in + "turned", {byHead(in + "k", k)},
                                {{"perm", m_form == AttentionAs::Flat ? std::vector<std::int64_t>{0, 2, 1}
                                                                      : std::vector<std::int64_t>{0, 1, 3, 2}}});
        const auto raw = add("MatMul", in + "raw", {byHead(in + "q", q), turned});
        const auto scale = m_builder.addConstant(in + "scale", tensor::Tensor::full(tensor::DType::Float32, {1}, 0.5));
        const auto scores = add("Mul", in + "scores", {raw, scale});
        const auto ones = add(
            "Add", in + "ones",
            {add("Mul", in + "zeros",
                 {scores, m_builder.addConstant(in + "nought", tensor::Tensor::full(tensor::DType::Float32, {1}, 0))}),
             m_builder.addConstant(in + "one", tensor::Tensor::full(tensor::DType::Float32, {1}, 1))});
        const auto lower = add("Trilu", in + "lower", {ones}, {{"upper", std::int64_t{0}}});
        const auto seen = add("Cast", in + "seen", {lower}, {{"to", std::int64_t{9}}});
        const auto masked =
            add("Where", in + "masked",
                {seen, scores,
                 m_builder.addConstant(in + "far", tensor::Tensor::full(tensor::DType::Float32, {1}, -1e30))});
        const auto weighed = add("Softmax", in + "weights", {masked}, {{"axis", std::int64_t{-1}}});
        auto mixed = add("MatMul", in + "mixed", {weighed, byHead(in + "v", v)});
        if (m_form == AttentionAs::Flat) {
            const auto tokens =
                add("Shape", in + "extents", {q}, {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
            const auto shape = add(
                "Concat", in + "heads_shape",
                {numbers(in + "heads", {-1, kSmallHeads}), tokens, numbers(in + "width", {kSmallWidth / kSmallHeads})},
                {{"axis", std::int64_t{0}}});
            mixed = add("Reshape", in + "heads_apart", {mixed, shape});
        }
        const auto back =
            add("Transpose", in + "back_in_place", {mixed}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
        return add("Reshape", in + "flat", {back, numbers(in + "flat_shape", {0, 0, kSmallWidth})});
    }

    AttentionAs m_form;
    base::ValueId m_last;
    base::ValueId m_total;
    base::ValueId m_cos;
    base::ValueId m_sin;
    int m_cached = 0; ///< layers so far
    graph::GraphBuilder m_builder;
    unsigned m_seed = 0;
};

} // namespace retro::tests
