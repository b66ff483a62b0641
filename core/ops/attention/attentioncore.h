// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/attributes.h"
#include "core/ops/boundoperator.h"

namespace retro::ops
{

/// Scores of more bytes are not held at once: they are made and used some rows at a time.
inline constexpr std::int64_t kMostScoreBytes = 16 << 20;
inline constexpr std::int64_t kPieceBytes = 2 << 20; ///< of scores that are held by a thread then

/// Extents and settings of one scaled dot-product attention.
struct AttentionForm
{
    std::int64_t batch = 1;
    std::int64_t heads = 1;    ///< of the queries; a multiple of keyHeads
    std::int64_t keyHeads = 1; ///< of keys and values; each serves heads/keyHeads queries in a row
    std::int64_t queries = 1;
    std::int64_t keys = 1; ///< past ones included
    std::int64_t width = 1;
    std::int64_t valueWidth = 1;
    double scale = 1;
    double softcap = 0; ///< 0: none
    bool isCausal = false;
    std::int64_t past = 0;  ///< keys in front of the first query's own, for the causal mask and the window
    std::int64_t left = -1; ///< so many keys in front of its own a query may see; -1: all
    std::int64_t right = -1;

    /// True where it hangs on places what a query sees.
    [[nodiscard]] bool isPlaced() const { return isCausal || left >= 0 || right >= 0; }

    [[nodiscard]] tensor::Shape scoreShape() const { return {batch, heads, queries, keys}; }
};

/// Everything that a forward pass computes.
struct AttentionValues
{
    Tensor raw;           ///< scale · q·kᵀ
    Tensor capped;        ///< after the soft cap
    Tensor biased;        ///< after masks
    Tensor probabilities; ///< rows that are masked everywhere are zero
    Tensor y;             ///< batch × heads × queries × valueWidth
};

/// What is added to the logits of each query, and how many keys each image of the batch has.
struct AttentionMask
{
    Tensor bias;                       ///< rank 4, broadcastable to the scores; may be invalid
    std::vector<std::int64_t> lengths; ///< keys that count, per image; empty: all
    bool lengthsShiftCausal = false;   ///< the causal mask ends at the last key that counts
    std::vector<std::int64_t> before;  ///< keys in front of the first query's own, per image; empty: as is said else
};

/// q: batch × heads × queries × width; k, v: batch × keyHeads × keys × ….
[[nodiscard]] AttentionValues attend(const AttentionForm& form, const Tensor& q, const Tensor& k, const Tensor& v,
                                     const AttentionMask& mask);
/// y alone: each step may write over what the one before it made.
[[nodiscard]] Tensor attended(const AttentionForm& form, const Tensor& q, const Tensor& k, const Tensor& v,
                              const AttentionMask& mask);

/// Gradients that arrive, each may be invalid: at y and at the four kinds of scores.
struct AttentionArriving
{
    Tensor y;
    Tensor raw;
    Tensor capped;
    Tensor biased;
    Tensor probabilities;
};
struct AttentionGradients
{
    Tensor q;
    Tensor k;
    Tensor v;
    Tensor scores; ///< with respect to the biased logits
};
/// Gradients by the operands and by the masked scores, of what arrives; `values` are those of attend().
[[nodiscard]] AttentionGradients attendBack(const AttentionForm& form, const Tensor& q, const Tensor& k,
                                            const Tensor& v, const AttentionValues& values,
                                            const AttentionArriving& arriving);

/// batch × tokens × heads·width as batch × heads × tokens × width, and back.
[[nodiscard]] Tensor splitHeads(const Tensor& t, std::int64_t heads);
[[nodiscard]] Tensor joinHeads(const Tensor& t);

/// True for an Attention in which it hangs on its place what a query sees: it is causal, or has a window of keys. Its
/// queries cannot be computed apart.
[[nodiscard]] inline bool hangsOnPlaces(const graph::Node& node)
{
    return graph::isSet(node, "is_causal") || graph::intAttribute(node, "left_window_size", -1) >= 0 ||
           graph::intAttribute(node, "right_window_size", -1) >= 0;
}

} // namespace retro::ops
