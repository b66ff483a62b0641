// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/peaktensors.h"

#include "core/base/record.h"

#include <algorithm>
#include <tuple>

namespace retro::schedule
{

namespace
{

/// Says why values are in memory at one step.
class Reasons
{
public:
    Reasons(const OpGraph& graph, const Plan& plan, std::size_t at) : m_graph(graph), m_plan(plan), m_at(at)
    {
        const Step& step = plan.steps[at];
        m_op = step.kind == StepKind::Compute ? step.id : kNone;
    }

    [[nodiscard]] OpId op() const { return m_op; }

    [[nodiscard]] std::string of(const Stay& stay) const
    {
        const auto isIn = [&](const auto& values) { return std::ranges::find(values, stay.value) != values.end(); };
        if (m_op != kNone && isIn(m_graph.op(m_op).outputs)) {
            return "result of " + m_graph.op(m_op).name;
        }
        if (m_op != kNone && isIn(m_graph.reads(m_op))) {
            return "operand of " + m_graph.op(m_op).name;
        }
        const auto readers = m_graph.readers(stay.value);
        for (std::size_t i = m_at; i < std::min<std::size_t>(stay.until, m_plan.steps.size()); ++i) {
            const Step& step = m_plan.steps[i];
            if (step.kind == StepKind::Compute && std::ranges::binary_search(readers, step.id)) {
                return "read by " + m_graph.op(step.id).name;
            }
        }
        return m_graph.value(stay.value).isRequired ? "required at the end" : "not yet let go";
    }

private:
    const OpGraph& m_graph;
    const Plan& m_plan;
    std::size_t m_at;
    OpId m_op = kNone;
};

bool isThere(const Stay& stay, const Plan& plan, std::size_t at)
{
    const Step& step = plan.steps[at];
    const bool isFreed = step.kind == StepKind::Free && step.id == stay.value && stay.until == at;
    return stay.from <= at && (stay.until > at || isFreed);
}

} // namespace

std::vector<PeakTensor> tensorsAt(const OpGraph& graph, const Plan& plan, const Simulation& run, std::size_t step)
{
    std::vector<PeakTensor> tensors;
    if (step >= plan.steps.size() || step >= run.steps.size()) {
        return tensors;
    }
    const Reasons reasons(graph, plan, step);
    for (const Stay& stay : run.stays) {
        const analysis::OpValue& value = graph.value(stay.value);
        if (value.bytes > 0 && isThere(stay, plan, step)) {
            tensors.push_back({value.name, value.bytes, stay.from, stay.until, reasons.of(stay)});
        }
    }
    if (reasons.op() != kNone && graph.op(reasons.op()).workspace > 0) {
        const auto at = static_cast<std::uint32_t>(step);
        tensors.push_back(
            {"workspace", graph.op(reasons.op()).workspace, at, at + 1, "workspace of " + graph.op(reasons.op()).name});
    }
    std::ranges::sort(tensors, [](const PeakTensor& a, const PeakTensor& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : std::tie(a.name, a.born) < std::tie(b.name, b.born);
    });
    return tensors;
}

std::vector<PeakTensor> peakTensors(const OpGraph& graph, const Plan& plan, const Simulation& run)
{
    return tensorsAt(graph, plan, run, run.peakAt);
}

std::vector<PeakTensor> storeAllPeakTensors(const OpGraph& graph)
{
    const Plan plan = planOf(graph, storeAllSequence(graph));
    return peakTensors(graph, plan, simulate(graph, plan));
}

nlohmann::ordered_json peakTensorsJson(const std::vector<PeakTensor>& tensors)
{
    const base::Fields<PeakTensor> fields{{"name", &PeakTensor::name},
                                          {"bytes", &PeakTensor::bytes},
                                          {"born", &PeakTensor::born},
                                          {"dies", &PeakTensor::dies},
                                          {"why", &PeakTensor::why}};
    return fields.list(tensors);
}

} // namespace retro::schedule
