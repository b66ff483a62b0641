// SPDX-License-Identifier: Apache-2.0
#include "core/ops/ml/nodelists.h"
#include "core/graph/attributes.h"

namespace retro::ops
{

using tensor::DType;

std::vector<double> realsOf(const BindContext& context, const std::string& name)
{
    if (context.node.attributes.contains(name)) {
        return graph::attributeOr(context.node, name, std::vector<double>());
    }
    const auto* data = graph::attributeOf<Tensor>(context.node, name + "_as_tensor");
    if (data == nullptr || !data->isValid()) {
        return {};
    }
    const Tensor wide = data->to(DType::Float64).contiguous();
    return {wide.span<double>().begin(), wide.span<double>().end()};
}

std::vector<std::string> textsOf(const BindContext& context, const std::string& name)
{
    const auto at = context.node.attributes.find(name);
    const auto* list =
        at == context.node.attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&at->second);
    return list == nullptr ? std::vector<std::string>() : *list;
}

base::Result<SampleRows> sampleRows(const BindContext& context)
{
    const TensorType& x = context.operandTypes[0];
    if (x.dtype == DType::Bool || x.shape.empty() || x.shape.size() > 2) {
        return context.error("operand 0 must be a matrix of numbers, samples × features");
    }
    return x.shape.size() == 1 ? SampleRows{1, x.shape[0]} : SampleRows{x.shape[0], x.shape[1]};
}

Tensor asReals(const Tensor& x) { return (x.dtype() == DType::Float32 ? x : x.to(DType::Float64)).contiguous(); }

} // namespace retro::ops
