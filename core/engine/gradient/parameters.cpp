// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/parameters.h"

#include "core/engine/model/changedgraph.h"
#include "core/graph/dimensions.h"

#include <fmt/format.h>

namespace retro::engine
{

using base::Result;
using base::ValueId;

namespace
{

bool isFloatingConstant(const graph::Value& value)
{
    return value.kind == graph::ValueKind::Constant && tensor::isFloating(value.constant.dtype());
}

/// Initializers of the file that the opened graph has no inputs for: a line each.
std::vector<std::string> initializersWithout(const graph::Graph& file, const graph::Graph& opened)
{
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < file.valueCount(); ++i) {
        const graph::Value& value = file.value(ValueId(i));
        const auto uses = file.uses(ValueId(i));
        if (isFloatingConstant(value) && !uses.empty() && !opened.findValue(value.name)) {
            const graph::Node& reader = file.node(uses.front().node);
            lines.push_back(
                fmt::format("no gradient is computed for the initializer \"{}\": node '{}' ({}) reads it as "
                            "part of quantised numbers; gradients of the other initializers are right",
                            value.name, reader.name, reader.op));
        }
    }
    return lines;
}

/// The graph with what are initializers of the file as inputs.
Result<std::shared_ptr<const graph::Graph>> withOpened(const graph::Graph& graph, const graph::Graph& file,
                                                       std::vector<tensor::Tensor>& inputs, const std::stop_token& stop)
{
    const auto isOfFile = [&](const std::string& name) {
        const auto found = file.findValue(name);
        return found && isFloatingConstant(file.value(*found));
    };
    GraphChanges changes;
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const graph::Value& value = graph.value(ValueId(i));
        if (isFloatingConstant(value) && !graph.uses(ValueId(i)).empty() && isOfFile(value.name)) {
            changes.inputs.push_back({ValueId(i), value.constant.dtype(), graph::dimensionsOf(value.constant.shape())});
            inputs.push_back(value.constant);
        } else if (value.kind == graph::ValueKind::Constant) { // in the type of its data
            changes.constants[ValueId(i)] = value.constant;
        }
    }
    return changedGraph(graph, changes, stop);
}

} // namespace

Result<OpenedParameters> openParameters(const LoadedModelPointer& model, std::vector<tensor::Tensor> inputs,
                                        const std::stop_token& stop)
{
    rewrite::RewriteOptions none = rewrite::noRewrites();
    none.dequantise = model->rewritten.options.dequantise; // no gradient passes levels
    RETRO_TRY(const LoadedModelPointer plain, withRewrites(model, none, stop));
    RETRO_TRY(const auto graph, withOpened(*plain->graph(), *plain->rewritten.before, inputs, stop));
    std::vector<std::string> without = initializersWithout(*plain->rewritten.before, *graph);
    auto made = std::make_shared<LoadedModel>(*plain);
    none.keepDigits = false;
    RETRO_TRY(made->rewritten, rewrite::rewrite(graph, none, stop));
    return OpenedParameters{std::move(made), std::move(inputs), std::move(without)};
}

} // namespace retro::engine
