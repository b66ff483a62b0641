// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/cli/rewritetext.h"
#include "core/base/hash.h"
#include "core/engine/model/precision.h"
#include "core/engine/model/symbolicshapes.h"
#include "core/formats/modelfile.h"
#include "core/formats/onnxmetadata.h"
#include "core/graph/graphbuilder.h"
#include "core/graph/insides.h"
#include "core/ops/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>

namespace retro::app
{

namespace
{

using nlohmann::ordered_json;

std::string shapeText(const graph::Value& value)
{
    if (!value.shape) {
        return "unknown shape";
    }
    std::string text;
    for (const graph::Dimension& dimension : *value.shape) {
        const std::string extent =
            dimension.extent ? std::to_string(*dimension.extent) : (dimension.symbol.empty() ? "?" : dimension.symbol);
        text += (text.empty() ? "" : " × ") + extent;
    }
    return text.empty() ? "scalar" : text;
}

ordered_json shapeJson(const graph::Value& value)
{
    if (!value.shape) {
        return nullptr;
    }
    return base::listOf(*value.shape, [&](const graph::Dimension& dimension) {
        return dimension.extent ? ordered_json(*dimension.extent)
                                : ordered_json(dimension.symbol.empty() ? "?" : dimension.symbol);
    });
}

ordered_json valuesJson(const graph::Graph& graph, std::span<const base::ValueId> ids)
{
    return base::listOf(ids, [&](const base::ValueId id) -> ordered_json {
        const graph::Value& value = graph.value(id);
        return {{"name", value.name}, {"type", tensor::nameOf(value.dtype)}, {"shape", shapeJson(value)}};
    });
}

using OperatorCounts = std::map<std::string, int>;

void addOperators(const graph::Graph& graph, OperatorCounts& counts)
{
    for (const graph::Node& node : graph.nodes()) {
        ++counts[node.domain.empty() ? node.op : node.domain + "::" + node.op];
    }
}

/// Elements of a constant whose data is not there.
std::int64_t declaredSize(const graph::Value& value)
{
    std::int64_t size = 1;
    for (const graph::Dimension& dimension : value.shape.value_or(std::vector<graph::Dimension>{{0, {}}})) {
        size *= dimension.extent.value_or(0);
    }
    return size;
}

std::int64_t parameterCount(const graph::Graph& graph)
{
    std::int64_t count = 0;
    for (const graph::Value& value : graph.values()) {
        const bool isWeight = tensor::isFloating(value.dtype) || tensor::isNarrow(value.dtype);
        if (value.kind == graph::ValueKind::Constant && isWeight) {
            count += value.constant.isValid() ? value.constant.size() : declaredSize(value);
        }
    }
    return count;
}

/// What a graph has, and what the branches and bodies inside its nodes have.
struct Counts
{
    explicit Counts(const graph::Graph& graph) : nodes(graph.nodeCount()), parameters(parameterCount(graph))
    {
        addOperators(graph, operators);
        graph::forEachInside(graph, [this](const graph::Graph& inside) {
            nodesInside += inside.nodeCount();
            parametersInside += parameterCount(inside);
            addOperators(inside, operatorsInside);
        });
        parameters += parametersInside;
    }

