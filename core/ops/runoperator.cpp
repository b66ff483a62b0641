// SPDX-License-Identifier: Apache-2.0
#include "core/ops/runoperator.h"

#include <fmt/format.h>

namespace retro::ops
{

std::string placeOf(const graph::Node& node) { return fmt::format("node '{}' ({})", node.name, node.op); }

base::Result<std::vector<Tensor>> runForward(const BoundOperator& op, const graph::Node& node,
                                             std::span<const Tensor> operands)
{
    return base::caughtAt([&node] { return placeOf(node); }, [&] { return op.run(operands); });
}

std::vector<Tensor> forwardOrFail(const BoundOperator& op, const graph::Node& node, std::span<const Tensor> operands)
{
    return base::placed([&node] { return placeOf(node); }, [&] { return op.run(operands); });
}

} // namespace retro::ops
