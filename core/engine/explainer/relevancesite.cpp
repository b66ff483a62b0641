// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/relevancesite.h"

#include "core/engine/explainer/followingconstants.h"
#include "core/graph/attributes.h"
#include "core/ops/kernel/elementmap.h"
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

namespace
{

/// What a rule wrote for one number of samples.
struct WrittenGraph
{
    graph::Graph graph;
    std::vector<graph::ValueId> results; ///< invalid where there is none
};

Result<WrittenGraph> writtenFor(const execute::BoundModel& model, const RelevanceSteps& like, std::int64_t opset,
                                const std::vector<tensor::DType>& types, const SampleBindings::Write& write)
{
    graph::GraphBuilder builder("part");
    builder.setOpset("", opset);
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < types.size(); ++i) {
        operands.push_back(builder.addInput("operand" + std::to_string(i), types[i], std::nullopt));
    }
    tape::Emitter emit(builder, opset, like.floatType(), "part");
    RETRO_TRY(const std::vector<ValueId> made, write(emit, model, operands));
    WrittenGraph written;
    std::vector<std::string> names;
    for (const ValueId value : made) {
        if (value.isValid()) { // an output may be an operand or named twice
            const ValueId output = builder.addResult("result" + std::to_string(names.size()));
            emit.named("Identity", {value}, output);
            builder.addOutput(output);
        }
        names.push_back(value.isValid() ? "result" + std::to_string(names.size()) : "");
    }
    RETRO_TRY(written.graph, std::move(builder).build());
    for (const std::string& name : names) {
        written.results.push_back(name.empty() ? ValueId() : *written.graph.findValue(name));
    }
    return written;
}

} // namespace

bool SampleBindings::apply(const graph::Graph& graph)
{
    bool isAny = false;
    for (const graph::ValueId input : graph.inputs()) {
        const auto& shape = graph.value(input).shape;
        for (std::size_t axis = 0; shape && axis < shape->size(); ++axis) {
            if (!(*shape)[axis].extent && axis != 0) {
                return false;
            }
            isAny = isAny || !(*shape)[axis].extent;
        }
    }
    return isAny;
}

namespace
{

/// Writes the constants of three graphs that differ in the number of samples alone, which is `extents`: as constants or
/// by `count`. False where one follows no law.
bool copyConstants(RelevanceSteps& steps, const std::function<ValueId()>& count, const ThreeExtents& extents,
                   const std::array<const graph::Graph*, 3>& graphs, std::vector<ValueId>& copy)
{
    for (std::size_t i = 0; i < copy.size(); ++i) {
        const graph::ValueId id(i);
        if (graphs[0]->value(id).kind != graph::ValueKind::Constant) {
            continue;
        }
        const std::array seen{&graphs[0]->value(id).constant, &graphs[1]->value(id).constant,
                              &graphs[2]->value(id).constant};
        const bool isOne = seen[0]->bitEqual(*seen[1]) && seen[0]->bitEqual(*seen[2]);
        copy[i] = isOne ? steps.constant(*seen[0]) : constantFollowing(steps, count, extents, seen);
        if (!copy[i].isValid()) {
            return false;
        }
    }
    return true;
}

} // namespace

Result<void> SampleBindings::bind()
{
    if (!m_more.empty()) {
        return {};
    }
    const graph::Graph& graph = m_model.graph();
    std::vector<std::shared_ptr<const execute::BoundModel>> more;
    for (const std::int64_t samples : kMore) {
        std::vector<ops::TensorType> types;
        for (const graph::ValueId input : graph.inputs()) {
            types.push_back(m_model.typeOf(input));
            const auto& shape = graph.value(input).shape;
            if (shape && !shape->empty() && !shape->front().extent) {
                types.back().shape.front() = samples;
            }
        }
        RETRO_TRY(auto bound, execute::BoundModel::bind(m_model.sharedGraph(), types, m_model.precision(), {}, m_stop));
        more.push_back(std::move(bound));
    }
    m_more = std::move(more);
    return {};
}

