// SPDX-License-Identifier: Apache-2.0
#include "core/engine/binding.h"

namespace retro::engine
{

base::Result<std::shared_ptr<const execute::BoundModel>>
bindModel(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs, execute::Precision precision)
{
    std::vector<ops::TensorType> types;
    for (const tensor::Tensor& input : inputs) {
        types.push_back({input.dtype(), input.shape()});
    }
    auto bound = execute::BoundModel::bind(model.graph(), types, precision, inPrecision(inputs, precision));
    if (!bound) {
        return base::within(std::move(bound).error(), model.path.string());
    }
    return bound;
}

std::vector<tensor::Tensor> inPrecision(const std::vector<tensor::Tensor>& inputs, execute::Precision precision)
{
    std::vector<tensor::Tensor> converted;
    for (const tensor::Tensor& input : inputs) {
        converted.push_back(tensor::isFloating(input.dtype()) ? input.to(execute::dtypeOf(precision)) : input);
    }
    return converted;
}

} // namespace retro::engine
