// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/emitrule.h"

#include "core/graph/attributes.h"
#include "core/ops/kernel/elementmap.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::tape
{

const ops::BoundOperator& EmitSite::op() const
{
    const auto made = std::ranges::find_if(node.outputs, [](ValueId output) { return output.isValid(); });
    return model.op(model.graph().value(*made).producer);
}

std::int64_t EmitSite::integer(std::string_view name, std::int64_t fallback) const
{
    return graph::attributeOr(node, name, fallback);
}

double EmitSite::number(std::string_view name, double fallback) const
{
    return graph::attributeOr(node, name, fallback);
}

std::string EmitSite::text(std::string_view name, const std::string& fallback) const
{
    return graph::attributeOr(node, name, fallback);
}

std::vector<std::int64_t> EmitSite::integers(std::string_view name, std::vector<std::int64_t> fallback) const
{
    return graph::attributeOr(node, name, std::move(fallback));
}

std::optional<std::vector<std::int64_t>> EmitSite::known(std::size_t slot) const
{
    if (!has(slot) || !model.isConstant(node.inputs[slot])) {
        return std::nullopt;
    }
    return ops::integersOf(model.constant(node.inputs[slot]));
}

std::string never(const EmitSite&) { return {}; }

bool always(const EmitSite&) { return true; }

const EmitRule* findEmitRule(std::string_view op)
{
    for (const EmitRules* rules :
         {&kElementWiseRules, &kActivationRules, &kLinearRules, &kWindowRules, &kResampleRules, &kShapeRules,
          &kPadRules, &kSignalRules, &kEinsumRules, &kIndexRules, &kSelectRules, &kReductionRules}) {
        const auto* at = std::ranges::find(*rules, op, &EmitRule::op);
        if (at != rules->end()) {
            return at;
        }
    }
    return nullptr;
}

base::Result<const EmitRule*> emitRuleFor(const EmitSite& site)
{
    const std::string where = fmt::format("node '{}' ({})", site.node.name, site.node.op);
    const EmitRule* rule = site.node.domain.empty() ? findEmitRule(site.node.op) : nullptr;
    if (rule == nullptr) {
        return base::inputError("this operator has no reverse rule made of standard operators; `grad` without "
                                "--graph-out computes its gradient",
                                where);
    }
    const std::string refusal = rule->refusal(site);
    if (!refusal.empty()) {
        return base::inputError("its reverse rule cannot be written as a graph: " + refusal, where);
    }
    return rule;
}

} // namespace retro::tape
