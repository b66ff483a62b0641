// SPDX-License-Identifier: Apache-2.0
#include "core/trace/meantrelevance.h"

#include "core/ops/gradienttimes.h"
#include "core/trace/gradientrun.h"

namespace retro::trace
{

namespace
{

/// The input that the gradient of a value is to be multiplied by; null where its relevance is what the run holds.
const tensor::Tensor* factorOf(const Run& run, ValueId value)
{
    const bool isFactor = run.facts.numbers.contains("times_input") && value.isValid() &&
                          value.index() < run.values.size() && run.graph->isInput(run.graph->nodeOf(value));
    const tensor::Tensor* input = isFactor ? &run.values[value.index()] : nullptr;
    return input != nullptr && input->isValid() && tensor::isFloating(input->dtype()) ? input : nullptr;
}

} // namespace

bool isProduct(const Run& run, ValueId value) { return factorOf(run, value) != nullptr; }

std::string_view flowWord(const Run& run) { return carriesGradient(run) ? "gradient" : "relevance"; }

tensor::Tensor meantRelevance(const Run& run, ValueId value, const tensor::Tensor& held)
{
    const tensor::Tensor* input = held.isValid() ? factorOf(run, value) : nullptr;
    return input != nullptr && input->shape() == held.shape()
               ? ops::algebra::gradientTimes(held, input->to(held.dtype()))
               : held;
}

double meantSum(const Run& run, ValueId value, HandleId handle)
{
    if (!handle.isValid() || handle.index() >= run.handles.size()) {
        return 0;
    }
    const bool isHeld = handle.index() < run.tensors.size() && run.tensors[handle.index()].isValid();
    return isHeld && isProduct(run, value) ? ops::algebra::sum(meantRelevance(run, value, run.tensors[handle.index()]))
                                           : run.handles[handle.index()].sum;
}

double meantSum(const Run& run, NodeId node, std::size_t output, HandleId handle)
{
    const bool isKnown = run.graph && node.isValid() && node.index() < run.graph->runNodeCount() &&
                         output < run.graph->outputsOf(node).size();
    return meantSum(run, isKnown ? run.graph->outputsOf(node)[output] : ValueId(), handle);
}

double sumIn(const Run& run, const Event& event)
{
    return event.kind == event::EventKind::Relevance
               ? meantSum(run, NodeId(event.node), event.slot, HandleId(event.handle))
               : run.handles[event.handle].sum;
}

} // namespace retro::trace
