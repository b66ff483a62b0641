// SPDX-License-Identifier: Apache-2.0
// What can be said of an explanation before and after it runs: its composite, its rules, its causes.
#include "core/base/file.h"
#include "core/base/leftovers.h"
#include "core/engine/explain/explain.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/engine/model/standins.h"
#include "core/lrp/composite/ruleoverride.h"

namespace retro::engine
{

using base::Result;

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

Result<lrp::Composite> plainComposite(const std::string& text)
{
    const lrp::Specification specification = lrp::splitSpecification(text);
    if (!specification.base.ends_with(".json")) {
        RETRO_TRY(lrp::Composite builtin, lrp::plainComposite(specification.base));
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

} // namespace retro::engine
