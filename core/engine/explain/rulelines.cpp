// SPDX-License-Identifier: Apache-2.0
// What can be said of an explanation before and after it runs: its composite, its rules, its causes.
#include "core/base/file.h"
#include "core/base/leftovers.h"
#include "core/engine/evaluate/channelaxis.h"
#include "core/engine/explain/explain.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/ops/structure.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

/// What makes a value, looked at through nodes that only move elements, and what it reads.
struct LastStep
{
    const ops::Structure* structure = nullptr; ///< null: an input or a constant
    const graph::Node* node = nullptr;
    base::ValueId operand;
};

LastStep lastStepOf(const execute::BoundModel& model, base::ValueId value)
{
    const graph::Graph& graph = model.graph();
    for (base::NodeId node = graph.nodeOf(value); node.isValid() && !graph.isInput(node); node = graph.nodeOf(value)) {
        const ops::Structure& structure = model.op(node).structure();
        const bool isMove = structure.kind() == ops::StructureKind::ShapeMap &&
                            static_cast<const ops::ShapeMap&>(structure).isRearrangement();
        value = graph.node(node).inputs.front();
        if (!isMove) {
            return {&structure, &graph.node(node), value};
        }
    }
    return {};
}

/// "--target 'z:0,3'", or with [:i,j,…] where the element is not told by two numbers.
std::string targetBefore(const execute::BoundModel& model, const ResolvedTarget& target, base::ValueId operand)
{
    const tensor::Shape& shape = model.typeOf(operand).shape;
    const bool isElement = target.index.size() == 1 && target.index.front() >= 0;
    const bool isOne = isElement && shape.size() == 2;
    const std::vector<std::string> axes = trace::axisNames(model.graph(), operand, shape.size());
    if (isElement && shape == model.typeOf(target.value).shape && trace::isDense(axes, shape)) {
        return fmt::format("--target '{}:{}'", model.graph().value(operand).name,
                           trace::placeCode(axes, shape, target.index.front()));
    }
    return fmt::format("--target '{}{}'", model.graph().value(operand).name,
                       isOne ? fmt::format(":0,{}", target.index.front()) : "[:i,j,…]");
}

std::string softmaxHint(const execute::BoundModel& model, const ResolvedTarget& target, base::ValueId operand)
{
    return fmt::format("\"{}\" is the result of a softmax: a probability goes up when the scores of other classes go "
                       "down, and its relevance mixes both. Explain the scores before it with {}",
                       model.graph().value(target.value).name, targetBefore(model, target, operand));
}

/// A sigmoid below one half has a score below 0: relevance of the probability has the other sign than the evidence.
std::string sigmoidHint(const execute::BoundModel& model, const ResolvedTarget& target, base::ValueId operand)
{
    for (std::size_t i = 0; i < target.index.size(); ++i) {
        if (target.index[i] >= 0 && target.logit[i] < 0.5) {
            return fmt::format("\"{}\" is the result of a sigmoid, and {:.3g} is below 0.5: the model says no, but the "
                               "probability is above 0, so what speaks against the class gets positive relevance. "
                               "Explain the score before it with {}, whose sign is that of the evidence",
                               model.graph().value(target.value).name, target.logit[i],
                               targetBefore(model, target, operand));
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
        RETRO_TRY(lrp::Composite builtin, lrp::builtinComposite(specification.base, model));
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
    RETRO_TRY(const std::shared_ptr<const execute::BoundModel> bound,
              bindModel(model, request.inputs, request.precision, nullptr, stop,
                        bindOptionsFor(targetsOf(request), request.checkpoints)));
    RETRO_TRY(const lrp::Composite composite, resolveComposite(request.composite, *bound));
    lrp::EntryUse use;
    const auto rules = lrp::assignRules(composite, *bound, model.rewritten.fused, stop, &use);
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
    const bool isSoftmax = last.structure->kind() == ops::StructureKind::Softmax &&
                           !static_cast<const ops::Softmax&>(*last.structure).isLogarithm();
    if (isSoftmax) {
        return softmaxHint(model, target, last.operand);
    }
    const bool isSigmoid = last.node->domain.empty() && last.node->op == "Sigmoid";
    return isSigmoid ? sigmoidHint(model, target, last.operand) : std::string();
}

std::vector<std::string> targetHints(const execute::BoundModel& model, const ResolvedTarget& target)
{
    std::vector<std::string> hints{targetHint(model, target), timeHint(model, target)};
    std::erase_if(hints, [](const std::string& hint) { return hint.empty(); });
    return hints;
}

} // namespace retro::engine
