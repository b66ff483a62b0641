// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/batchnormaffine.h"
#include "core/rewrite/linearlayer.h"

#include <optional>
#include <string>
#include <vector>

namespace retro::rewrite
{

/// The only reader of each value of a draft.
class SoleReaders
{
public:
    explicit SoleReaders(const Draft& draft);
    /// The node that alone reads the value, which is no output of the graph; nothing else.
    [[nodiscard]] std::optional<NodeId> of(ValueId id) const;
    /// After the operands of a node have changed.
    void take(NodeId id);

private:
    const Draft& m_draft;
    std::vector<NodeId> m_last; ///< per value: the last reader that was met
};

/// Nodes beside a layer that scale and shift its operand or its result by channel, and such that move elements between
/// them. Nobody else reads a value between them and the layer.
struct AffineChain
{
    /// One node of the chain.
    struct Step
    {
        NodeId node;
        std::optional<Affine> affine; ///< by channel of the layer; nothing = it moves elements
    };
    std::vector<Step> steps; ///< in the order in which they run; the outermost scales or shifts

    [[nodiscard]] bool isEmpty() const { return steps.empty(); }
    [[nodiscard]] bool hasMoves() const;
    /// "bn", "sub + mul + add": names of the nodes that scale and shift.
    [[nodiscard]] std::vector<std::string> namesIn(const Draft& draft) const;
    /// All are BatchNormalization.
    [[nodiscard]] bool isOfNorms(const Draft& draft) const;
    /// What the chain does to a channel of `channels`: all factors in one, and the shift.
    [[nodiscard]] std::vector<double> factor() const;
    /// `values`, one per channel, behind the chain.
    [[nodiscard]] std::vector<double> applied(std::vector<double> values) const;
};

/// The chain that reads a layer's result, and the one that makes its operand.
[[nodiscard]] AffineChain chainBehind(const Draft& draft, const LinearLayer& layer, const SoleReaders& readers,
                                      GenericShapes& shapes);
[[nodiscard]] AffineChain chainBefore(const Draft& draft, const LinearLayer& layer, GenericShapes& shapes);

/// The nodes of a chain that scale and shift, side by side.
struct StraightChain
{
    std::vector<NodeId> members; ///< in the order in which they run
    ValueId from;                ///< what the first reads
    ValueId to;                  ///< what the last makes
};

/// Moves what scales and shifts to the layer: behind it, before the nodes that move elements (`isBehind`), or before
/// it, behind them. A chain without such nodes stays as it is. Every value that changes is a new one.
StraightChain straighten(Draft& draft, const LinearLayer& layer, const AffineChain& chain, bool isBehind,
                         SoleReaders& readers, GenericShapes& shapes);

} // namespace retro::rewrite
