// SPDX-License-Identifier: Apache-2.0
#include "core/ops/scatter/scatter.h"

namespace retro::ops
{

namespace
{

/// The map without the elements that a later one overwrites.
ElementMap lastWriters(ElementMap map, std::int64_t count)
{
    std::vector<std::int64_t> last(static_cast<std::size_t>(count), -1);
    for (std::size_t i = 0; i < map.size(); ++i) {
        if (map[i] >= 0 && map[i] < count) {
            last[static_cast<std::size_t>(map[i])] = static_cast<std::int64_t>(i);
        }
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
        const bool isIn = map[i] >= 0 && map[i] < count;
        map[i] = isIn && last[static_cast<std::size_t>(map[i])] == static_cast<std::int64_t>(i) ? map[i] : -1;
    }
    return map;
}

} // namespace

ScatterOverwrite::ScatterOverwrite(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target)
    : Operator(layout.data), m_layout(std::move(layout)), m_target(std::move(target))
{}

std::vector<Tensor> ScatterOverwrite::forward(std::span<const Tensor> operands) const
{
    return {overwritten(operands[0], m_target->positions(operands), operands[m_layout.updateSlot])};
}

Tensor ScatterOverwrite::carryBack(std::span<const Tensor>, std::size_t slot) const
{
    // Without the indices nothing is known.
    return Tensor::zeros(m_layout.data.dtype, slot == m_layout.updateSlot ? m_layout.updates : m_layout.data.shape);
}

Tensor ScatterOverwrite::carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const
{
    if (!perOutput[0].isValid() || (slot != 0 && slot != m_layout.updateSlot)) {
        return carryBack(perOutput, slot);
    }
    const ElementMap map = m_target->positions(operands);
    const Tensor& s = perOutput[0];
    return slot == 0 ? overwritten(s, map, Tensor::zeros(s.dtype(), m_layout.updates))
                     : gathered(s, lastWriters(map, s.size()), m_layout.updates);
}

ScatterCombine::ScatterCombine(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target,
                               ScatterReduction reduction)
    : Operator(layout.data), m_layout(std::move(layout)), m_target(std::move(target)), m_reduction(reduction)
{}

std::vector<Tensor> ScatterCombine::forward(std::span<const Tensor> operands) const
{
    return {scatterReduced(operands[0], m_target->positions(operands), operands[m_layout.updateSlot], m_reduction)};
}

Reads ScatterCombine::savedForGradient() const
{
    return m_reduction == ScatterReduction::Add ? Reads{Reads::bit(m_layout.indexSlot), 0} : Reads::allOperands();
}

Tensor ScatterCombine::pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                std::size_t slot) const
{
    if (slot != 0 && slot != m_layout.updateSlot) {
        return Tensor::zeros(m_layout.data.dtype, {});
    }
    const ElementMap map = m_target->positions(operands);
    if (m_reduction == ScatterReduction::Add) {
        return slot == 0 ? s[0] : gathered(s[0], map, m_layout.updates);
    }
    const ScatterGradients gradients =
        scatterGradients(s[0], operands[0], map, operands[m_layout.updateSlot], m_reduction);
    return slot == 0 ? gradients.data : gradients.updates;
}

} // namespace retro::ops
