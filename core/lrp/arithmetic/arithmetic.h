// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"
#include "core/event/event.h"

#include <cstdint>
#include <span>
#include <vector>

namespace retro::lrp
{

using base::HandleId;
using base::NodeId;

/// What a node can do for a search that arrives at it (docs/traversal.md, section 1.5).
enum class Role : std::uint8_t {
    Arg,         ///< can produce its own forward output from what it saved
    PassThrough, ///< one tracked operand; value and relevance can be carried through
    Raise        ///< needs operand values that nobody saved: raises a promise
};

/// The traversal's view of values: opaque handles. The real implementation computes on tensors; a null one measures
/// control cost alone. Handles are counted: the traversal says when it lets one go.
class Arithmetic
{
public:
    virtual ~Arithmetic() = default;

    /// Role of a node for an arriving search.
    [[nodiscard]] virtual Role role(NodeId node) const = 0;
    /// True when the node's rule needs operand (or output) values that the node did not save: relevance that arrives
    /// raises a promise.
    [[nodiscard]] virtual bool isStrict(NodeId node) const = 0;
    /// Kind of the promise that the node raises.
    [[nodiscard]] virtual event::PromiseKind promiseKind(NodeId node) const = 0;

    /// True when a promise that the node raises needs the value of operand `slot`: every tracked operand, and those
    /// untracked ones that hold data (which are answered at once); false for absent operands, axes, sizes and the like.
    [[nodiscard]] virtual bool hasBranch(NodeId node, std::uint32_t slot) const = 0;

    /// A visit starts; ledger rows from now on belong to it.
    virtual void beginVisit(std::uint32_t visit) = 0;
    /// Relevance of output `k` of `node`: the sum of one or more parts, left to right. One part is returned as it is (a
    /// new reference).
    [[nodiscard]] virtual HandleId sum(NodeId node, std::uint32_t k, std::span<const HandleId> parts) = 0;
    /// Applies the node's rule. `relevance` per output (invalid = zero; all invalid = zero everywhere). `operands` per
    /// operand slot: reconstructed values, or empty to use what the node saved. Returns one handle per operand slot,
    /// invalid for untracked ones. Books one ledger row.
    [[nodiscard]] virtual std::vector<HandleId> applyRule(NodeId node, std::span<const HandleId> relevance,
                                                          std::span<const HandleId> operands) = 0;
    /// Forward output `k` of an Arg node (or an input) from what it saved.
    [[nodiscard]] virtual HandleId ownOutput(NodeId node, std::uint32_t k) = 0;
    /// A value after the pass-through nodes `crossed`, in the order in which it passes them: the tracked operand of the
    /// first, the tracked operand of the next one is its output, … Not empty.
    [[nodiscard]] virtual HandleId carryForward(std::span<const NodeId> crossed, HandleId operand) = 0;
    /// Forward output `k` of any node from all its tracked operands' values (by operand slot; untracked ones are known
    /// to the node).
    [[nodiscard]] virtual HandleId forwardOutput(NodeId node, std::span<const HandleId> operands, std::uint32_t k) = 0;
    /// Value of the untracked operand `slot` of a node (a constant or a value that carries no relevance).
    [[nodiscard]] virtual HandleId untrackedOperand(NodeId node, std::uint32_t slot) = 0;

    /// The run ends: no rule will be applied any more.
    virtual void finish() {}

    /// Another reference to a handle / one reference less.
    virtual void retain(HandleId handle) = 0;
    virtual void release(HandleId handle) = 0;
};

} // namespace retro::lrp
