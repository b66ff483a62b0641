// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/tableinput.h"

namespace retro::views
{

namespace
{

constexpr std::int64_t kMostFeatures = 200; ///< that are shown as bars

} // namespace

bool isTableRow(const tensor::Tensor& row, const QString& layout, std::int64_t names)
{
    if (!row.isValid() || !tensor::isFloating(row.dtype()) || row.rank() != 2 || row.shape()[0] != 1) {
        return false;
    }
    const std::int64_t count = row.shape()[1];
    if (names == 0 && layout == QLatin1String("NT")) {
        return false; // steps of a series
    }
    return names == count || (count > 1 && count <= kMostFeatures); // with names however many there are
}

bool isTable(const RunModel& model)
{
    const auto inputs = model.graph().inputs();
    if (inputs.size() != 1 || model.input().isPicture) {
        return false;
    }
    const tensor::Tensor* row = model.forwardValue(inputs.front());
    return row != nullptr && isTableRow(*row, model.input().layout, model.input().words.size());
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
