// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/tableinput.h"

namespace retro::views
{

namespace
{

constexpr std::int64_t kMostFeatures = 200; ///< that are shown as bars

} // namespace

bool isTable(const RunModel& model)
{
    const auto inputs = model.graph().inputs();
    if (inputs.size() != 1 || model.input().isPicture || !model.input().words.isEmpty() ||
        model.input().layout == QLatin1String("NT")) {
        return false;
    }
    const tensor::Tensor* row = model.forwardValue(inputs.front());
    return row != nullptr && tensor::isFloating(row->dtype()) && row->rank() == 2 && row->shape()[0] == 1 &&
           row->shape()[1] > 1 && row->shape()[1] <= kMostFeatures;
}

} // namespace retro::views
