// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/standins.h"

#include "core/engine/model/changedgraph.h"
#include "core/ops/linear/storedweight.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using graph::Graph;
using tensor::Tensor;

namespace
{

bool lacksItsData(const graph::Value& value)
{
    return value.kind == graph::ValueKind::Constant && !value.constant.isValid();
}

/// Zeros of the declared shape, in the memory of one number.
Result<Tensor> standInOf(const graph::Value& value)
{
    tensor::Shape shape;
    for (const graph::Dimension& dimension : value.shape.value_or(std::vector<graph::Dimension>{})) {
        if (!dimension.extent) {
            return base::inputError(fmt::format("there is neither data nor shape of the constant \"{}\"", value.name));
        }
        shape.push_back(*dimension.extent);
    }
    RETRO_CHECK(base::within(tensor::checkedBytes(shape, value.dtype, std::numeric_limits<std::int64_t>::max()),
                             fmt::format("constant \"{}\"", value.name)));
    return ops::shapeOnly(value.dtype, shape);
}

} // namespace

Result<std::shared_ptr<const Graph>> withAllConstants(const std::shared_ptr<const Graph>& graph,
                                                      const std::stop_token& stop)
{
    if (std::ranges::none_of(graph->values(), lacksItsData)) {
        return graph;
    }
    GraphChanges changes;
    for (std::size_t i = 0; i < graph->valueCount(); ++i) {
        const graph::Value& value = graph->value(ValueId(i));
        if (lacksItsData(value)) {
            RETRO_TRY(changes.constants[ValueId(i)], standInOf(value));
        }
    }
    return changedGraph(*graph, changes, stop);
}

Result<LoadedModel> withAllConstants(const LoadedModel& model, const std::stop_token& stop)
{
    LoadedModel filled = model;
    RETRO_TRY(filled.rewritten.graph, withAllConstants(model.graph(), stop));
    if (filled.rewritten.graph != model.rewritten.graph) {
        filled.rewritten.before = filled.rewritten.graph; // its rewrites stay as they are
    }
    return filled;
}

} // namespace retro::engine
