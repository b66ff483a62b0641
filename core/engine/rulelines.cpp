// SPDX-License-Identifier: Apache-2.0
// What can be said of an explanation before and after it runs: its composite, its rules, its causes.
#include "core/base/file.h"
#include "core/base/leftovers.h"
#include "core/engine/binding.h"
#include "core/engine/explain.h"
#include "core/engine/prepare.h"
#include "core/lrp/ruleoverride.h"
#include "core/ops/structure.h"

#include <fmt/format.h>

namespace retro::engine
{

using base::Result;

namespace
{

// What a softmax at the end reads, through nodes that only move elements; invalid when there is none.
base::ValueId beforeSoftmax(const execute::BoundModel& model, base::ValueId value)
{
    const graph::Graph& graph = model.graph();
    for (base::NodeId node = graph.nodeOf(value); node.isValid() && !graph.isInput(node); node = graph.nodeOf(value)) {
        const ops::Structure& structure = model.op(node).structure();
        const bool isMove = structure.kind() == ops::StructureKind::ShapeMap &&
                            static_cast<const ops::ShapeMap&>(structure).isRearrangement();
        value = graph.node(node).inputs.front();
        if (structure.kind() == ops::StructureKind::Softmax) {
            return static_cast<const ops::Softmax&>(structure).isLogarithm() ? base::ValueId() : value;
        }
        if (!isMove) {
            return {};
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
              bindModel(model, request.inputs, request.precision, nullptr, stop));
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
    const base::ValueId logits = beforeSoftmax(model, target.value);
    if (!logits.isValid()) {
        return {};
    }
    const std::string& name = model.graph().value(logits).name;
    const bool isOne = target.index.size() == 1 && target.index.front() >= 0 && model.typeOf(logits).shape.size() == 2;
    return fmt::format("\"{}\" is the result of a softmax: a probability goes up when the scores of other classes go "
                       "down, and its relevance mixes both. Explain the scores before it with --target '{}{}'",
                       model.graph().value(target.value).name, name,
                       isOne ? fmt::format(":0,{}", target.index.front()) : "[:i,j,…]");
}

} // namespace retro::engine