ValueId SampleBindings::count(RelevanceSteps& steps)
{
    if (!m_count.isValid()) {
        m_count = steps.node("Gather", {steps.shapeOf(m_samples), steps.ints({0})});
    }
    return m_count;
}

Result<std::vector<ValueId>> SampleBindings::write(RelevanceSteps& steps, const std::vector<ValueId>& operands,
                                                   const std::vector<tensor::DType>& types, const Write& write)
{
    RETRO_CHECK(bind());
    const std::int64_t opset = steps.opset();
    RETRO_TRY(const WrittenGraph written, writtenFor(m_model, steps, opset, types, write));
    RETRO_TRY(const WrittenGraph second, writtenFor(*m_more[0], steps, opset, types, write));
    RETRO_TRY(const WrittenGraph third, writtenFor(*m_more[1], steps, opset, types, write));
    if (!areSameNodes(written.graph, second.graph) || !areSameNodes(written.graph, third.graph)) {
        return std::vector<ValueId>();
    }
    std::vector<ValueId> copy(written.graph.valueCount());
    for (std::size_t i = 0; i < operands.size(); ++i) {
        copy[written.graph.inputs()[i].index()] = operands[i];
    }
    const std::array graphs{&written.graph, &second.graph, &third.graph};
    if (!copyConstants(
            steps, [&] { return count(steps); }, {2, kMore[0], kMore[1]}, graphs, copy)) {
        return std::vector<ValueId>();
    }
    const auto mapped = [&copy](ValueId value) { return value.isValid() ? copy[value.index()] : value; };
    for (const graph::Node& node : written.graph.nodes()) {
        std::vector<ValueId> inputs;
        std::ranges::transform(node.inputs, std::back_inserter(inputs), mapped);
        const std::vector<ValueId> made = steps.node(node.op, std::move(inputs), node.attributes, node.outputs.size());
        for (std::size_t k = 0; k < made.size(); ++k) {
            copy[node.outputs[k].index()] = made[k];
        }
    }
    std::vector<ValueId> results;
    std::ranges::transform(written.results, std::back_inserter(results), mapped);
    return results;
}

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
constexpr std::array<std::string_view, 14> kKeepSign{
    "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "Add",      "Concat",     "Flatten",
    "Reshape", "Squeeze",     "Unsqueeze",         "Transpose",     "Identity", "ReduceMean", "ReduceSum"};

bool isClippedAtZero(const execute::BoundModel& model, const graph::Node& node)
{
    if (node.op != "Clip") {
        return false;
    }
    if (node.inputs.size() < 2) {
        return graph::floatAttribute(node, "min", -1) >= 0;
    }
    const ValueId low = node.inputs[1];
    return low.isValid() && model.isConstant(low) && model.constant(low).size() == 1 && model.constant(low).at(0) >= 0;
}

