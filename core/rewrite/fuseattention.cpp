// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/layerkind.h"
#include "core/rewrite/chainfuser.h"
#include "core/rewrite/einsumproduct.h"
#include "core/rewrite/passes.h"
#include "core/rewrite/pattern.h"
#include "core/rewrite/scorescale.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;

namespace
{

bool isAllZero(const tensor::Tensor& data)
{
    for (std::int64_t i = 0; i < data.size(); ++i) {
        if (data.at(i) != 0) {
            return false;
        }
    }
    return true;
}

/// The shape of `data` is the declared one of `value`.
bool isShapedLike(const Draft& draft, const tensor::Tensor& data, ValueId value)
{
    const auto& shape = draft.value(value).shape;
    if (!shape || shape->size() != data.rank()) {
        return false;
    }
    for (std::size_t i = 0; i < shape->size(); ++i) {
        if ((*shape)[i].extent != data.shape()[i]) {
            return false;
        }
    }
    return true;
}

/// One zero, or zeros of the shape of `like`: constant, or ConstantOfShape(Shape(like)).
bool isZero(Pattern& pattern, ValueId value, ValueId like)
{
    const Draft& draft = pattern.draft();
    if (draft.isConstant(value)) {
        const tensor::Tensor& data = draft.value(value).constant;
        return pattern.scalar(value) == 0.0 || (isShapedLike(draft, data, like) && isAllZero(data));
    }
    const Node* zeros = pattern.maker(value, "ConstantOfShape");
    const Node* shape = zeros == nullptr ? nullptr : pattern.maker(zeros->inputs[0], "Shape");
    if (shape == nullptr || shape->inputs[0] != like || shape->attributes.contains("start") ||
        shape->attributes.contains("end")) {
        return false;
    }
    const auto fill = attributeOr<tensor::Tensor>(*zeros, "value", {});
    return !fill.isValid() || isAllZero(fill);
}

/// The Softmax that makes `probabilities`, directly or through Where(IsNaN(p), 0, p), which exporters write so that
/// rows that are masked everywhere become zero. Its nodes become members. nullptr when it is something else.
const Node* softmaxBehindGuard(Pattern& pattern, ValueId probabilities)
{
    const Node* where = pattern.maker(probabilities, "Where");
    if (where == nullptr) {
        return pattern.maker(probabilities, "Softmax");
    }
    const ValueId own = where->inputs[2];
    const ValueId zero = where->inputs[1];
    const Node* isNan = pattern.maker(where->inputs[0], "IsNaN");
    const bool isGuard = isNan != nullptr && isNan->inputs[0] == own && isZero(pattern, zero, own);
    return isGuard ? pattern.maker(own, "Softmax") : nullptr;
}

using Axes = std::vector<std::int64_t>;

/// Keys whose last two axes were swapped for the product with the queries.
struct KeyTranspose
{
    ValueId source;       ///< what the chain transposes
    std::size_t rank = 4; ///< of the keys
    /// The axes of the keys before the swap, when one Transpose did more than the swap: 0 2 1 3 for one that also took
    /// the heads of batch × tokens × heads × width in front. Empty: source is the keys.
    std::vector<std::int64_t> order = {};
    NodeId node = {}; ///< the Transpose
};

Axes orderOf(const Node& transpose) { return attributeOr<Axes>(transpose, "perm", {}); }

/// Constant integers; empty when they are not constant.
Axes integers(const Draft& draft, ValueId value)
{
    return draft.isConstant(value) ? ops::integersOf(draft.value(value).constant) : Axes();
}

/// The declared shape; empty when an extent is unknown.
Axes declaredShape(const Draft& draft, ValueId value)
{
    Axes extents;
    if (const auto& shape = draft.value(value).shape) {
        for (const graph::Dimension& dimension : *shape) {
            extents.push_back(dimension.extent.value_or(-1));
        }
    }
    const bool isKnown = std::find(extents.begin(), extents.end(), -1) == extents.end();
    return isKnown ? extents : Axes();
}

/// batch·heads × tokens × width between two Reshapes that exporters write where the number of axes is not known.
std::optional<KeyTranspose> throughThreeAxes(Pattern& pattern, ValueId transposed)
{
    const Node* last = pattern.maker(transposed, "Reshape");
    const Node* middle = last == nullptr ? nullptr : pattern.maker(last->inputs[0], "Transpose");
    const Node* first = middle == nullptr ? nullptr : pattern.maker(middle->inputs[0], "Reshape");
    if (first == nullptr || orderOf(*middle) != Axes{0, 2, 1}) {
        return std::nullopt;
    }
    const Axes keys = declaredShape(pattern.draft(), first->inputs[0]);
    const Axes flat = integers(pattern.draft(), first->inputs[1]);
    const Axes whole = integers(pattern.draft(), last->inputs[1]);
    const bool isSwap = keys.size() == 4 && flat.size() == 3 && flat[1] == keys[2] && flat[2] == keys[3] &&
                        whole == Axes{keys[0], keys[1], keys[3], keys[2]};
    return isSwap ? std::optional(KeyTranspose{first->inputs[0], 4}) : std::nullopt;
}

/// Reads a Transpose of three or four axes, or Reshape – Transpose(…, 0 2 1) – Reshape of keys whose shape is declared.
/// Its nodes become members.
std::optional<KeyTranspose> keyTranspose(Pattern& pattern, ValueId transposed)
{
    Pattern attempt = pattern;
    const Node* node = attempt.maker(transposed, "Transpose");
    if (node == nullptr) {
        return throughThreeAxes(pattern, transposed);
    }
    pattern = attempt;
    KeyTranspose keys{node->inputs[0], orderOf(*node).size(), orderOf(*node),
                      pattern.draft().value(transposed).producer};
    if (keys.rank != 3 && keys.rank != 4) {
        return std::nullopt;
    }
    std::swap(keys.order[keys.rank - 1], keys.order[keys.rank - 2]);
    if (std::is_sorted(keys.order.begin(), keys.order.end())) {
        keys.order.clear();
    }
    return keys;
}

/// Makes two of a Transpose that did more than the swap: a new one to batch × heads × tokens × width, whose result is
/// handed back and whose name is added to `added`; and in its own place one that swaps the last two axes. All values
/// keep their names.
ValueId splitKeyTranspose(Draft& draft, const KeyTranspose& keys, std::vector<std::string>& added)
{
    Node outer = draft.node(keys.node);
    Node inner = outer;
    inner.name += "/heads";
    inner.inputs = {keys.source};
    inner.attributes["perm"] = keys.order;
    inner.facts.reset();
    const tensor::DType type = draft.value(keys.source).dtype;
    const ValueId byHead = draft.addResult(draft.value(outer.outputs[0]).name + "/heads", type);
    inner.outputs = {byHead};
    added.push_back(inner.name);
    draft.addNode(std::move(inner));
    outer.inputs = {byHead};
    outer.attributes["perm"] = keys.rank == 4 ? Axes{0, 1, 3, 2} : Axes{0, 2, 1};
    draft.replaceNode(keys.node, std::move(outer));
    return byHead;
}

/// Logits that a mask sets to this or less have the probability 0, whatever the others are.
constexpr double kHidden = -3e4;

/// What stands between the product of queries and keys and the softmax.
struct Scores
{
    ScoreScale scale;
    ValueId q;
    ValueId keys; ///< transposed, but for an Einsum
    ValueId mask; ///< invalid: none
    std::optional<EinsumScores> einsum;
    NodeId node; ///< the product
};

bool isOverLastAxis(const Node& softmax, std::size_t rank)
{
    const std::int64_t axis = intAttribute(softmax, "axis", softmax.opset < 13 ? 1 : -1);
    return axis == -1 || axis == static_cast<std::int64_t>(rank) - 1;
}

/// scale·q·kᵀ by an Einsum. A scale on operands whose axes are moved stays outside.
std::optional<Scores> einsumProduct(Pattern& pattern, Scores scores, ValueId value)
{
    const Node* einsum = pattern.maker(value, "Einsum");
    scores.einsum = einsum == nullptr ? std::nullopt : einsumScores(*einsum);
    if (!scores.einsum) {
        return std::nullopt;
    }
    scores.node = pattern.draft().value(value).producer;
    scores.q = einsum->inputs[scores.einsum->querySlot];
    scores.keys = einsum->inputs[1 - scores.einsum->querySlot];
    if (!scores.einsum->movesAxes()) {
        scores.q = scores.scale.takeFrom(pattern, scores.q);
        scores.keys = scores.scale.takeFrom(pattern, scores.keys);
    }
    return scores;
}

/// scale·q·kᵀ, the scale anywhere.
std::optional<Scores> product(Pattern& pattern, ValueId value)
{
    Scores scores;
    const ValueId inner = scores.scale.takeFrom(pattern, value);
    const Node* matmul = pattern.maker(inner, "MatMul");
    if (matmul == nullptr) {
        return einsumProduct(pattern, std::move(scores), inner);
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

/// The end of a chain: probabilities times values.
struct Mix
{
    const Node* softmax = nullptr;
    ValueId v;
    std::optional<EinsumMix> einsum;
};

std::optional<Mix> einsumMixOf(Pattern& pattern, const Node& root)
{
    for (std::size_t slot = 0; slot < 2 && root.inputs.size() == 2; ++slot) {
        Pattern attempt = pattern;
        const Node* softmax = softmaxBehindGuard(attempt, root.inputs[slot]);
        const std::optional<EinsumMix> einsum = softmax == nullptr ? std::nullopt : einsumMix(root, slot);
        if (einsum) {
            pattern = attempt;
            return Mix{softmax, root.inputs[1 - slot], einsum};
        }
    }
    return std::nullopt;
}

std::optional<Mix> mixOf(Pattern& pattern)
{
    const Node& root = pattern.draft().node(pattern.root());
    if (!ops::isMatMul(root) && !ops::isEinsum(root)) {
        return std::nullopt;
    }
    if (ops::isEinsum(root)) {
        return einsumMixOf(pattern, root);
    }
    const Node* softmax = softmaxBehindGuard(pattern, root.inputs[0]);
    return softmax == nullptr ? std::nullopt : std::optional(Mix{softmax, root.inputs[1], std::nullopt});
}

/// A chain that was read whole.
struct Attention
{
    Scores scores;
    KeyTranspose keys;
    Mix mix;

    [[nodiscard]] bool movesQueries() const { return scores.einsum && scores.einsum->movesAxes(); }
    [[nodiscard]] bool movesValues() const
    {
        return mix.einsum && (!isInOrder(mix.einsum->values) || !isInOrder(mix.einsum->result));
    }
};

/// The keys of a chain; a MatMul reads them transposed.
std::optional<KeyTranspose> keysOf(Pattern& pattern, const Scores& scores)
{
    return scores.einsum ? std::optional(KeyTranspose{scores.keys, scores.einsum->keys.size()})
                         : keyTranspose(pattern, scores.keys);
}

/// Everything between the operands and the root.
std::optional<Attention> read(Draft& draft, Pattern& pattern)
{
    const std::optional<Mix> mix = mixOf(pattern);
    const std::optional<Scores> scores = mix ? scoresOf(draft, pattern, mix->softmax->inputs[0]) : std::nullopt;
    const std::optional<KeyTranspose> keys = scores ? keysOf(pattern, *scores) : std::nullopt;
    if (!keys || !isOverLastAxis(*mix->softmax, keys->rank) ||
        (mix->einsum && mix->einsum->values.size() != keys->rank)) {
        return std::nullopt;
    }
    Attention attention{*scores, *keys, *mix};
    if (attention.movesQueries()) { // what is computed from the shape of the queries would read them as they were
        return attention.scores.scale.isConstant() ? std::optional(attention) : std::nullopt;
    }
    if (keys->order.empty()) { // there, the new Transpose reads what the old one read
        attention.keys.source = attention.scores.scale.takeFrom(pattern, keys->source);
    }
    return attention.scores.scale.resolve(pattern, scores->q) ? std::optional(attention) : std::nullopt;
}

/// The operands of a chain could be those of a node; of those whose axes are moved only that they are computed.
bool hasFitting(const Draft& draft, const Attention& chain)
{
    std::vector<ValueId> asTheyAre;
    std::vector<ValueId> moved;
    (chain.movesQueries() ? moved : asTheyAre).push_back(chain.scores.q);
    (chain.movesValues() ? moved : asTheyAre).push_back(chain.mix.v);
    const bool movesKeys = chain.movesQueries() || !chain.keys.order.empty(); // keys in other axes tell nothing
    (movesKeys ? moved : asTheyAre).push_back(chain.keys.source);
    const bool isComputed =
        std::none_of(moved.begin(), moved.end(), [&](ValueId operand) { return draft.isConstant(operand); });
    return isComputed && canTake(draft, asTheyAre, chain.keys.rank) &&
           fitsMask(draft, chain.scores.mask, chain.keys.rank);
}

/// Moves the axes of operands and result outside of the chain, where they are not those of Attention.
void moveAxes(Draft& draft, const Pattern& pattern, const Attention& chain, Fusion& fusion)
{
    if (!chain.keys.order.empty()) {
        fusion.inputs[1] = splitKeyTranspose(draft, chain.keys, fusion.added);
    }
    if (chain.movesQueries()) {
        const std::vector<ValueId> both = moveAxesOutside(draft, chain.scores.node, *chain.scores.einsum, fusion.added);
        fusion.inputs[0] = both[0];
        fusion.inputs[1] = both[1];
    }
    if (chain.movesValues()) {
        fusion.inputs[2] = moveAxesOutside(draft, pattern.root(), *chain.mix.einsum, fusion.added);
    }
}

std::optional<Fusion> matchAttention(Draft& draft, Pattern& pattern)
{
    const std::optional<Attention> chain = read(draft, pattern);
    if (!chain || !hasFitting(draft, *chain)) {
        return std::nullopt;
    }
    Fusion fusion{"Attention",
                  23,
                  {chain->scores.q, chain->keys.source, chain->mix.v},
                  attributesOf(chain->scores.scale, chain->keys.rank)};
    if (chain->scores.mask.isValid()) {
        fusion.inputs.push_back(chain->scores.mask);
    }
    fusion.keepsBits = true;
    if (pattern.obstacle().empty()) {
        moveAxes(draft, pattern, *chain, fusion);
    }
    return fusion;
}

} // namespace

void fuseAttention(Draft& draft, std::vector<RewriteStep>& steps)
{
    ChainFuser(draft, steps, "fuse attention").run(matchAttention);
}

} // namespace retro::rewrite
