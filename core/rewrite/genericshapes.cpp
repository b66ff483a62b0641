// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/genericshapes.h"

#include "core/rewrite/statictypes.h"

#include <algorithm>
#include <string>

namespace retro::rewrite
{

namespace
{

/// Extents for free axes: one for the first axis of an input, which is the batch as a rule, one for others. A symbol
/// has one extent wherever it stands.
FreeExtent freeExtents(std::int64_t batch, std::int64_t other)
{
    return [batch, other, symbols = std::map<std::string, std::int64_t>()](std::size_t axis,
                                                                           const graph::Dimension& free) mutable {
        const std::int64_t extent = axis == 0 ? batch : other;
        return free.symbol.empty() ? extent : symbols.emplace(free.symbol, extent).first->second;
    };
}

bool hasFreeAxis(const graph::Graph& graph)
{
    return std::ranges::any_of(graph.inputs(), [&](ValueId input) {
        const auto& shape = graph.value(input).shape;
        return shape && std::ranges::any_of(*shape, [](const graph::Dimension& one) { return !one.extent; });
    });
}

std::optional<GenericShape> joined(const std::optional<ops::TensorType>& first,
                                   const std::optional<ops::TensorType>& second)
{
    if (!first || !second || first->shape.size() != second->shape.size()) {
        return std::nullopt;
    }
    GenericShape shape;
    for (std::size_t i = 0; i < first->shape.size(); ++i) {
        shape.push_back({first->shape[i], second->shape[i]});
    }
    return shape;
}

} // namespace

std::optional<GenericShape> GenericShapes::of(ValueId id)
{
    if (const auto like = m_like.find(id.index()); like != m_like.end()) {
        return of(like->second);
    }
    if (!m_isDone) {
        inferAll();
    }
    return id.index() < m_shapes.size() ? m_shapes[id.index()] : std::nullopt;
}

std::optional<tensor::DType> GenericShapes::typeOf(ValueId id)
{
    if (!m_isDone) {
        inferAll();
    }
    return id.index() < m_types.size() ? m_types[id.index()] : std::nullopt;
}

void GenericShapes::inferAll()
{
    m_isDone = true;
    const graph::Graph& graph = m_draft.before();
    // Extents that strides and windows of all usual networks fit into, and that no model is likely to have.
    const auto first = staticTypes(graph, m_draft.stopToken(), freeExtents(2, 224));
    const auto second = hasFreeAxis(graph) ? staticTypes(graph, m_draft.stopToken(), freeExtents(3, 352)) : first;
    m_shapes.resize(graph.valueCount());
    for (std::size_t i = 0; i < m_shapes.size(); ++i) {
        m_shapes[i] = joined(first[i], second[i]);
        m_types.push_back(first[i] ? std::optional(first[i]->dtype) : std::nullopt);
    }
}

} // namespace retro::rewrite
