// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/compressible.h"

#include "core/ops/algebra.h"
#include "core/ops/windowsums.h"

#include <fmt/format.h>

namespace retro::engine
{

using tensor::Tensor;

namespace
{

const ops::MaxPool* poolOf(const ForwardNeeds& needs, const RuleRead& read)
{
    return read.detail == ReadDetail::Winners
               ? static_cast<const ops::MaxPool*>(&needs.model().op(read.node).structure())
               : nullptr;
}

bool smallestWins(const ops::MaxPool& pool)
{
    const ops::WindowSums* windows = ops::windowsOf(pool);
    return windows != nullptr && windows->smallestWins();
}

} // namespace

std::string whyNotCompressed(const ForwardNeeds& needs, base::ValueId value)
{
    const RuleRead* first = nullptr; // that asks for winners
    for (const RuleRead& read : needs.readsOf(value)) {
        const ops::MaxPool* pool = poolOf(needs, read);
        if (pool != nullptr && first != nullptr && smallestWins(*poolOf(needs, *first)) != smallestWins(*pool)) {
            const auto& graph = needs.model().graph();
            return fmt::format("stored: of {} the largest elements win and of {} the smallest, so it is read whole",
                               graph.labelOf(smallestWins(*pool) ? first->node : read.node),
                               graph.labelOf(smallestWins(*pool) ? read.node : first->node));
        }
        first = pool != nullptr ? &read : first;
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
    bool isSmallest = false;
    for (const RuleRead& read : needs.readsOf(value)) {
        const ops::MaxPool* pool = poolOf(needs, read);
        if (pool == nullptr) {
            continue;
        }
        const ops::TensorType& type = needs.model().op(read.node).outputTypes().front();
        const Tensor own = pool->route(Tensor::full(type.dtype, type.shape, 1), data);
        won = won ? ops::algebra::add(*won, own) : own;
        isSmallest = smallestWins(*pool);
    }
    return PackedSigns(data, won, isSmallest);
}

} // namespace retro::engine
