// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explainer/relevancesteps.h"
#include "core/execute/boundmodel.h"

#include <functional>
#include <vector>

namespace retro::engine
{

/// The forward pass of a model within a graph that is built. Its values have the types of the model (float64 throughout
/// in Precision::Double), and each is there in the one type that relevance is computed in as well.
class ForwardCopy
{
public:
    /// Extents of a value of the model; free axes are free.
    using Dimensions = std::function<std::vector<graph::Dimension>(graph::ValueId)>;

    /// `steps` makes numbers of the type of relevance: execute::dtypeOf() of the model's precision.
    ForwardCopy(graph::GraphBuilder& builder, RelevanceSteps& steps, const execute::BoundModel& model,
                Dimensions dimensions)
        : m_builder(builder), m_steps(steps), m_model(model), m_dimensions(std::move(dimensions)),
          m_copy(model.graph().valueCount()), m_wide(model.graph().valueCount())
    {}

    /// Adds inputs, constants, nodes and outputs. Errors (Input): an operator that the standard has not, or that means
    /// something else in the operator set.
    [[nodiscard]] base::Result<void> write();

    /// A value of the model as the model has it.
    [[nodiscard]] ValueId own(graph::ValueId value) const { return m_copy[value.index()]; }
    /// The same in the type of relevance; whole numbers as they are.
    [[nodiscard]] ValueId forRelevance(graph::ValueId value);
    /// The type that a value has in the graph.
    [[nodiscard]] tensor::DType typeOf(graph::ValueId value) const;

private:
    [[nodiscard]] base::Result<void> addNode(const graph::Node& node);
    [[nodiscard]] bool isInOneType(const graph::Node& node) const;

    graph::GraphBuilder& m_builder;
    RelevanceSteps& m_steps;
    const execute::BoundModel& m_model;
    Dimensions m_dimensions;
    std::vector<ValueId> m_copy; ///< by value of the model
    std::vector<ValueId> m_wide; ///< the same in the type of relevance, where it was asked for
};

} // namespace retro::engine
