// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/planrecorder.h"

#include <algorithm>

namespace retro::engine
{

using runtime::StepRecord;
using tensor::Tensor;

PlanRecorder::PlanRecorder(const runtime::JointProgram& program, const ChosenPlan& chosen,
                           const std::vector<event::LedgerEntry>* ledger)
    : m_program(program), m_chosen(chosen), m_ledger(ledger), m_places(program.model().graph(), program.graph()),
      m_events(m_places, program.graph(), m_launches, chosen.record), m_values(program.model().graph().valueCount())
{}

void PlanRecorder::listen(runtime::PlanRunOptions& options)
{
    options.onTensor = [this, before = std::move(options.onTensor)](runtime::OpValueId id, const Tensor& made) {
        m_events.onTensor(id, made);
        if (!m_program.isGradient(id)) {
            m_values[m_program.valueOf(id).index()] = made;
        }
        if (before) {
            before(id, made);
        }
    };
    options.onStep = [this, before = std::move(options.onStep)](const StepRecord& record) {
        onStep(record);
        if (before) {
            before(record);
        }
    };
}

void PlanRecorder::onStep(const StepRecord& record)
{
    m_events.onStep(record.step, record.isRecompute, record.left);
    for (; m_ledger != nullptr && m_booked < m_ledger->size(); ++m_booked) {
        m_events.onRule((*m_ledger)[m_booked]);
    }
}

std::shared_ptr<trace::Run> PlanRecorder::take(std::span<const Tensor> inputs, std::span<const Tensor> outputs) &&
{
    m_events.finish();
    auto run = std::make_shared<trace::Run>(std::move(m_recorder).take());
    const execute::BoundModel& model = m_program.model();
    const graph::Graph& graph = model.graph();
    run->graph = model.sharedGraph();
    run->values = std::move(m_values);
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        run->shapes.push_back(model.typeOf(base::ValueId(i)).shape);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        run->values[graph.inputs()[i].index()] = inputs[i];
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        run->values[graph.outputs()[i].index()] = outputs[i];
    }
    run->facts.planTries = m_chosen.record.tries;
    for (const schedule::Tier& tier : m_chosen.plan.tiers) {
        run->facts.planTiers.push_back(tier.name);
    }
    run->facts.numbers["plan_search_events_left_out"] = static_cast<double>(m_chosen.record.leftOut);
    return run;
}

} // namespace retro::engine
