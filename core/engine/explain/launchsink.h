// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/sink.h"
#include "core/execute/boundmodel.h"
#include "core/lrp/composite/composite.h"
#include "kernels/lut/schedule.h"

namespace retro::engine
{

/// Passes on what happens, and before each rule that is applied to a table lookup the launches that it consists of, in
/// the order of their schedules, on the path that the layer takes: forward again, then relevance or, under a rule that
/// is a gradient, backward (on the fused path without the weights). Borrows all three.
class LaunchSink final : public event::Sink
{
public:
    LaunchSink(event::Sink& next, const execute::BoundModel& model, const lrp::RuleAssignment& rules)
        : m_next(next), m_model(model), m_rules(rules)
    {}
    void onEvent(const event::Event& event) override;
    void onLedger(const event::LedgerEntry& entry) override { m_next.onLedger(entry); }
    void onTensor(base::HandleId handle, const tensor::Tensor& tensor) override { m_next.onTensor(handle, tensor); }

private:
    void launch(const event::Event& rule);
    void launchPass(const event::Event& rule, lut::Pass pass);

    event::Sink& m_next;
    const execute::BoundModel& m_model;
    const lrp::RuleAssignment& m_rules;
};

} // namespace retro::engine
