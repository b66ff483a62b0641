// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/relevancesite.h"

#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/layerkind.h"
#include "core/tape/gradientgraph/emitrule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace retro::engine
{

using base::Result;
using ops::StructureKind;

bool FreeAxes::hasFree(ValueId value, std::size_t first) const
{
    if (!value.isValid() || value.index() >= m_free.size()) {
        return false;
    }
    const std::vector<bool>& axes = m_free[value.index()];
    for (std::size_t axis = first; axis < axes.size(); ++axis) {
        if (axes[axis]) {
            return true;
        }
    }
    return false;
}

bool RelevanceSite::hasFreeAxis(std::size_t first) const
{
    const auto has = [&](ValueId value) { return freeAxes.hasFree(value, first); };
    return std::ranges::any_of(node.inputs, has) || std::ranges::any_of(node.outputs, has);
}

std::vector<std::int64_t> RelevanceSite::known(std::size_t slot) const
{
    if (!has(slot) || !model.isConstant(node.inputs[slot])) {
        return {};
    }
    return ops::integersOf(model.constant(node.inputs[slot]));
}

base::Error notWritten(const RelevanceSite& site, std::string_view reason)
{
    return base::inputError(fmt::format("the rule {} cannot be written as a graph here: {}", site.rule.text(), reason),
                            fmt::format("node '{}' ({})", site.node.name, site.node.op));
}

base::Error noForm(const RelevanceSite& site)
{
    return notWritten(site, "this rule has no form in standard operators yet for its kind of node; choose another one "
                            "by --rule");
}

base::Error needsExtents(const RelevanceSite& site)
{
    return notWritten(site, "it needs extents that the model leaves free; give the inputs a shape by --shape "
                            "NAME=1x3x224x224");
}

namespace
{

/// Operators whose results are nowhere negative, and those whose results are where their operands are.
constexpr std::array<std::string_view, 7> kNotNegative{"Relu",     "Sigmoid", "Softmax", "HardSigmoid",
                                                       "Softplus", "Exp",     "Abs"};
bool keepsSign(const execute::BoundModel& model, graph::NodeId id)
{
    using enum ops::StructureKind;
    const ops::StructureKind kind = model.op(id).structure().kind();
    const graph::Node& node = model.graph().node(id);
    return kind == MaxPool || kind == AveragePool || kind == Reduction || ops::movesElements(node) ||
           ops::areElements(node, {ops::Elements::Summed});
}

bool isClippedAtZero(const execute::BoundModel& model, const graph::Node& node)
{
    if (!ops::areElements(node, {ops::Elements::Bounded})) {
        return false;
    }
    if (node.inputs.size() < 2) {
        return graph::floatAttribute(node, "min", -1) >= 0;
    }
    const ValueId low = node.inputs[1];
    return low.isValid() && model.isConstant(low) && model.constant(low).size() == 1 && model.constant(low).at(0) >= 0;
}

/// False where the node may make a negative value of operands that are nowhere negative; `open` gets the operands
/// that decide.
bool makesNoNegative(const execute::BoundModel& model, graph::NodeId id, std::vector<ValueId>& open)
{
    if (!id.isValid() || model.graph().isInput(id)) {
        return false;
    }
    const graph::Node& node = model.graph().node(id);
    if (!node.domain.empty()) {
        return false;
    }
    if (std::ranges::find(kNotNegative, node.op) != kNotNegative.end() || isClippedAtZero(model, node)) {
        return true;
    }
    if (!keepsSign(model, id)) {
        return false;
    }
    for (std::size_t slot = 0; slot < ops::dataOperands(node); ++slot) {
        if (std::ranges::find(open, node.inputs[slot]) == open.end()) {
            open.push_back(node.inputs[slot]);
        }
    }
    return true;
}

bool isConstantNotNegative(const tensor::Tensor& data)
{
    return tensor::isFloating(data.dtype()) && !ops::algebra::anyNegative(data);
}

} // namespace

bool isNowhereNegative(const execute::BoundModel& model, ValueId value)
{
    constexpr std::size_t kMost = 64; // a longer way back is not worth it
    std::vector<ValueId> open{value};
    for (std::size_t at = 0; at < open.size(); ++at) {
        if (at == kMost) {
            return false;
        }
        const bool isFit = model.isConstant(open[at]) ? isConstantNotNegative(model.constant(open[at]))
                                                      : makesNoNegative(model, model.graph().nodeOf(open[at]), open);
        if (!isFit) {
            return false;
        }
    }
    return true;
}

tape::EmitValues valuesFor(const RelevanceSite& site, std::vector<ValueId> upstream)
{
    tape::EmitValues values;
    values.operands = site.operands;
    values.outputs = site.outputs;
    values.upstream = std::move(upstream);
    values.wanted = site.tracked;
    values.isFree = [&site](std::size_t slot, std::size_t axis) {
        return site.freeAxes.isFree(site.node.inputs[slot], axis);
    };
    values.turnsWeights = true;
    for (const ValueId operand : site.node.inputs) {
        values.types.push_back(operand.isValid() ? site.steps.floatType() : tensor::DType::Float32);
    }
    return values;
}

namespace
{

Result<const tape::EmitRule*> reverseRuleOf(const RelevanceSite& site)
{
    const bool isOurMatMul = ops::isLinearLayer(site.node); // one with a bias
    const bool isKnown = site.node.domain.empty() || isOurMatMul;
    const tape::EmitRule* rule = isKnown ? tape::findEmitRule(site.node.op) : nullptr;
    if (rule == nullptr) {
        return notWritten(site, "its reverse rule is not made of standard operators; choose another rule");
    }
    return rule;
}

} // namespace

RelevanceParts pulledBackByElement(RelevanceSite& site, std::vector<ValueId> upstream)
{
    RETRO_TRY(const tape::EmitRule* rule, reverseRuleOf(site));
    tape::EmitValues values = valuesFor(site, std::move(upstream));
    for (std::size_t slot = rule->firstWithout; slot < values.wanted.size(); ++slot) {
        values.wanted[slot] = 0;
    }
    RETRO_TRY(tape::EmitSite at, tape::EmitSite::make(site.steps, site.model, site.id, std::move(values)));
    if (const std::string refusal = rule->refusal(at); !refusal.empty()) {
        return notWritten(site, refusal);
    }
    RETRO_TRY(const tape::EmitResult made, tape::resultOf(at, rule->emit(at)));
    std::vector<ValueId> parts(site.tracked.size());
    for (const auto& [slot, part] : made.wrote) {
        parts[slot] = part;
    }
    return site.forTracked([&](std::size_t slot) { return parts[slot].isValid() ? parts[slot] : site.zeros(slot); });
}

RelevanceParts pulledBack(RelevanceSite& site, std::vector<ValueId> upstream)
{
    if (!site.hasFreeAxis()) {
        return pulledBackByElement(site, std::move(upstream));
    }
    RETRO_TRY(const tape::EmitRule* rule, reverseRuleOf(site));
    const tape::EmitSite at(site.steps, site.model, site.node, valuesFor(site, upstream));
    if (rule->takesFree != nullptr && rule->refusal(at).empty() && rule->takesFree(at)) {
        return pulledBackByElement(site, std::move(upstream));
    }
    return needsExtents(site);
}

namespace
{

/// The largest numbers of each sample in signed order, at least one; of equal ones the first.
Result<ValueId> filtered(RelevanceSite& site, std::size_t k, double fraction)
{
    const tensor::Shape& shape = site.outputShape(k);
    if (shape.size() < 2 || site.freeAxes.hasFree(site.node.outputs[k], 1)) {
        return needsExtents(site);
    }
    std::int64_t count = 1;
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
        count *= shape[axis];
    }
    const auto kept =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(fraction * static_cast<double>(count))));
    RelevanceSteps& steps = site.steps;
    const ValueId flat = steps.node("Reshape", {site.relevance[k], steps.ints({0, -1})});
    const std::vector<ValueId> top = steps.node("TopK", {flat, steps.ints({kept})}, {{"axis", std::int64_t{1}}}, 2);
    const ValueId only = steps.scatter(steps.filledLike(flat, 0), top[1], top[0], 1);
    return steps.reshapeLike(only, site.relevance[k]);
}

} // namespace

RelevanceParts relevanceParts(RelevanceSite& site)
{
    const lrp::RuleParameters parameters = site.rule.parameters();
    if (const auto fraction = parameters.find("filter"); fraction != parameters.end()) {
        for (std::size_t k = 0; k < site.relevance.size(); ++k) {
            if (site.relevance[k].isValid()) {
                RETRO_TRY(site.relevance[k], filtered(site, k, std::get<double>(fraction->second)));
            }
        }
    }
    const std::optional<lrp::NodeForm> form = site.rule.form(site.model.op(site.id), site.tracked);
    const bool handsOn = !form || form->way != lrp::Way::Nowhere;
    const StructureKind kind = site.structure().kind();
    if (handsOn && kind == StructureKind::TableLookup) {
        return notWritten(site, "a table of comparisons is no operator of the standard");
    }
    if (handsOn && kind == StructureKind::Composed) {
        return notWritten(site, "the operator does many steps in one; give the inputs shapes by --shape so that it is "
                                "written out");
    }
    if (!form) {
        return noForm(site);
    }
    site.form = *form;
    return relevanceByForm(site);
}

} // namespace retro::engine
