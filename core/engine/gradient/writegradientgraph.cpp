// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/writegradientgraph.h"

#include "core/base/file.h"
#include "core/engine/binding.h"
#include "core/formats/modelfile.h"

#include <fmt/format.h>

namespace retro::engine
{

using base::Result;

namespace
{

std::string quoted(const std::string& text)
{
    std::string safe;
    for (const char c : text) {
        safe += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
    }
    return "\"" + safe + "\"";
}

/// Nodes as boxes, inputs and outputs as ellipses, an edge per operand. Constants are left out.
std::string toDot(const graph::Graph& graph)
{
    std::string text = "digraph gradient {\n  rankdir=TB;\n  node [shape=box];\n";
    for (const graph::ValueId input : graph.inputs()) {
        text += fmt::format("  {} [shape=ellipse];\n", quoted(graph.value(input).name));
    }
    for (const graph::Node& node : graph.nodes()) {
        text += fmt::format("  {} [label={}];\n", quoted(node.name), quoted(node.op));
        for (const graph::ValueId operand : node.inputs) {
            if (operand.isValid() && graph.nodeOf(operand).isValid()) {
                text += fmt::format("  {} -> {};\n", quoted(graph.labelOf(graph.nodeOf(operand))), quoted(node.name));
            }
        }
    }
    for (const graph::ValueId output : graph.outputs()) {
        const std::string name = "output " + graph.value(output).name;
        text += fmt::format("  {} [shape=ellipse];\n  {} -> {};\n", quoted(name),
                            quoted(graph.labelOf(graph.nodeOf(output))), quoted(name));
    }
    return text + "}\n";
}

} // namespace

Result<tape::GradientGraph> gradientGraph(const LoadedModelPointer& model, const GradientRequest& request,
                                          bool isJoined, const std::stop_token& stop)
{
    RETRO_TRY(const LoadedModelPointer plain, withRewrites(model, rewrite::noRewrites(), stop));
    RETRO_TRY(const auto bound, bindModel(*plain, request.inputs, request.precision, nullptr, stop));
    RETRO_TRY(const base::ValueId target, targetValue(request.target, bound->graph()));
    return tape::gradientGraph(*bound, target, isJoined);
}

Result<tape::GradientGraph> writeGradientGraph(const std::filesystem::path& file, const LoadedModelPointer& model,
                                               const GradientRequest& request, bool isJoined)
{
    const std::string ending = file.extension().string();
    if (ending != ".onnx" && ending != ".json" && ending != ".dot") {
        return base::usageError("a gradient graph is written as .onnx, .json or .dot", file.string());
    }
    RETRO_TRY(tape::GradientGraph made, gradientGraph(model, request, isJoined));
    if (ending == ".dot") {
        RETRO_CHECK(base::writeFile(file, toDot(*made.graph)));
    } else {
        RETRO_CHECK(formats::writeModelFile(file, *made.graph));
    }
    return made;
}

} // namespace retro::engine
