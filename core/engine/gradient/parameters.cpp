// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/parameters.h"

#include "core/graph/graphbuilder.h"

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

/// Copies a graph value by value, with some constants as inputs.
class ConstantsOpener
{
public:
    /// `file`: the graph whose initializers count.
    ConstantsOpener(const graph::Graph& graph, const graph::Graph& file)
        : m_graph(graph), m_file(file), m_builder(graph.name()), m_newId(graph.valueCount())
    {}

    Result<graph::Graph> open(std::vector<tensor::Tensor>& inputs, const std::stop_token& stop)
    {
        m_builder.setOpsets(m_graph);
        for (const ValueId input : m_graph.inputs()) {
            const graph::Value& value = m_graph.value(input);
            m_newId[input.index()] = m_builder.addInput(value.name, value.dtype, value.shape);
        }
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            if (isParameter(ValueId(i))) {
                const graph::Value& value = m_graph.value(ValueId(i));
                m_newId[i] = m_builder.addInput(value.name, value.constant.dtype(), value.constant.shape());
                inputs.push_back(value.constant);
            }
        }
        addOthers();
        addNodes();
        for (const ValueId output : m_graph.outputs()) {
            m_builder.addOutput(m_newId[output.index()]);
        }
        return std::move(m_builder).build(stop);
    }

private:
    [[nodiscard]] bool isParameter(ValueId id) const
    {
        const graph::Value& value = m_graph.value(id);
        return isFloatingConstant(value) && !m_graph.uses(id).empty() && isOfFile(value.name);
    }

    [[nodiscard]] bool isOfFile(const std::string& name) const
    {
        const auto found = m_file.findValue(name);
        return found && isFloatingConstant(m_file.value(*found));
    }

    void addOthers()
    {
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            const graph::Value& value = m_graph.value(ValueId(i));
            if (m_newId[i].isValid()) {
                continue;
            }
            if (value.kind == graph::ValueKind::Constant) {
                m_newId[i] = m_builder.addConstant(value.name, value.constant);
            } else {
                m_newId[i] = m_builder.addResult(value.name);
                m_builder.declare(m_newId[i], value.dtype, value.shape);
            }
        }
    }

    void rename(std::vector<ValueId>& ids) const
    {
        for (ValueId& id : ids) {
            id = id.isValid() ? m_newId[id.index()] : id;
        }
    }

    void addNodes()
    {
        for (graph::Node node : m_graph.nodes()) {
            rename(node.inputs);
            rename(node.outputs);
            m_builder.addNode(std::move(node));
        }
    }

    const graph::Graph& m_graph;
    const graph::Graph& m_file;
    graph::GraphBuilder m_builder;
    std::vector<ValueId> m_newId;
};

} // namespace

Result<OpenedParameters> openParameters(const LoadedModelPointer& model, std::vector<tensor::Tensor> inputs,
                                        const std::stop_token& stop)
{
    rewrite::RewriteOptions none = rewrite::noRewrites();
    none.dequantise = model->rewritten.options.dequantise; // no gradient passes levels
    RETRO_TRY(const LoadedModelPointer plain, withRewrites(model, none, stop));
    RETRO_TRY(graph::Graph opened, ConstantsOpener(*plain->graph(), *plain->rewritten.before).open(inputs, stop));
    std::vector<std::string> without = initializersWithout(*plain->rewritten.before, opened);
    auto made = std::make_shared<LoadedModel>(*plain);
    none.keepDigits = false;
    RETRO_TRY(made->rewritten, rewrite::rewrite(std::make_shared<const graph::Graph>(std::move(opened)), none, stop));
    return OpenedParameters{std::move(made), std::move(inputs), std::move(without)};
}

} // namespace retro::engine
