// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"
#include "core/lrp/composite/composite.h"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace retro::lrp
{

using base::NodeId;
using base::ValueId;

/// What one relevance pass computed, so that the next one over the same forward values computes only what a changed
/// rule reaches: a rule that is the same and gets the same tensors gives the same tensors. Tensors are compared by
/// where they lie, not by their elements: what comes out of this memory is recognised when it goes in again. Used by
/// one thread at a time.
class PassMemory
{
public:
    /// Beyond so many bytes nothing more is kept, and is computed again.
    explicit PassMemory(std::int64_t mostBytes = 2LL << 30) : m_mostBytes(mostBytes) {}

    /// What the rule of a node gave.
    struct Applied
    {
        RulePointer rule;
        std::vector<Tensor> arrived; ///< per output
        std::vector<Tensor> shares;  ///< per operand slot
        event::LedgerEntry row;
    };
    /// Parts in the order in which they are added.
    struct Summands
    {
        std::vector<Tensor> parts;
        std::vector<std::uint8_t> joined; ///< per part: 1 where it is first added to the one before; may be empty
    };
    /// What a sum of parts gave.
    struct Added
    {
        Summands summands;
        Tensor total;
        double lost = 0; ///< to rounding
    };

    /// A pass begins: counts start at 0.
    void begin() { m_applied = m_reused = 0; }
    /// The same rule on the same relevance, counted as reused; null when there is none, counted as applied.
    [[nodiscard]] const Applied* find(NodeId node, const RulePointer& rule, std::span<const Tensor> arrived);
    void keep(NodeId node, Applied applied);
    /// The same parts of output `k` of a node; null when there are none.
    [[nodiscard]] const Added* find(NodeId node, std::uint32_t k, const Summands& summands) const;
    void keep(NodeId node, std::uint32_t k, Added added);
    /// A forward value that was computed again; invalid when it was not.
    [[nodiscard]] Tensor value(ValueId id) const;
    void keep(ValueId id, const Tensor& value);

    /// Rules that were applied since begin(), and rules whose result was still there.
    [[nodiscard]] std::size_t applied() const { return m_applied; }
    [[nodiscard]] std::size_t reused() const { return m_reused; }

private:
    [[nodiscard]] bool takes(std::int64_t bytes);

    std::int64_t m_mostBytes;
    std::int64_t m_bytes = 0;
    std::map<NodeId, Applied> m_rules;
    std::map<std::pair<NodeId, std::uint32_t>, Added> m_sums;
    std::map<ValueId, Tensor> m_values;
    std::size_t m_applied = 0;
    std::size_t m_reused = 0;
};

} // namespace retro::lrp
