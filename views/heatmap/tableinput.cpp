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
    if (inputs.size() != 1 || model.input().isPicture ||
        (model.input().layout == QLatin1String("NT") && model.input().words.isEmpty())) {
        return false;
    }
    const tensor::Tensor* row = model.forwardValue(inputs.front());
    const bool isNamed =
        row != nullptr && row->rank() == 2 && row->shape()[0] == 1 && model.input().words.size() == row->shape()[1];
    if (isNamed && tensor::isFloating(row->dtype())) {
        return true; // however many there are
    }
    return row != nullptr && tensor::isFloating(row->dtype()) && row->rank() == 2 && row->shape()[0] == 1 &&
           row->shape()[1] > 1 && row->shape()[1] <= kMostFeatures;
}

std::vector<double> tableRow(const RunModel& model)
{
    std::vector<double> row;
    if (isTable(model)) {
        const tensor::Tensor numbers = model.forwardValue(model.graph().inputs().front())->contiguous();
        for (std::int64_t i = 0; i < numbers.size(); ++i) {
            row.push_back(numbers.at(i));
        }
    }
    return row;
}

QStringList featureNames(const RunModel& model)
{
    const QStringList& names = model.input().words;
    return isTable(model) && names.size() == model.run().shapes[model.graph().inputs().front().index()][1]
               ? names
               : QStringList();
}

} // namespace retro::views
