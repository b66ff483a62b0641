// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/launchsink.h"

#include "core/ops/tablelookup.h"

namespace retro::engine
{

namespace
{

const ops::TableLookup* tableOf(const execute::BoundModel& model, const event::Event& event)
{
    const base::NodeId node(event.node);
    const bool isRule = event.kind == event::EventKind::Rule && node.isValid() && !model.graph().isInput(node);
    return isRule ? dynamic_cast<const ops::TableLookup*>(&model.op(node).structure()) : nullptr;
}

/// What the rule launches after the forward pass; nothing when it reads no values.
std::optional<lut::Pass> passOf(const lrp::Rule& rule)
{
    const lrp::RuleParameters parameters = rule.parameters();
    const auto share = parameters.find("share");
    const bool isGradient = rule.name() == "gradient" ||
                            (share != parameters.end() && share->second == lrp::RuleParameter(std::string("gradient")));
    if (isGradient) {
        return lut::Pass::Backward;
    }
    return rule.name() == "lut" ? std::optional(lut::Pass::Relevance) : std::nullopt;
}

/// Weight gradients, which no rule asks for; only the fused path leaves them out.
bool isLeftOut(lut::KernelId kernel)
{
    return kernel == lut::KernelId::SumWeightGradients || kernel == lut::KernelId::SumPairWeightGradients;
}

/// The event of one launch, in the visit of its rule.
event::Event launchEvent(const event::Event& rule, lut::Pass pass, std::size_t place, const lut::Launch& launch)
{
    event::Event event;
    event.kind = event::EventKind::Launch;
    event.mode = rule.mode;
    event.visit = rule.visit;
    event.node = rule.node;
    event.slot = static_cast<std::uint32_t>(place);
    event.branch = static_cast<std::uint32_t>(pass);
    event.branch2 = launch.stream;
    event.extra = static_cast<std::int64_t>(launch.kernel);
    return event;
}

} // namespace

void LaunchSink::onEvent(const event::Event& event)
{
    if (tableOf(m_model, event) != nullptr) {
        launch(event);
    }
    m_next.onEvent(event);
}

void LaunchSink::launch(const event::Event& rule)
{
    const lrp::RulePointer& assigned = m_rules[rule.node].rule;
    if (const std::optional<lut::Pass> last = assigned ? passOf(*assigned) : std::nullopt) {
        launchPass(rule, lut::Pass::Forward);
        launchPass(rule, *last);
    }
}

void LaunchSink::launchPass(const event::Event& rule, lut::Pass pass)
{
    const ops::TableLookup& table = *tableOf(m_model, rule);
    lut::Schedule schedule;
    if (!lut::makeSchedule(table.schedule(table.path(), pass), schedule).ok()) {
        return; // sizes that overflow were refused when the node was bound
    }
    for (std::size_t i = 0; i < schedule.launches.size(); ++i) {
        if (!isLeftOut(schedule.launches[i].kernel)) {
            m_next.onEvent(launchEvent(rule, pass, i, schedule.launches[i]));
        }
    }
}

} // namespace retro::engine