    std::size_t nodes;
    std::size_t nodesInside = 0;
    OperatorCounts operators;
    OperatorCounts operatorsInside;
    std::int64_t parameters; ///< of all
    std::int64_t parametersInside = 0;
};

/// An object of many members, in the order in which they come: ordered_json would compare each with all before it.
/// The names must differ.
class ManyMembers
{
public:
    explicit ManyMembers(std::size_t count) { m_members.reserve(count); }
    void add(const std::string& name, ordered_json value) { m_members.emplace_back(name, std::move(value)); }
    /// Takes them out.
    ordered_json take()
    {
        ordered_json object = ordered_json::object();
        static_cast<Members&>(object.get_ref<ordered_json::object_t&>()) = std::move(m_members);
        return object;
    }

private:
    using Members = ordered_json::object_t::Container;
    Members m_members;
};

ordered_json infoJson(const engine::LoadedModel& model)
{
    const graph::Graph& graph = *model.rewritten.before;
    ordered_json opsets;
    for (const auto& [domain, version] : graph.opsets()) {
        opsets[domain.empty() ? "ai.onnx" : domain] = version;
    }
    const Counts counts(graph);
    const execute::Precision precision = engine::precisionOf(model);
    const auto missing = base::listOf(ops::unsupported(*model.graph()), [&](const auto& node) -> ordered_json {
        const graph::Node& at = model.graph()->node(node.node);
        return {{"node", at.name},
                {"operator", at.op},
                {"domain", at.domain.empty() ? "ai.onnx" : at.domain},
                {"opset", at.opset},
                {"reason", node.reason}};
    });
    ManyMembers absent(model.notes.absent.size());
    for (const auto& [name, reason] : model.notes.absent) {
        absent.add(name, reason);
    }
    return base::objectOf({{"explanation", base::ifAny(formats::explanationText(model.path))},
                           {"model", model.name},
                           {"name", graph.name()},
                           {"opset", opsets},
                           {"inputs", valuesJson(graph, graph.inputs())},
                           {"outputs", valuesJson(graph, graph.outputs())},
                           {"nodes", counts.nodes},
                           {"operators", counts.operators},
                           {"nodes_inside", counts.nodesInside},
                           {"operators_inside", counts.operatorsInside},
                           {"parameters", counts.parameters},
                           {"parameters_inside", counts.parametersInside},
                           {"precision", tensor::nameOf(execute::dtypeOf(precision))},
                           {"rounded_to", engine::roundedTypes(*model.graph(), precision)},
                           {"structural_hash", base::hex(graph::structuralHash(graph))},
                           {"rewrites", rewritesJson(model.rewritten)},
                           {"no_rewrite", rewrite::switchedOff(model.rewritten.options)},
                           {"rewrite", rewrite::switchedOn(model.rewritten.options)},
                           {"nodes_after_rewrites", model.graph()->nodeCount()},
                           {"unsupported", missing},
                           {"optional_inputs", model.notes.optionalInputs},
                           {"missing_weights", absent.take()}});
}

void sayValues(const Context& context, const char* title, const graph::Graph& graph, std::span<const base::ValueId> ids)
{
    for (const base::ValueId id : ids) {
        const graph::Value& value = graph.value(id);
        context.say(fmt::format("{:<12} {}  {}  {}", title, value.name, tensor::nameOf(value.dtype), shapeText(value)));
    }
}

/// Optional inputs and missing weights that are named before the rest is only counted.
constexpr std::size_t kNamedNotes = 8;

void saySome(const Context& context, const char* title, const std::vector<std::string>& names, const char* what)
{
    for (std::size_t i = 0; i < std::min(names.size(), kNamedNotes); ++i) {
        context.say(fmt::format("{:<12} {}{}", title, names[i], what));
    }
    if (names.size() > kNamedNotes) {
        context.say(fmt::format("{:<12} and {} more", "", names.size() - kNamedNotes));
    }
}

void sayOperators(const Context& context, const OperatorCounts& operators)
{
    for (const auto& [op, count] : operators) {
        context.say(fmt::format("{:<12} {:>5} × {}", "", count, op));
    }
}

void sayCounts(const Context& context, const graph::Graph& graph)
{
    const Counts counts(graph);
    context.say(fmt::format("{:<12} {}", "nodes", counts.nodes));
    sayOperators(context, counts.operators);
    if (counts.nodesInside > 0) {
        context.say(fmt::format("{:<12} {} nodes in the branches and bodies of these", "inside", counts.nodesInside));
        sayOperators(context, counts.operatorsInside);
    }
    context.say(fmt::format("{:<12} {}{}", "parameters", counts.parameters,
                            counts.parametersInside > 0 ? fmt::format(", {} of them inside", counts.parametersInside)
                                                        : std::string()));
}

void sayInfo(const Context& context, const engine::LoadedModel& model, const ordered_json& info, bool isDiff)
{
    const graph::Graph& graph = *model.rewritten.before;
    context.say(fmt::format("{:<12} {}", "model", model.name));
    if (const std::string what = formats::explanationText(model.path); !what.empty()) {
        context.say(fmt::format("{:<12} {}", "note", what));
    }
    for (const auto& [domain, version] : graph.opsets()) {
        context.say(fmt::format("{:<12} {} {}", "opset", domain.empty() ? "ai.onnx" : domain, version));
    }
    sayValues(context, "input", graph, graph.inputs());
    sayValues(context, "output", graph, graph.outputs());
    sayCounts(context, graph);
    context.say(
        fmt::format("{:<12} {}", "computed in", engine::precisionText(*model.graph(), engine::precisionOf(model))));
    sayRewrites(context, model.rewritten, isDiff);
    for (const std::string& name : rewrite::switchedOff(model.rewritten.options)) {
        context.say(fmt::format("{:<12} {}", "switched off", name));
    }
    saySome(context, "optional", model.notes.optionalInputs, " has a value in the file; --input gives another one");
    std::vector<std::string> absent;
    for (const auto& [name, reason] : model.notes.absent) {
        absent.push_back(name + ": " + reason);
    }
    saySome(context, "no weights", absent, "");
    if (info["unsupported"].empty()) {
        context.say(fmt::format("{:<12} nothing; every operator is implemented", "unsupported"));
    }
    for (const ordered_json& node : info["unsupported"]) {
        context.say(fmt::format("{:<12} {} ({}): {}", "unsupported", node["node"].get<std::string>(),
                                node["operator"].get<std::string>(), node["reason"].get<std::string>()));
    }
}

struct InfoOptions
{
    ModelOptions model;
    std::string graphOut;
    bool shapes = false;
    bool diff = false;
};

/// The inferred shape of every value of the graph that runs.
base::Result<void> addShapes(const Context& context, const engine::LoadedModel& model, ordered_json& info)
{
    const graph::Graph& graph = *model.graph();
    RETRO_TRY(const std::vector<engine::SymbolicShape> shapes, engine::inferSymbolicShapes(model.graph()));
    ManyMembers members(shapes.size());
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const graph::Value& value = graph.value(base::ValueId(i));
        members.add(value.name, {{"type", tensor::nameOf(shapes[i].dtype)}, {"shape", shapes[i].extents}});
        if (!context.json) {
            context.say(fmt::format(
                "{:<12} {}  {}  {}", "shape", value.name, tensor::nameOf(shapes[i].dtype),
                shapes[i].extents.empty() ? "scalar" : fmt::format("{}", fmt::join(shapes[i].extents, " × "))));
        }
    }
    info["shapes"] = members.take();
    return {};
}

base::Result<void> showInfo(const Context& context, const InfoOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, options.model.load());
    if (!options.graphOut.empty()) {
        RETRO_CHECK(formats::writeModelFile(options.graphOut, *model->rewritten.before));
    }
    ordered_json info = infoJson(*model);
    if (!context.json) {
        sayInfo(context, *model, info, options.diff);
    }
    if (options.shapes) {
        RETRO_CHECK(addShapes(context, *model, info));
    }
    if (context.json) {
        context.answer(info);
    }
    return {};
}

} // namespace

void addInfo(CLI::App& program, Context& context)
{
    auto options = std::make_shared<InfoOptions>();
    CLI::App* verb = addVerb(program, context, "info",
                             "Inputs, outputs, opset, operator counts, parameters, what is unsupported and where",
                             [&context, options] { return showInfo(context, *options); });
    options->model.addTo(*verb, engine::kInfo, context);
    verb->add_flag("--shapes", options->shapes, "Also work out the shape of every value, with the inputs' symbols");
    verb->add_flag("--diff", options->diff, "Also the nodes before and after each rewrite");
    context.addOutput(verb->add_option("--graph-out", options->graphOut,
                                       "Also write the graph as read, as graph JSON (.json) or .onnx"),
                      "the graph");
}

} // namespace retro::app
