// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/ways/hiddenkeys.h"
#include "core/execute/boundmodel.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace retro::engine
{

/// What a node needs of an operand: rows along an axis.
struct NeededRows
{
    enum class Form : std::uint8_t {
        Alone, ///< these rows, and no others
        Among, ///< also a value that has others behind them
        Padded ///< a value of all rows, which may be 0 behind them
    };
    std::size_t axis = 0;
    Form form = Form::Alone;
};

/// Per operand; none: the operand stays whole.
using OperandRows = std::vector<std::optional<NeededRows>>;

/// What one row of a node's results needs of its operands.
class RowNeeds
{
public:
    explicit RowNeeds(const execute::BoundModel& model) : m_model(model), m_graph(model.graph()) {}

    /// As of(), for nodes that are no part of an attention.
    [[nodiscard]] std::optional<OperandRows> outsideAttention(base::NodeId id, std::size_t axis) const;

    /// Of an attention whose queries up to the token of `hidden` see no key behind it: keys and values may be 0 there,
    /// and queries where they are as many.
    [[nodiscard]] std::optional<OperandRows> ofCausal(const graph::Node& node, HiddenKeys& hidden) const;

    /// Of a cache without a past whose rows may be 0 behind some for all that read them: so may the new rows. What it
    /// keeps for the next run is 0 there too.
    [[nodiscard]] std::optional<OperandRows> ofNewCache(const graph::Node& node) const;

    /// CacheAppend of keys or values, all of them new but those in front, which stand for nothing.
    [[nodiscard]] bool isNewCache(const graph::Node& node) const;

    /// For a row along `axis` of output 0; none where the node mixes rows, or is not known not to.
    [[nodiscard]] std::optional<OperandRows> of(base::NodeId id, std::size_t axis) const;

private:
    static constexpr std::int64_t kSoftmaxOfAxis = 13;
    static constexpr std::size_t kMask = 3; // slot of Attention
    static constexpr std::size_t kRowsOfCache = 2;
    static constexpr std::size_t kRankOfCache = 4; // batch × heads × rows × width

    [[nodiscard]] const tensor::Shape& shapeOf(base::ValueId value) const { return m_model.typeOf(value).shape; }

    static OperandRows only(const graph::Node& node, std::size_t slot, std::size_t axis);

    /// Operands that are stretched to the result.
    [[nodiscard]] OperandRows broadcast(const graph::Node& node, std::size_t axis) const;

    static bool isNormOfRows(const graph::Node& node, std::size_t rank);

    /// Not turned, and with a bias that is the same for all rows.
    [[nodiscard]] bool isGemmOfRows(const graph::Node& node) const;

    [[nodiscard]] std::optional<OperandRows> ofProduct(base::NodeId id, const graph::Node& node,
                                                       std::size_t axis) const;

    [[nodiscard]] std::optional<OperandRows> byName(const graph::Node& node, std::size_t axis) const;

    /// Of a node that moves elements: parts of a row, one behind the other (turned halves of a rotation), queries, keys
    /// and values side by side. What picks some of them is known before.
    [[nodiscard]] std::optional<OperandRows> ofMoved(const graph::Node& node, std::size_t axis) const;

    /// Tables of cosines and sines by row, or positions by row.
    [[nodiscard]] std::optional<OperandRows> ofRotation(const graph::Node& node, std::size_t axis) const;

    /// Queries, and rows of the mask; keys and values stay.
    [[nodiscard]] std::optional<OperandRows> ofAttention(const graph::Node& node, std::size_t axis) const;

    /// The part of GroupQueryAttention behind its caches, where they are new: causal, and told how many keys count,
    /// which are at most those in front and as many as queries. Query i so sees none behind key i.
    [[nodiscard]] bool isOverNewCache(const graph::Node& node) const;

    static bool hasMoreThanMask(const graph::Node& node);

    /// Of as many queries as keys, those up to the token see no key behind it; one query alone is the token's.
    [[nodiscard]] bool hidesBehind(const graph::Node& node, HiddenKeys& hidden, std::int64_t queries,
                                   std::int64_t keys) const;

    const execute::BoundModel& m_model;
    const graph::Graph& m_graph;
};

} // namespace retro::engine
