// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/compressible.h"

#include "core/ops/algebra.h"

#include <fmt/format.h>

namespace retro::engine
{

using base::NodeId;
using tensor::Tensor;

namespace
{

const ops::Structure& structureOf(const GradientNeeds& needs, NodeId node)
{
    return needs.model().op(node).structure();
}

bool isPooling(const GradientNeeds& needs, const RuleRead& read)
{
    return !read.isOutput && structureOf(needs, read.node).kind() == ops::StructureKind::MaxPool;
}

bool readsSigns(const GradientNeeds& needs, const RuleRead& read)
{
    const auto* map = dynamic_cast<const ops::ElementWise*>(&structureOf(needs, read.node));
    return map != nullptr && map->isRelu() && map->derivativeReadsOutput() && read.isOutput;
}

} // namespace

std::string whyNotCompressed(const GradientNeeds& needs, base::ValueId value)
{
    for (const RuleRead& read : needs.readsOf(value)) {
        if (!isPooling(needs, read) && !readsSigns(needs, read)) {
            const graph::Node& node = needs.model().graph().node(read.node);
            return fmt::format("stored: the reverse rule of {} {} reads all of it", node.op, node.name);
        }
    }
    return {};
}

PackedSigns compress(const GradientNeeds& needs, base::ValueId value, const Tensor& data)
{
    std::optional<Tensor> won;
    for (const RuleRead& read : needs.readsOf(value)) {
        if (!isPooling(needs, read)) {
            continue;
        }
        const ops::TensorType& type = needs.model().op(read.node).outputTypes().front();
        const auto& pool = static_cast<const ops::MaxPool&>(structureOf(needs, read.node));
        const Tensor own = pool.route(Tensor::full(type.dtype, type.shape, 1), data);
        won = won ? ops::algebra::add(*won, own) : own;
    }
    return PackedSigns(data, won);
}

} // namespace retro::engine
