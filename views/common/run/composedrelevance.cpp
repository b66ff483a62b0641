// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/composedrelevance.h"

namespace retro::views
{

namespace
{

tensor::Tensor productOf(const tensor::Tensor& a, const tensor::Tensor& b)
{
    const tensor::Tensor left = a.contiguous();
    const tensor::Tensor right = b.contiguous();
    tensor::TensorBuffer product(tensor::DType::Float64, left.shape());
    const std::span<double> values = product.span<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = left.at(static_cast<std::int64_t>(i)) * right.at(static_cast<std::int64_t>(i));
    }
    return std::move(product).freeze().to(a.dtype());
}

} // namespace

tensor::Tensor composedRelevance(const RunModel& model, base::ValueId value, const tensor::Tensor& relevance)
{
    const tensor::Tensor* input = model.forwardValue(value);
    const bool isInput = model.graph().isInput(model.graph().nodeOf(value));
    const bool isProduct = model.run().facts.numbers.contains("times_input") && isInput && input != nullptr &&
                           tensor::isFloating(input->dtype());
    return isProduct && input->shape() == relevance.shape() ? productOf(relevance, *input) : relevance;
}

} // namespace retro::views
