// SPDX-License-Identifier: Apache-2.0
// What can be said of an explanation before and after it runs: its composite, its rules, its causes.
#include "core/base/file.h"
#include "core/base/leftovers.h"
#include "core/engine/evaluate/channelaxis.h"
#include "core/engine/explain/explain.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/engine/model/standins.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/ops/structure.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace retro::engine
{

using base::Result;

namespace
{

/// What makes a value, looked at through nodes that hand numbers on, and what it reads.
struct LastStep
{
    const ops::Structure* structure = nullptr; ///< null: an input or a constant
    const graph::Node* node = nullptr;
    base::ValueId operand;
    bool keepsOrder = true; ///< the elements between it and the value are the same in the same order
};

enum class HandsOn : std::uint8_t { Nothing, InOrder, Elsewhere };

/// Whether a node's results are elements of its first operand, but for their type, for rounding and for bounds.
HandsOn whatHandsOn(const ops::Structure& structure, const graph::Node& node)
{
    static constexpr std::array<std::string_view, 11> kInOrder{
        "Cast",     "Clip",    "DequantizeLinear", "Dropout", "FakeQuantize", "Flatten",
        "Identity", "Reshape", "QuantizeLinear",   "Squeeze", "Unsqueeze"};
    static constexpr std::array<std::string_view, 7> kElsewhere{
        "ArrayFeatureExtractor", "Gather", "GatherElements", "GatherND", "Slice", "Split", "TopK"};
    if (std::ranges::find(kInOrder, node.op) != kInOrder.end()) {
        return HandsOn::InOrder;
    }
    const bool isMove = structure.kind() == ops::StructureKind::ShapeMap &&
                        static_cast<const ops::ShapeMap&>(structure).isRearrangement();
    const bool isPick = std::ranges::find(kElsewhere, node.op) != kElsewhere.end();
    return isMove || isPick ? HandsOn::Elsewhere : HandsOn::Nothing;
}

LastStep lastStepOf(const execute::BoundModel& model, base::ValueId value)
{
    const graph::Graph& graph = model.graph();
    LastStep last;
    for (base::NodeId node = graph.nodeOf(value); node.isValid() && !graph.isInput(node); node = graph.nodeOf(value)) {
        const std::vector<base::ValueId>& operands = graph.node(node).inputs;
        if (operands.empty() || !operands.front().isValid()) {
            return {};
        }
        const ops::Structure& structure = model.op(node).structure();
        const HandsOn how = whatHandsOn(structure, graph.node(node));
        value = operands.front();
        if (how == HandsOn::Nothing) {
            last.structure = &structure;
            last.node = &graph.node(node);
            last.operand = value;
            return last;
        }
        last.keepsOrder = last.keepsOrder && how == HandsOn::InOrder;
    }
    return {};
}

bool isOp(const LastStep& last, std::string_view op)
{
    return last.node != nullptr && last.node->domain.empty() && last.node->op == op;
}

/// The node that makes a value, where it is of the standard and of this name.
const graph::Node* makerOf(const graph::Graph& graph, base::ValueId value, std::string_view op)
{
    const base::NodeId id = value.isValid() ? graph.nodeOf(value) : base::NodeId();
    const bool isNode = id.isValid() && !graph.isInput(id);
    return isNode && graph.node(id).domain.empty() && graph.node(id).op == op ? &graph.node(id) : nullptr;
}

/// The exponential that a value is, or is somewhere (Where).
const graph::Node* exponentialOf(const graph::Graph& graph, base::ValueId value)
{
    const graph::Node* choice = makerOf(graph, value, "Where");
    const graph::Node* found = makerOf(graph, value, "Exp");
    for (std::size_t slot = 1; choice != nullptr && found == nullptr && slot < choice->inputs.size(); ++slot) {
        found = makerOf(graph, choice->inputs[slot], "Exp");
    }
    return found;
}

/// A softmax that is written in steps: exponentials, maybe of differences from the largest score, over their sum; also
/// SOFTMAX_ZERO of ONNX-ML.
LastStep writtenSoftmax(const graph::Graph& graph, const LastStep& last)
{
    const graph::Node* sum = isOp(last, "Div") ? makerOf(graph, last.node->inputs[1], "ReduceSum") : nullptr;
    const graph::Node* exponential = sum == nullptr ? nullptr : exponentialOf(graph, sum->inputs[0]);
    if (exponential == nullptr) {
        return {};
    }
    const graph::Node* others = makerOf(graph, last.operand, "Add");
    const bool isShare =
        last.operand == sum->inputs[0] ||
        (others != nullptr && std::ranges::find(others->inputs, sum->inputs[0]) != others->inputs.end());
    const graph::Node* difference = makerOf(graph, exponential->inputs[0], "Sub");
    LastStep scores = last;
    scores.operand = difference == nullptr ? exponential->inputs[0] : difference->inputs[0];
    return isShare ? scores : LastStep();
}

/// The softmax behind a value, or behind the exponential of its logarithm; its structure is null where there is none.
LastStep softmaxOf(const execute::BoundModel& model, const LastStep& last)
{
    if (last.structure == nullptr) {
        return {};
    }
    const auto isSoftmax = [](const LastStep& step, bool isLogarithm) {
        return step.structure != nullptr && step.structure->kind() == ops::StructureKind::Softmax &&
               static_cast<const ops::Softmax&>(*step.structure).isLogarithm() == isLogarithm;
    };
    if (isSoftmax(last, false)) {
        return last;
    }
    if (const LastStep written = writtenSoftmax(model.graph(), last); written.structure != nullptr) {
        return written;
    }
    LastStep inner = isOp(last, "Exp") ? lastStepOf(model, last.operand) : LastStep();
    inner.keepsOrder = inner.keepsOrder && last.keepsOrder;
    return isSoftmax(inner, true) ? inner : LastStep();
}

/// "--target 'z:0,3'", or with [:i,j,…] where the element is not told by two numbers.
std::string targetBefore(const execute::BoundModel& model, const ResolvedTarget& target, const LastStep& last)
{
    const base::ValueId operand = last.operand;
    const tensor::Shape& shape = model.typeOf(operand).shape;
    const bool isElement = last.keepsOrder && target.index.size() == 1 && target.index.front() >= 0;
    const bool isOne = isElement && shape.size() == 2;
    const std::vector<std::string> axes = trace::axisNames(model.graph(), operand, shape.size());
    if (isElement && shape == model.typeOf(target.value).shape && trace::isDense(axes, shape)) {
        return fmt::format("--target '{}:{}'", model.graph().value(operand).name,
                           trace::placeCode(axes, shape, target.index.front()));
    }
    return fmt::format("--target '{}{}'", model.graph().value(operand).name,
                       isOne ? fmt::format(":0,{}", target.index.front()) : "[:i,j,…]");
}

std::string softmaxHint(const execute::BoundModel& model, const ResolvedTarget& target, const LastStep& last)
{
    return fmt::format("\"{}\" is the result of a softmax: a probability goes up when the scores of other classes go "
                       "down, and its relevance mixes both. Explain the scores before it with {}",
                       model.graph().value(target.value).name, targetBefore(model, target, last));
}

/// A sigmoid below one half has a score below 0: relevance of the probability has the other sign than the evidence.
std::string sigmoidHint(const execute::BoundModel& model, const ResolvedTarget& target, const LastStep& last)
{
    for (std::size_t i = 0; i < target.index.size(); ++i) {
        if (target.index[i] >= 0 && target.logit[i] < 0.5) {
            return fmt::format("\"{}\" is the result of a sigmoid, and {:.3g} is below 0.5: the model says no, but the "
                               "probability is above 0, so what speaks against the class gets positive relevance. "
                               "Explain the score before it with {}, whose sign is that of the evidence",
                               model.graph().value(target.value).name, target.logit[i],
                               targetBefore(model, target, last));
        }
    }
    return {};
}

/// Of a model whose inputs have time first, the first axis of the target may be time as well.
std::string timeHint(const execute::BoundModel& model, const ResolvedTarget& target)
{
    const graph::Graph& graph = model.graph();
    const tensor::Shape& shape = model.typeOf(target.value).shape;
    const auto chosen = std::ranges::count_if(target.index, [](std::int64_t index) { return index != -2; });
    if (shape.size() < 2 || chosen < 2) {
        return {};
    }
    for (const base::ValueId input : graph.inputs()) {
        const tensor::Shape& its = model.typeOf(input).shape;
        const bool hasTimeFirst =
            its.size() > 1 && its[0] == shape[0] && inputAxesOf(graph, input, its.size()).samples == 1;
        if (hasTimeFirst) {
            return fmt::format(
                "axis 0 of \"{}\" ({}) counts as samples, so each of its {} entries has a target of its "
                "own; recurrent layers read axis 0 of \"{}\" as time. If it is time there, choose a step "
                "with --target '{}:sample={},class=…'",
                graph.value(target.value).name, tensor::toText(shape), shape[0], graph.value(input).name,
                graph.value(target.value).name, shape[0] - 1);
        }
    }
    return {};
}

} // namespace

Result<lrp::Composite> resolveComposite(const std::string& text, const execute::BoundModel& model)
{
    const lrp::Specification specification = lrp::splitSpecification(text);
    if (!specification.base.ends_with(".json")) {
        RETRO_TRY(lrp::Composite builtin,
                  lrp::builtinComposite(specification.base, model, !specification.overrides.empty()));
        return lrp::withOverrides(std::move(builtin), specification.overrides);
    }
    RETRO_TRY(const std::string json, base::readTextFile(specification.base, kMaxCompositeFileBytes));
    RETRO_TRY(lrp::Composite composite, lrp::parseComposite(json, specification.base));
    return lrp::withOverrides(std::move(composite), specification.overrides);
}

std::map<std::string, double> causeTotals(std::span<const event::LedgerEntry> ledger)
{
    std::map<std::string, double> totals;
    double unexplained = 0;
    for (const event::LedgerEntry& row : ledger) {
        unexplained += row.unexplained();
        for (std::size_t i = 0; i < event::kCauseCount; ++i) {
            if (row.causes[i] != 0) {
                totals[std::string(event::nameOf(static_cast<event::Cause>(i)))] += row.causes[i];
            }
        }
    }
    totals["unexplained"] = unexplained;
    return totals;
}

Result<std::vector<RuleLine>> listRules(const LoadedModel& model, const ExplainRequest& request, lrp::Composite* chosen,
                                        const std::stop_token& stop, std::vector<std::string>* unused)
{
    RETRO_TRY(const LoadedModel filled, withAllConstants(model, stop));
    RETRO_TRY(const std::shared_ptr<const execute::BoundModel> bound,
              bindModel(filled, request.inputs, request.precision, nullptr, stop,
                        bindOptionsFor(targetsOf(request), request.checkpoints)));
    RETRO_TRY(const lrp::Composite composite, resolveComposite(request.composite, *bound));
    lrp::EntryUse use;
    const auto rules = lrp::assignRules(composite, *bound, model.rewritten.fused, stop, &use, &model.rewritten);
    if (!rules) {
        base::Leftovers::add(bound);
        return rules.error();
    }
    std::vector<RuleLine> lines;
    for (std::size_t i = 0; i < rules->size(); ++i) {
        const graph::Node& node = bound->graph().node(base::NodeId(i));
        lines.push_back({base::NodeId(i), node.name, node.op, (*rules)[i].rule ? (*rules)[i].rule->text() : "-",
                         (*rules)[i].matcher});
    }
    if (chosen != nullptr) {
        *chosen = composite;
    }
    if (unused != nullptr) {
        *unused = lrp::unusedEntries(composite, use);
    }
    return lines;
}

std::string targetHint(const execute::BoundModel& model, const ResolvedTarget& target)
{
    const LastStep last = lastStepOf(model, target.value);
    if (last.structure == nullptr) {
        return {};
    }
    if (const LastStep softmax = softmaxOf(model, last); softmax.structure != nullptr) {
        return softmaxHint(model, target, softmax);
    }
    return isOp(last, "Sigmoid") ? sigmoidHint(model, target, last) : std::string();
}

std::vector<std::string> targetHints(const execute::BoundModel& model, const ResolvedTarget& target)
{
    std::vector<std::string> hints{targetHint(model, target), timeHint(model, target)};
    std::erase_if(hints, [](const std::string& hint) { return hint.empty(); });
    return hints;
}

} // namespace retro::engine
