// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/attributes.h"
#include "core/rewrite/chainfuser.h"
#include "core/rewrite/keytranspose.h"
#include "core/rewrite/passes.h"
#include "core/rewrite/scorescale.h"

#include <array>
#include <limits>
#include <span>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;

namespace
{

/// Logits that a mask sets to this or less have the probability 0, whatever the others are.
constexpr double kHidden = -3e4;

/// What stands between the product of queries and keys and the softmax.
struct Scores
{
    ScoreScale scale;
    ValueId q;
    ValueId keys; ///< transposed
    ValueId mask; ///< invalid: none
};

bool isOverLastAxis(const Node& softmax, std::size_t rank)
{
    const std::int64_t axis = intAttribute(softmax, "axis", softmax.opset < 13 ? 1 : -1);
    return axis == -1 || axis == static_cast<std::int64_t>(rank) - 1;
}

/// scale·q·kᵀ, the scale anywhere.
std::optional<Scores> product(Pattern& pattern, ValueId value)
{
    Scores scores;
    const ValueId inner = scores.scale.takeFrom(pattern, value);
    const Node* matmul = pattern.maker(inner, "MatMul");
    if (matmul == nullptr) {
        return std::nullopt;
    }
    scores.q = scores.scale.takeFrom(pattern, matmul->inputs[0]);
    scores.keys = scores.scale.takeFrom(pattern, matmul->inputs[1]);
    return scores;
}

std::optional<Scores> withAddedMask(Pattern& pattern, ValueId logits)
{
    const Node* add = pattern.maker(logits, "Add");
    for (std::size_t slot = 0; add != nullptr && slot < 2; ++slot) {
        Pattern attempt = pattern;
        std::optional<Scores> scores = product(attempt, add->inputs[slot]);
        const ValueId mask = add->inputs[1 - slot];
        const bool isScalar = pattern.draft().isConstant(mask) && pattern.draft().value(mask).constant.rank() == 0;
        if (scores && !isScalar) {
            scores->mask = mask;
            pattern = attempt;
            return scores;
        }
    }
    return std::nullopt;
}

/// True when every row of a constant mask has an element that is kept.
bool keepsSomethingPerRow(const tensor::Tensor& keep, bool kept)
{
    const std::int64_t width = keep.rank() == 0 ? 0 : keep.shape().back();
    std::int64_t found = 0;
    for (std::int64_t i = 0; width > 0 && i < keep.size(); ++i) {
        found += (keep.at(i) != 0) == kept ? 1 : 0;
        if ((i + 1) % width == 0) {
            if (found == 0) {
                return false;
            }
            found = 0;
        }
    }
    return width > 0;
}

tensor::Tensor negated(const tensor::Tensor& mask)
{
    tensor::TensorBuffer buffer(DType::Bool, mask.shape());
    for (std::int64_t i = 0; i < mask.size(); ++i) {
        buffer.data<bool>()[i] = mask.at(i) == 0;
    }
    return std::move(buffer).freeze();
}

/// The mask of Where(mask, scores, hidden) or Where(mask, hidden, scores): true where a logit is kept. A computed mask
/// may hide whole rows, which only −∞ treats as Attention does; a negated one must be constant.
std::optional<ValueId> keptBy(Draft& draft, const Node& where, std::size_t scoresSlot, double hidden)
{
    const ValueId condition = where.inputs[0];
    const bool kept = scoresSlot == 1;
    if (!draft.isConstant(condition)) {
        const bool isInfinite = hidden == -std::numeric_limits<double>::infinity();
        return kept && isInfinite ? std::optional(condition) : std::nullopt;
    }
    const tensor::Tensor mask = draft.value(condition).constant;
    if (!keepsSomethingPerRow(mask, kept)) {
        return std::nullopt;
    }
    return kept ? condition : draft.addConstant(draft.value(condition).name + ", kept", negated(mask), DType::Bool);
}

std::optional<Scores> withChosenMask(Draft& draft, Pattern& pattern, ValueId logits)
{
    const Node* where = pattern.maker(logits, "Where");
    for (std::size_t slot = 1; where != nullptr && slot < 3; ++slot) {
        Pattern attempt = pattern;
        const std::optional<double> hidden = attempt.scalar(where->inputs[3 - slot]);
        std::optional<Scores> scores =
            hidden && *hidden <= kHidden ? product(attempt, where->inputs[slot]) : std::nullopt;
        const std::optional<ValueId> mask = scores ? keptBy(draft, *where, slot, *hidden) : std::nullopt;
        if (mask) {
            scores->mask = *mask;
            pattern = attempt;
            return scores;
        }
    }
    return std::nullopt;
}

std::optional<Scores> scoresOf(Draft& draft, Pattern& pattern, ValueId logits)
{
    Pattern plain = pattern;
    if (std::optional<Scores> scores = product(plain, logits)) {
        pattern = plain;
        return scores;
    }
    Pattern added = pattern;
    if (std::optional<Scores> scores = withAddedMask(added, logits)) {
        pattern = added;
        return scores;
    }
    return withChosenMask(draft, pattern, logits);
}

/// Extents of a value as far as the model declares them; empty: nothing is known.
std::vector<std::optional<std::int64_t>> extentsOf(const Draft& draft, ValueId value)
{
    std::vector<std::optional<std::int64_t>> extents;
    if (const auto& shape = draft.value(value).shape) {
        for (const graph::Dimension& dimension : *shape) {
            extents.push_back(dimension.extent);
        }
    }
    return extents;
}

/// False when it is a constant, or its declared rank is not `rank`.
bool hasRank(const Draft& draft, ValueId operand, std::size_t rank)
{
    const std::size_t declared = extentsOf(draft, operand).size();
    return !draft.isConstant(operand) && (declared == 0 || declared == rank);
}

/// False when what is declared shows that the node could not take these operands: another rank than `rank`, images of
/// another number.
bool canTake(const Draft& draft, std::span<const ValueId> operands, std::size_t rank)
{
    std::optional<std::int64_t> images;
    for (const ValueId operand : operands) {
        if (!hasRank(draft, operand, rank)) {
            return false;
        }
        const auto extents = extentsOf(draft, operand);
        const auto own = extents.empty() ? std::nullopt : extents[0];
        if (own && own != images.value_or(*own)) {
            return false;
        }
        images = own ? own : images;
    }
    return true;
}

/// With one head per image, a mask of rank 3 would be taken for one per head.
bool fitsMask(const Draft& draft, ValueId mask, std::size_t rank)
{
    if (!mask.isValid() || rank == 4) {
        return true;
    }
    const std::size_t known =
        draft.isConstant(mask) ? draft.value(mask).constant.rank() : extentsOf(draft, mask).size();
    return known == 1 || known == 2;
}

graph::Attributes attributesOf(const ScoreScale& scale, std::size_t rank)
{
    graph::Attributes attributes;
    if (!scale.isByWidth()) {
        attributes["scale"] = scale.factor();
    }
    if (rank == 3) {
        attributes["q_num_heads"] = std::int64_t{1};
        attributes["kv_num_heads"] = std::int64_t{1};
    }
    return attributes;
}

/// A chain that was read whole.
struct Attention
{
    Scores scores;
    KeyTranspose keys;
    ValueId v;
};

/// Everything between the operands and the root.
std::optional<Attention> read(Draft& draft, Pattern& pattern)
{
    const Node* mixed = pattern.maker(pattern.result(), "MatMul");
    const Node* softmax = mixed == nullptr ? nullptr : pattern.maker(mixed->inputs[0], "Softmax");
    if (softmax == nullptr) {
        return std::nullopt;
    }
    const ValueId v = mixed->inputs[1];
    const std::optional<Scores> scores = scoresOf(draft, pattern, softmax->inputs[0]);
    const std::optional<KeyTranspose> keys = scores ? keyTranspose(pattern, scores->keys) : std::nullopt;
    if (!keys || !isOverLastAxis(*softmax, keys->rank)) {
        return std::nullopt;
    }
    Attention attention{*scores, *keys, v};
    if (keys->order.empty()) { // there, the new Transpose reads what the old one read
        attention.keys.source = attention.scores.scale.takeFrom(pattern, keys->source);
    }
    return attention.scores.scale.resolve(pattern, scores->q) ? std::optional(attention) : std::nullopt;
}

std::optional<Fusion> match(Draft& draft, Pattern& pattern)
{
    const std::optional<Attention> chain =
        draft.node(pattern.root()).op == "MatMul" ? read(draft, pattern) : std::nullopt;
    if (!chain) {
        return std::nullopt;
    }
    const std::size_t rank = chain->keys.rank;
    const std::array operands{chain->scores.q, chain->v, chain->keys.source}; // keys in other axes tell nothing
    if (!canTake(draft, std::span(operands).first(chain->keys.order.empty() ? 3 : 2), rank) ||
        !fitsMask(draft, chain->scores.mask, rank)) {
        return std::nullopt;
    }
    Fusion fusion{"Attention", 23, {operands[0], operands[2], operands[1]}, attributesOf(chain->scores.scale, rank)};
    if (chain->scores.mask.isValid()) {
        fusion.inputs.push_back(chain->scores.mask);
    }
    if (!chain->keys.order.empty() && pattern.obstacle().empty()) {
        fusion.inputs[1] = splitKeyTranspose(draft, chain->keys, fusion.added);
    }
    return fusion;
}

} // namespace

void fuseAttention(Draft& draft, std::vector<RewriteStep>& steps)
{
    ChainFuser(draft, steps, "fuse attention").run(match);
}

} // namespace retro::rewrite
