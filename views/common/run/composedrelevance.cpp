// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/composedrelevance.h"

#include "core/ops/gradienttimes.h"

namespace retro::views
{

tensor::Tensor composedRelevance(const RunModel& model, base::ValueId value, const tensor::Tensor& relevance)
{
    const tensor::Tensor* input = model.forwardValue(value);
    const bool isInput = model.graph().isInput(model.graph().nodeOf(value));
    const bool isProduct = model.run().facts.numbers.contains("times_input") && isInput && input != nullptr &&
                           tensor::isFloating(input->dtype());
    return isProduct && input->shape() == relevance.shape()
               ? ops::algebra::gradientTimes(relevance, input->to(relevance.dtype()))
               : relevance;
}

} // namespace retro::views
