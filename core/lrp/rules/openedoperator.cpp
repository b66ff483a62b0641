// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/openedoperator.h"

#include "core/ops/registry.h"

#include <algorithm>
#include <vector>

namespace retro::lrp
{

base::Result<std::unique_ptr<ops::BoundOperator>> openedOperator(const execute::BoundModel& model, execute::NodeId id,
                                                                 const graph::Node& node,
                                                                 std::span<const std::size_t> open)
{
    std::vector<ops::TensorType> types(node.inputs.size());
    std::vector<tensor::Tensor> constants(node.inputs.size());
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot].isValid()) {
            types[slot] = model.typeOf(node.inputs[slot]);
            const bool isOpen = std::ranges::find(open, slot) != open.end();
            constants[slot] = isOpen ? tensor::Tensor() : model.constant(node.inputs[slot]);
        }
    }
    const std::vector<tensor::DType> numbers = model.operandNumbers(id);
    return ops::bind(
        {model.graph(), id, node, types, constants, execute::dtypeOf(model.precision()), nullptr, numbers});
}

} // namespace retro::lrp
