// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan.h"

#include "core/schedule/lifetimes.h"

#include <numeric>

namespace retro::schedule
{

Plan planOf(const OpGraph& graph, const std::vector<OpId>& sequence)
{
    Plan plan;
    plan.graphHash = graph.hash();
    const std::vector<Instance> instances = instancesOf(graph, sequence);
    std::vector<std::vector<OpValueId>> ending(sequence.size());
    for (const Instance& instance : instances) {
        const analysis::OpValue& value = graph.value(instance.value);
        const bool isLast = instance.isLast && value.isRequired;
        if (!isLast && !value.isPinned) {
            ending[instance.end].push_back(instance.value);
        }
    }
    for (std::size_t i = 0; i < sequence.size(); ++i) {
        plan.steps.push_back({StepKind::Compute, sequence[i]});
        for (const OpValueId value : ending[i]) {
            plan.steps.push_back({StepKind::Free, value});
        }
    }
    return plan;
}

std::vector<OpId> sequenceOf(const Plan& plan)
{
    std::vector<OpId> sequence;
    for (const Step& step : plan.steps) {
        if (step.kind == StepKind::Compute) {
            sequence.push_back(step.id);
        }
    }
    return sequence;
}

std::vector<OpId> storeAllSequence(const OpGraph& graph)
{
    std::vector<OpId> sequence(graph.size());
    std::iota(sequence.begin(), sequence.end(), OpId{0});
    return sequence;
}

} // namespace retro::schedule
