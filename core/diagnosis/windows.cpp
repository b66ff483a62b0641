// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/windows.h"
#include "core/graph/attributes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace retro::diagnosis
{

bool Windows::isPoint() const
{
    return std::ranges::all_of(kernel, [](std::int64_t extent) { return extent == 1; });
}

double Windows::unread() const
{
    double read = 1;
    for (std::size_t i = 0; i < kernel.size(); ++i) {
        const std::int64_t step = i < stride.size() ? stride[i] : 1;
        read *= step > 0 ? std::min(1.0, static_cast<double>(kernel[i]) / static_cast<double>(step)) : 1.0;
    }
    return 1 - read;
}

std::optional<Windows> windowsOf(const ModelFacts& model, const graph::Node& node)
{
    static constexpr std::array<std::string_view, 5> kOperators{"Conv", "MaxPool", "AveragePool", "LpPool",
                                                                "ConvInteger"};
    if (!node.domain.empty() || std::ranges::find(kOperators, node.op) == kOperators.end()) {
        return std::nullopt;
    }
    Windows windows{graph::intsAttribute(node, "kernel_shape"), graph::intsAttribute(node, "strides")};
    if (windows.kernel.empty()) {
        const Tensor weight = model.constantOperand(node, 1);
        if (!weight.isValid() || weight.rank() < 3) {
            return std::nullopt;
        }
        windows.kernel.assign(weight.shape().begin() + 2, weight.shape().end());
    }
    return windows;
}

tensor::Shape shapeInFile(const Facts& facts, ValueId value)
{
    const graph::Value& declared = facts.model()->graph().value(value);
    if (declared.constant.isValid()) {
        return declared.constant.shape();
    }
    if (const ValueId run = facts.valueOfPass(declared.name); run.isValid()) {
        return facts.shape(run);
    }
    tensor::Shape shape;
    for (const graph::Dimension& dimension : declared.shape.value_or(std::vector<graph::Dimension>{})) {
        if (!dimension.extent) {
            return {};
        }
        shape.push_back(*dimension.extent);
    }
    return shape;
}

} // namespace retro::diagnosis
