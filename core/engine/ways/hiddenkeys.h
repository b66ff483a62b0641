// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/execute/earlyvalues.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace retro::engine
{

/// Something that hides scores of queries × keys in front of a softmax.
struct ScoreMask
{
    base::ValueId value = {};     ///< added to the scores or, with a condition, put in their place; invalid: -inf is
    base::ValueId condition = {}; ///< chooses the scores that are replaced; invalid: the value is added
    bool hidesWhere = false;      ///< the condition of those that are replaced
    auto operator<=>(const ScoreMask&) const = default;
};

struct MaskData;

/// An attention that is written out: product with the keys, scale, masks, softmax, product with the values.
struct WrittenAttention
{
    base::NodeId scores;          ///< the product of queries and keys; its second operand has a column for each key
    std::vector<ScoreMask> masks; ///< the one next to the softmax first
    std::int64_t queries = 0;
    std::int64_t keys = 0;
};

/// Which keys attentions of a bound model hide from the queries up to a token, by the masks of one run: constant, or
/// computed from inputs that carry no relevance (attention_mask, positions).
class HiddenKeys
{
public:
    /// `inputs` per graph input, in the run's precision; model and inputs outlive this.
    HiddenKeys(const execute::BoundModel& model, std::span<const tensor::Tensor> inputs, std::int64_t last);

    /// The written-out attention whose product with the values is `mixed`; none where the node is another, or where
    /// more than it reads what lies between.
    [[nodiscard]] std::optional<WrittenAttention> writtenOut(base::NodeId mixed) const;
    /// Whether none of the queries up to the token gives weight to a key behind it: with as many queries as keys, or
    /// one query alone, which is the token's. Each has a key up to the token that no mask lowers.
    [[nodiscard]] bool areBehind(std::span<const ScoreMask> masks, std::int64_t queries, std::int64_t keys);

private:
    [[nodiscard]] std::optional<base::ValueId> softmaxOf(base::ValueId weights) const;
    [[nodiscard]] bool isReadBy(base::ValueId value, std::size_t readers) const;
    [[nodiscard]] bool isKnownBefore(base::ValueId value) const;
    [[nodiscard]] std::optional<base::ValueId> throughMask(const graph::Node& node,
                                                           std::vector<ScoreMask>& masks) const;
    [[nodiscard]] std::optional<base::ValueId> throughFunction(const graph::Node& node) const;
    [[nodiscard]] bool isProduct(base::NodeId id) const;
    [[nodiscard]] bool isOfMatrices(base::NodeId product) const;
    [[nodiscard]] bool keepsQueriesAndKeys(const graph::Node& node) const;
    [[nodiscard]] std::optional<base::NodeId> scoresBelow(base::ValueId value, std::vector<ScoreMask>& masks) const;
    [[nodiscard]] std::optional<std::vector<MaskData>> dataOf(std::span<const ScoreMask> masks);
    [[nodiscard]] bool hides(std::span<const ScoreMask> masks, std::int64_t queries, std::int64_t keys);

    const execute::BoundModel& m_model;
    const graph::Graph& m_graph;
    std::int64_t m_last;
    execute::EarlyValues m_values;
    std::map<std::vector<ScoreMask>, bool> m_known; ///< layers share their masks
};

} // namespace retro::engine
