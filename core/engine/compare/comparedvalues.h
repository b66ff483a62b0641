// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/compare/compare.h"

#include <optional>
#include <string>
#include <vector>

namespace retro::engine
{

/// What one of two compared sides knows, asked for by the values and nodes of the leading graph. Keeps references to
/// both.
class ComparedValues
{
public:
    /// `byPosition`: the side is a run of a graph of the same structure.
    ComparedValues(const ComparedSide& side, const graph::Graph& leading, bool byPosition);

    /// Relevance of a value; invalid where the side has none.
    [[nodiscard]] tensor::Tensor of(base::ValueId value) const;
    /// True when relevance may have arrived at the value on this side: always for tensors, which do not say.
    [[nodiscard]] bool mayCarry(base::ValueId value) const;
    /// The rule of a node; empty when it passes no relevance or this side does not know it.
    [[nodiscard]] std::string rule(base::NodeId node) const;
    /// True when an empty rule() means that the node passes no relevance.
    [[nodiscard]] bool knowsRules() const { return m_knowsRules; }
    /// What the node's operator is (trace::NodeRule::structure); may be empty.
    [[nodiscard]] std::string structure(base::NodeId node) const;
    /// Where relevance starts on this side, when it is a run that says so.
    [[nodiscard]] std::optional<base::ValueId> start() const;
    /// Arrays that stand for no value of the leading graph.
    [[nodiscard]] std::vector<std::string> unmatched() const;

private:
    [[nodiscard]] std::optional<base::NodeId> byOutput(base::NodeId node) const;
    [[nodiscard]] const trace::NodeRule* ruleOf(base::NodeId node) const;
    void noteArrivals();

    const ComparedSide& m_side;
    const graph::Graph& m_leading;
    bool m_byPosition;
    bool m_knowsRules = false;
    std::vector<tensor::Tensor> m_relevance; // by ValueId of the side's own graph
    std::vector<bool> m_arrived;             // as m_relevance; also where the tensor was not kept
    std::vector<std::string> m_fileNames;    // by ValueId of the leading graph
};

} // namespace retro::engine
