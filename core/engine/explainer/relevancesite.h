// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explainer/relevancesteps.h"
#include "core/execute/boundmodel.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/rules/nodeform.h"
#include "core/tape/gradientgraph/emitrule.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retro::engine
{

/// Which axes of values have an extent that is known only when the graph runs.
class FreeAxes
{
public:
    FreeAxes() = default;
    /// Per value, per axis.
    explicit FreeAxes(std::vector<std::vector<bool>> free) : m_free(std::move(free)) {}

    /// True when the extent of this axis is not known.
    [[nodiscard]] bool isFree(ValueId value, std::size_t axis) const
    {
        return value.index() < m_free.size() && axis < m_free[value.index()].size() && m_free[value.index()][axis];
    }
    /// From axis `first` on.
    [[nodiscard]] bool hasFree(ValueId value, std::size_t first = 0) const;

private:
    std::vector<std::vector<bool>> m_free;
};

/// One node at which relevance is written as nodes of the standard. Values of the model are named by their ids there
/// (`node`), those of the graph that is built by the lists beside it.
struct RelevanceSite
{
    RelevanceSteps& steps;
    const execute::BoundModel& model;
    base::NodeId id;
    const graph::Node& node;
    const lrp::Rule& rule;
    const FreeAxes& freeAxes;
    const lrp::RuleAssignment& rules;
    bool usesTaps = false; ///< the winner of a window is found by taps, without a scatter

    std::vector<ValueId> operands;     ///< per slot; invalid where there is none
    std::vector<ValueId> outputs;      ///< per output
    std::vector<ValueId> relevance;    ///< per output; invalid where nothing arrives
    std::vector<std::uint8_t> tracked; ///< per slot

    lrp::NodeForm form{}; ///< of the rule

    [[nodiscard]] const ops::Structure& structure() const { return model.op(id).structure(); }
    /// Of an operand, as it is bound; a free axis has some extent there.
    [[nodiscard]] const tensor::Shape& shape(std::size_t slot) const { return model.typeOf(node.inputs[slot]).shape; }
    /// Of a result.
    [[nodiscard]] const tensor::Shape& outputShape(std::size_t k = 0) const
    {
        return model.typeOf(node.outputs[k]).shape;
    }
    [[nodiscard]] bool isTracked(std::size_t slot) const { return slot < tracked.size() && tracked[slot] != 0; }
    /// True when an operand or result has a free axis, from axis `first` on.
    [[nodiscard]] bool hasFreeAxis(std::size_t first = 0) const;
    [[nodiscard]] bool has(std::size_t slot) const { return slot < node.inputs.size() && node.inputs[slot].isValid(); }
    /// Integers of a constant operand; empty where it is none.
    [[nodiscard]] std::vector<std::int64_t> known(std::size_t slot) const;
    /// What a part is where nothing is handed on.
    ValueId zeros(std::size_t slot) { return steps.filledLike(operands[slot], 0); }
    /// In the shape of an operand, what was broadcast added up.
    ValueId toOperand(ValueId value, std::size_t slot) { return steps.sumTo(value, outputShape(), shape(slot)); }
    /// `part`(slot) for each slot that takes relevance.
    template <class Part>
    [[nodiscard]] std::vector<ValueId> forTracked(Part part) const
    {
        std::vector<ValueId> parts(tracked.size());
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (isTracked(slot)) {
                parts[slot] = part(slot);
            }
        }
        return parts;
    }
    /// The one part for `slot`, zeros for the other tracked slots.
    std::vector<ValueId> only(std::size_t slot, ValueId part)
    {
        return forTracked([&](std::size_t i) { return i == slot ? part : zeros(i); });
    }
};

/// Per slot, valid for every tracked one.
using RelevanceParts = base::Result<std::vector<ValueId>>;

/// Why a rule cannot be written at a node, with what to do.
[[nodiscard]] base::Error notWritten(const RelevanceSite& site, std::string_view reason);
/// The rule is not written for this kind of node.
[[nodiscard]] base::Error noForm(const RelevanceSite& site);
/// A free axis stands in the way.
[[nodiscard]] base::Error needsExtents(const RelevanceSite& site);

/// True for a value that is nowhere below 0, by what made it.
[[nodiscard]] bool isNowhereNegative(const execute::BoundModel& model, ValueId value);

/// What the operator's reverse rule is given at a node, with the ids of the graph that is written to.
[[nodiscard]] tape::EmitValues valuesFor(const RelevanceSite& site, std::vector<ValueId> upstream);
/// J^T·s by the operator's reverse rule (tape::EmitRule): `upstream` per output. Needs extents that are known.
[[nodiscard]] RelevanceParts pulledBack(RelevanceSite& site, std::vector<ValueId> upstream);
/// The same where only elements meet elements, so that free axes do not matter.
[[nodiscard]] RelevanceParts pulledBackByElement(RelevanceSite& site, std::vector<ValueId> upstream);

/// The ways back of lrp::Way, by kind of structure; `s` arrives at the result. relevancegraphtest holds them equal to
/// those of the engine, node by node.
[[nodiscard]] RelevanceParts backThroughShapeMap(RelevanceSite& site, std::vector<ValueId> s);
[[nodiscard]] RelevanceParts backToWinners(RelevanceSite& site, ValueId s);
[[nodiscard]] ValueId inEqualParts(RelevanceSite& site, ValueId s);
[[nodiscard]] base::Result<ValueId> backThroughWindows(RelevanceSite& site, ValueId s);
[[nodiscard]] base::Result<ValueId> bySoftmaxOfWindows(RelevanceSite& site, ValueId s);
/// Σ of a value of the operand's shape over each window.
[[nodiscard]] base::Result<ValueId> sumOfWindows(RelevanceSite& site, ValueId value);

/// A linear map by the form of its rule, and its pull back of s.
[[nodiscard]] RelevanceParts relevanceOfLinearMap(RelevanceSite& site);
[[nodiscard]] RelevanceParts backThroughLinearMap(RelevanceSite& site, ValueId s);

/// The parts of a node by the form of its rule, its filter left out.
[[nodiscard]] RelevanceParts relevanceByForm(RelevanceSite& site);
/// The parts of a node by its rule, its filter included. Errors (Input): what cannot be written, by node and rule.
[[nodiscard]] RelevanceParts relevanceParts(RelevanceSite& site);

} // namespace retro::engine
