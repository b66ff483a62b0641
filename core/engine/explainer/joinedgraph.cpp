// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/joinedgraph.h"

#include "core/graph/graphbuilder.h"
#include "core/graph/placeholder.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace retro::engine
{

using base::Result;
using graph::Dimension;

namespace
{

using Dimensions = std::optional<std::vector<Dimension>>;

/// Input and axis that have the extent.
std::optional<std::pair<std::size_t, std::size_t>> placeOfExtent(const graph::Graph& graph)
{
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const Dimensions& shape = graph.value(graph.inputs()[i]).shape;
        for (std::size_t axis = 0; shape && axis < shape->size(); ++axis) {
            if (!(*shape)[axis].extent) {
                return std::pair{i, axis};
            }
        }
    }
    return std::nullopt;
}

class Joint
{
public:
    Joint(const std::array<std::shared_ptr<const graph::Graph>, 3>& written, const ThreeExtents& extents,
          const graph::Graph& like, tensor::DType floatType)
        : m_written(written), m_extents(extents), m_like(like), m_symbol(soleFreeExtent(like)),
          m_builder(written[0]->name()), m_steps(m_builder, written[0]->opsets().at(""), floatType)
    {}

    Result<std::shared_ptr<const graph::Graph>> join(const std::stop_token& stop)
    {
        if (!areSameNodes(*m_written[0], *m_written[1]) || !areSameNodes(*m_written[0], *m_written[2])) {
            return std::shared_ptr<const graph::Graph>();
        }
        const graph::Graph& first = *m_written[0];
        m_builder.setOpsets(first);
        m_copy.resize(first.valueCount());
        addInputs();
        for (std::size_t i = 0; i < first.valueCount(); ++i) { // before a name is made up
            if (first.value(ValueId(i)).kind == graph::ValueKind::Result) {
                m_copy[i] = m_builder.addResult(first.value(ValueId(i)).name);
                m_builder.declare(m_copy[i], first.value(ValueId(i)).dtype, shapeOf(ValueId(i)));
            }
        }
        if (!addConstants()) {
            return std::shared_ptr<const graph::Graph>();
        }
        const auto take = [this](std::vector<ValueId>& values) {
            std::ranges::transform(values, values.begin(),
                                   [this](ValueId value) { return value.isValid() ? m_copy[value.index()] : value; });
        };
        for (graph::Node node : first.nodes()) {
            take(node.inputs);
            take(node.outputs);
            m_builder.addNode(std::move(node));
        }
        for (const ValueId output : first.outputs()) {
            m_builder.addOutput(m_copy[output.index()]);
        }
        RETRO_TRY(graph::Graph built, std::move(m_builder).build(stop));
        return std::make_shared<const graph::Graph>(std::move(built));
    }

private:
    /// Extents that differ are free; those that are the extent itself have its symbol.
    [[nodiscard]] Dimensions shapeOf(ValueId id) const
    {
        std::array<const Dimensions*, 3> seen{};
        for (std::size_t k = 0; k < seen.size(); ++k) {
            seen[k] = &m_written[k]->value(id).shape;
            if (!*seen[k] || (*seen[k])->size() != (*seen[0])->size()) {
                return std::nullopt;
            }
        }
        std::vector<Dimension> dimensions = **seen[0];
        for (std::size_t axis = 0; axis < dimensions.size(); ++axis) {
            bool isSame = true;
            bool isExtent = true;
            for (std::size_t k = 0; k < seen.size(); ++k) {
                const auto& extent = (**seen[k])[axis].extent;
                isSame = isSame && extent == dimensions[axis].extent;
                isExtent = isExtent && extent == m_extents[k];
            }
            if (!isSame || !dimensions[axis].extent) {
                dimensions[axis] = {std::nullopt, isExtent ? m_symbol : std::string()};
            }
        }
        return dimensions;
    }

    /// As the model declares them; what else the graph reads by what it is at the three extents.
    void addInputs()
    {
        const graph::Graph& first = *m_written[0];
        for (std::size_t i = 0; i < first.inputs().size(); ++i) {
            const ValueId id = first.inputs()[i];
            const graph::Value& value = first.value(id);
            const Dimensions shape = i < m_like.inputs().size() ? m_like.value(m_like.inputs()[i]).shape : shapeOf(id);
            m_copy[id.index()] = m_builder.addInput(value.name, value.dtype, shape);
        }
    }

    /// Those that are the same have their names before one is made up for what is computed.
    bool addConstants()
    {
        const graph::Graph& first = *m_written[0];
        std::vector<std::pair<std::size_t, ThreeTensors>> differing;
        for (std::size_t i = 0; i < first.valueCount(); ++i) {
            const graph::Value& value = first.value(ValueId(i));
            if (value.kind != graph::ValueKind::Constant) {
                continue;
            }
            const ThreeTensors seen{&value.constant, &m_written[1]->value(ValueId(i)).constant,
                                    &m_written[2]->value(ValueId(i)).constant};
            if (seen[0]->bitEqual(*seen[1]) && seen[0]->bitEqual(*seen[2])) {
                m_copy[i] = m_builder.addConstant(value.name, value.constant);
            } else {
                differing.emplace_back(i, seen);
            }
        }
        return std::ranges::all_of(differing, [this](const auto& one) {
            m_copy[one.first] = constantFollowing(
                m_steps, [this] { return extent(); }, m_extents, one.second);
            return m_copy[one.first].isValid();
        });
    }

    /// The extent as the graph runs, [1].
    ValueId extent()
    {
        if (!m_extent.isValid()) {
            const auto place = placeOfExtent(m_like);
            const ValueId input = m_copy[m_written[0]->inputs()[place->first].index()];
            m_extent = m_steps.op("Gather",
                                  {m_steps.shapeOf(input), m_steps.ints({static_cast<std::int64_t>(place->second)})});
        }
        return m_extent;
    }

    const std::array<std::shared_ptr<const graph::Graph>, 3>& m_written;
    const ThreeExtents& m_extents;
    const graph::Graph& m_like;
    std::string m_symbol;
    graph::GraphBuilder m_builder;
    RelevanceSteps m_steps;
    std::vector<ValueId> m_copy;
    ValueId m_extent;
};

} // namespace

std::string soleFreeExtent(const graph::Graph& graph)
{
    std::string sole;
    for (const ValueId id : graph.inputs()) {
        const graph::Value& input = graph.value(id);
        for (std::size_t axis = 0; input.shape && axis < input.shape->size(); ++axis) {
            const Dimension& one = (*input.shape)[axis];
            if (one.extent) {
                continue;
            }
            const std::string symbol =
                graph::isPlaceholder(one.symbol) ? input.name + "[" + std::to_string(axis) + "]" : one.symbol;
            if (!sole.empty() && sole != symbol) {
                return {};
            }
            sole = symbol;
        }
    }
    return sole;
}

Result<std::shared_ptr<const graph::Graph>>
joinedGraph(const std::array<std::shared_ptr<const graph::Graph>, 3>& written, const ThreeExtents& extents,
            const graph::Graph& like, tensor::DType floatType, const std::stop_token& stop)
{
    return Joint(written, extents, like, floatType).join(stop);
}

} // namespace retro::engine
