// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/composedrelevance.h"

#include "core/trace/meantrelevance.h"

namespace retro::views
{

tensor::Tensor composedRelevance(const RunModel& model, base::ValueId value, const tensor::Tensor& relevance)
{
    return trace::meantRelevance(model.run(), value, relevance);
}

} // namespace retro::views
