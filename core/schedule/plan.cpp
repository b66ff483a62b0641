// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan.h"

#include "core/schedule/lifetimes.h"

#include <fmt/format.h>

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

namespace
{

/// What becomes of every value under a plan.
struct ValueFates
{
    std::vector<bool> isKept;        ///< in memory when the second half begins
    std::vector<std::uint32_t> runs; ///< of the operator that makes it
    std::vector<std::uint32_t> tier; ///< where it was moved to last; kNone: nowhere
    std::vector<OpId> reader;        ///< the first of the second half, kNone: there is none
};

ValueFates fatesOf(const OpGraph& graph, const Plan& plan)
{
    const std::size_t count = graph.values().size();
    ValueFates fates{std::vector<bool>(count, false), std::vector<std::uint32_t>(count, 0),
                     std::vector<std::uint32_t>(count, kNone), std::vector<OpId>(count, kNone)};
    bool isTurned = false;
    for (const Step& step : plan.steps) {
        if (step.kind == StepKind::Offload) {
            fates.tier[step.id] = step.tier;
        }
        if (step.kind != StepKind::Compute) {
            fates.isKept[step.id] = isTurned ? fates.isKept[step.id] : step.kind == StepKind::Prefetch;
            continue;
        }
        isTurned = isTurned || graph.op(step.id).phase == analysis::Phase::Gradient;
        for (const OpValueId made : graph.op(step.id).outputs) {
            ++fates.runs[made];
            fates.isKept[made] = isTurned ? fates.isKept[made] : true;
        }
        for (const OpValueId read : graph.reads(step.id)) {
            fates.reader[read] = isTurned && fates.reader[read] == kNone ? step.id : fates.reader[read];
        }
    }
    return fates;
}

} // namespace

void fillAnnotations(const OpGraph& graph, Plan& plan)
{
    const ValueFates fates = fatesOf(graph, plan);
    const bool namesCheckpoints = !plan.annotations.checkpoints.empty();
    for (OpValueId id = 0; id < graph.values().size(); ++id) {
        const analysis::OpValue& value = graph.value(id);
        const bool isForward =
            value.producer != kNone && graph.op(value.producer).phase == analysis::Phase::Forward && !value.isPinned;
        if (!isForward) {
            continue;
        }
        if (fates.isKept[id] && !namesCheckpoints) {
            plan.annotations.checkpoints.push_back(id);
        }
        const std::string reader =
            fates.reader[id] != kNone ? "for " + graph.op(fates.reader[id]).name : std::string("for the end");
        if (fates.tier[id] != kNone) {
            plan.annotations.reasons.emplace(id,
                                             fmt::format("moved to {}, {}", plan.tiers[fates.tier[id]].name, reader));
        } else if (fates.runs[id] > 1) {
            plan.annotations.reasons.emplace(id, fmt::format("computed {} times, {}", fates.runs[id], reader));
        } else if (fates.isKept[id]) {
            plan.annotations.reasons.emplace(id, "kept from the forward sweep " + reader);
        }
    }
}

} // namespace retro::schedule
