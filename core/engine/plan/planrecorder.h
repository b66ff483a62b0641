// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/launchsink.h"
#include "core/engine/plan/planwish.h"
#include "core/runtime/planrun.h"
#include "core/trace/recorder.h"

#include <memory>
#include <vector>

namespace retro::engine
{

/// Records how a plan is carried out, behind the search that led to it: a run without facts and rules. Made, used and
/// destroyed on the thread that carries it out, whose kernels it takes.
class PlanRecorder
{
public:
    /// Borrowed for the life of the recorder; `ledger`, which the run fills, may be null.
    PlanRecorder(const runtime::JointProgram& program, const ChosenPlan& chosen,
                 const std::vector<event::LedgerEntry>* ledger = nullptr);

    /// Listens to a run that is to come; what listened before still does.
    void listen(runtime::PlanRunOptions& options);
    /// Events that were recorded so far.
    [[nodiscard]] std::uint64_t eventCount() const { return m_recorder.eventCount(); }
    /// The run, with the forward values that the plan made. Call once.
    [[nodiscard]] std::shared_ptr<trace::Run> take(std::span<const tensor::Tensor> inputs,
                                                   std::span<const tensor::Tensor> outputs) &&;

private:
    void onStep(const runtime::StepRecord& record);

    const runtime::JointProgram& m_program;
    const ChosenPlan& m_chosen;
    const std::vector<event::LedgerEntry>* m_ledger;
    PlanPlaces m_places;
    trace::Recorder m_recorder;
    LaunchBook m_book;
    LaunchSink m_launches{m_recorder, m_book};
    PlanEvents m_events;
    std::vector<tensor::Tensor> m_values; ///< by ValueId
    std::size_t m_booked = 0;
};

} // namespace retro::engine