/// Values that the operator computes with; not shapes or axes.
std::size_t dataOperands(const graph::Node& node)
{
    return node.op == "Add" || node.op == "Concat" ? node.inputs.size() : 1;
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
    if (std::ranges::find(kKeepSign, node.op) == kKeepSign.end()) {
        return false;
    }
    for (std::size_t slot = 0; slot < dataOperands(node); ++slot) {
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

/// For a rule that knows slots without a gradient.
tape::EmitValues valuesFor(const RelevanceSite& site, std::vector<ValueId> upstream, const tape::EmitRule& rule)
{
    tape::EmitValues values = valuesFor(site, std::move(upstream));
    for (std::size_t slot = rule.firstWithout; slot < values.wanted.size(); ++slot) {
        values.wanted[slot] = 0;
    }
    return values;
}

/// Per operand slot; invalid where the rule writes nothing.
RelevanceParts written(const RelevanceSite& site, const tape::EmitRule& rule, tape::Emitter& emit,
                       const execute::BoundModel& model, tape::EmitValues values)
{
    RETRO_TRY(tape::EmitSite at, tape::EmitSite::make(emit, model, site.id, std::move(values)));
    if (const std::string refusal = rule.refusal(at); !refusal.empty()) {
        return notWritten(site, refusal);
    }
    RETRO_TRY(const tape::EmitResult made, tape::resultOf(at, rule.emit(at)));
    std::vector<ValueId> parts(site.tracked.size());
    for (const auto& [slot, part] : made.wrote) {
        parts[slot] = part;
    }
    return parts;
}

std::vector<ValueId> withZeros(RelevanceSite& site, std::vector<ValueId> parts)
{
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        if (site.isTracked(slot) && !parts[slot].isValid()) {
            parts[slot] = site.zeros(slot);
        }
    }
    return parts;
}

Result<const tape::EmitRule*> reverseRuleOf(const RelevanceSite& site)
{
    const bool isOurMatMul = site.node.domain == "retrograde" && site.node.op == "MatMul"; // one with a bias
    const bool isKnown = site.node.domain.empty() || isOurMatMul;
    const tape::EmitRule* rule = isKnown ? tape::findEmitRule(site.node.op) : nullptr;
    if (rule == nullptr) {
        return notWritten(site, "its reverse rule is not made of standard operators; choose another rule");
    }
    return rule;
}

/// The rule at several numbers of samples; what follows from their number is computed when the graph runs.
RelevanceParts pulledBackForAnySamples(RelevanceSite& site, const std::vector<ValueId>& upstream)
{
    RETRO_TRY(const tape::EmitRule* rule, reverseRuleOf(site));
    tape::EmitValues values = valuesFor(site, upstream, *rule);
    std::vector<ValueId> operands;
    std::vector<tensor::DType> types;
    std::vector<std::pair<std::vector<ValueId>*, std::size_t>> places; // of the operands, in the same order
    const auto take = [&](std::vector<ValueId>& list, const std::vector<graph::ValueId>& of) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i].isValid()) {
                const tensor::DType own = site.model.typeOf(of[i]).dtype;
                operands.push_back(list[i]);
                types.push_back(tensor::isFloating(own) ? site.steps.floatType() : own);
                places.emplace_back(&list, i);
            }
        }
    };
    take(values.operands, site.node.inputs);
    take(values.outputs, site.node.outputs);
    take(values.upstream, site.node.outputs);
    const auto write = [&](tape::Emitter& emit, const execute::BoundModel& model,
                           const std::vector<ValueId>& given) -> RelevanceParts {
        for (std::size_t i = 0; i < places.size(); ++i) {
            (*places[i].first)[places[i].second] = given[i];
        }
        return written(site, *rule, emit, model, values);
    };
    RETRO_TRY(std::vector<ValueId> parts, site.samples->write(site.steps, operands, types, write));
    if (parts.empty()) {
        return needsExtents(site);
    }
    return withZeros(site, std::move(parts));
}

} // namespace

RelevanceParts pulledBackByElement(RelevanceSite& site, std::vector<ValueId> upstream)
{
    RETRO_TRY(const tape::EmitRule* rule, reverseRuleOf(site));
    tape::EmitValues values = valuesFor(site, std::move(upstream), *rule);
    RETRO_TRY(std::vector<ValueId> parts, written(site, *rule, site.steps, site.model, std::move(values)));
    return withZeros(site, std::move(parts));
}

RelevanceParts pulledBack(RelevanceSite& site, std::vector<ValueId> upstream)
{
    if (!site.hasFreeAxis()) {
        return pulledBackByElement(site, std::move(upstream));
    }
    RETRO_TRY(const tape::EmitRule* rule, reverseRuleOf(site));
    const tape::EmitSite at(site.steps, site.model, site.node, valuesFor(site, upstream, *rule));
    if (rule->takesFree != nullptr && rule->refusal(at).empty() && rule->takesFree(at)) {
        return pulledBackByElement(site, std::move(upstream));
    }
    return site.samples == nullptr ? needsExtents(site) : pulledBackForAnySamples(site, upstream);
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
