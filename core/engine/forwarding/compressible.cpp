// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/compressible.h"

#include "core/ops/algebra.h"

#include <fmt/format.h>

namespace retro::engine
{

using tensor::Tensor;

std::string whyNotCompressed(const ForwardNeeds& needs, base::ValueId value)
{
    for (const RuleRead& read : needs.readsOf(value)) {
        if (read.detail == ReadDetail::Whole) {
            const graph::Node& node = needs.model().graph().node(read.node);
            return fmt::format("stored: the reverse rule of {} {} reads all of it", node.op, node.name);
        }
    }
    return {};
}

PackedSigns compress(const ForwardNeeds& needs, base::ValueId value, const Tensor& data)
{
    std::optional<Tensor> won;
    for (const RuleRead& read : needs.readsOf(value)) {
        if (read.detail != ReadDetail::Winners) {
            continue;
        }
        const ops::BoundOperator& op = needs.model().op(read.node);
        const ops::TensorType& type = op.outputTypes().front();
        const auto& pool = static_cast<const ops::MaxPool&>(op.structure());
        const Tensor own = pool.route(Tensor::full(type.dtype, type.shape, 1), data);
        won = won ? ops::algebra::add(*won, own) : own;
    }
    return PackedSigns(data, won);
}

} // namespace retro::engine
