// SPDX-License-Identifier: Apache-2.0
#include "core/base/jsonout.h"
#include "core/base/record.h"
#include "core/formats/graphjson.h"
#include "core/formats/graphjsonnames.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace retro::formats
{

using base::ifAny;
using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;
using graph::ValueKind;
using nlohmann::ordered_json;
using tensor::Tensor;

namespace
{

ordered_json graphObject(const Graph& graph, GraphJsonData data);

ordered_json tensorJson(const Tensor& tensor, GraphJsonData data)
{
    const Tensor plain = tensor.contiguous();
    ordered_json json{{"dtype", tensor::nameOf(plain.dtype())}, {"shape", plain.shape()}};
    if (data == GraphJsonData::All) {
        json["data"] = toBase64({plain.rawData(), static_cast<std::size_t>(plain.bytes())});
    }
    return json;
}

/// An attribute as an object with one member, whose name is its type: the types of numbers must survive.
struct AttributeJson
{
    GraphJsonData data;
    ordered_json operator()(std::int64_t v) const { return {{"int", v}}; }
    ordered_json operator()(double v) const { return {{"float", number(v)}}; }
    ordered_json operator()(const std::string& v) const { return {{"text", v}}; }
    ordered_json operator()(const Tensor& v) const { return {{"tensor", tensorJson(v, data)}}; }
    ordered_json operator()(const std::vector<std::int64_t>& v) const { return {{"ints", v}}; }
    ordered_json operator()(const std::vector<double>& v) const
    {
        const ordered_json list = base::listOf(v, [&](const double item) { return number(item); });
        return {{"floats", list}};
    }
    ordered_json operator()(const std::vector<std::string>& v) const { return {{"texts", v}}; }
    ordered_json operator()(const graph::Subgraph& v) const
    {
        return {{"graph", graphObject(*v.graph, data)}, {"captured", v.captured}};
    }

    /// JSON has no infinities and no NaN: they are texts.
    static ordered_json number(double v)
    {
        if (std::isfinite(v)) {
            return v;
        }
        return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
    }
};

ordered_json shapeJson(const Value& value)
{
    ordered_json shape = ordered_json::array();
    for (const graph::Dimension& dimension : *value.shape) {
        if (dimension.extent) {
            shape.push_back(*dimension.extent);
        } else if (dimension.symbol.empty()) {
            shape.push_back(nullptr);
        } else {
            shape.push_back(dimension.symbol);
        }
    }
    return shape;
}

void addFacts(ordered_json& json, const graph::ValueFacts& facts)
{
    base::add(json, {{"bytes", ifAny(facts.bytes)},
                     {"storage", ifAny(facts.storage)},
                     {"pinned", ifAny(facts.isPinned)},
                     {"requires_grad", ifAny(facts.requiresGradient)}});
}

ordered_json valueJson(const Value& value, GraphJsonData data)
{
    ordered_json json = base::objectOf({{"name", value.name},
                                        {"dtype", tensor::nameOf(value.dtype)},
                                        {"shape", value.shape ? shapeJson(value) : base::kLeftOut}});
    if (value.kind == ValueKind::Constant) {
        json["constant"] = value.constant.isValid() ? tensorJson(value.constant, data) : ordered_json::object();
    }
    if (value.facts) {
        addFacts(json, *value.facts);
    }
    return json;
}

ordered_json namesJson(const Graph& graph, std::span<const ValueId> ids)
{
    return base::listOf(ids, [&](const ValueId id) {
        return id.isValid() ? ordered_json(graph.value(id).name) : ordered_json(nullptr);
    });
}

void addFacts(ordered_json& json, const graph::NodeFacts& facts)
{
    base::add(json, {{"flops", ifAny(facts.flops)},
                     {"milliseconds", ifAny(facts.milliseconds)},
                     {"workspace", ifAny(facts.workspace)},
                     {"phase", ifAny(facts.phase)},
                     {"saves_inputs", ifAny(facts.savedOperands)},
                     {"saves_outputs", ifAny(facts.savedOutputs)},
                     {"recomputable", facts.recomputable ? base::kLeftOut : ordered_json(false)},
                     {"stochastic", ifAny(facts.stochastic)},
                     {"effectful", ifAny(facts.effectful)}});
}

ordered_json nodeJson(const Graph& graph, const Node& node, GraphJsonData data)
{
    ordered_json json = base::objectOf({{"name", node.name},
                                        {"op", node.op},
                                        {"domain", ifAny(node.domain)},
                                        {"opset", node.opset != 0 ? ordered_json(node.opset) : base::kLeftOut},
                                        {"scope", ifAny(node.scope)},
                                        {"inputs", namesJson(graph, node.inputs)},
                                        {"outputs", namesJson(graph, node.outputs)}});
    for (const auto& [name, value] : node.attributes) {
        json["attributes"][name] = std::visit(AttributeJson{data}, value);
    }
    base::add(json, {{"metadata", ifAny(node.metadata)}});
    if (node.facts) {
        addFacts(json, *node.facts);
    }
    return json;
}

ordered_json graphObject(const Graph& graph, GraphJsonData data)
{
    ordered_json json;
    json["name"] = graph.name();
    for (const auto& [domain, version] : graph.opsets()) {
        json["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
    }
    json["inputs"] = namesJson(graph, graph.inputs());
    json["outputs"] = namesJson(graph, graph.outputs());
    json["values"] = ordered_json::array();
    for (const Value& value : graph.values()) {
        json["values"].push_back(valueJson(value, data));
    }
    json["nodes"] = ordered_json::array();
    for (const Node& node : graph.nodes()) {
        json["nodes"].push_back(nodeJson(graph, node, data));
    }
    return json;
}

std::string textOf(const ordered_json& json) { return base::jsonOut(json); }

/// Lists of objects get one line per object, so that files can be compared and read.
std::string linesOf(const ordered_json& list)
{
    std::string text = "[";
    for (const ordered_json& item : list) {
        text += (text.size() > 1 ? ",\n    " : "\n    ") + textOf(item);
    }
    return text + (list.empty() ? "]" : "\n  ]");
}

} // namespace

std::string toGraphJson(const Graph& graph, GraphJsonData data)
{
    const ordered_json object = graphObject(graph, data);
    std::string text = "{\n  \"format\": " + textOf(ordered_json(kGraphJsonFormat));
    for (const auto& [name, member] : object.items()) {
        const bool isList = name == "values" || name == "nodes";
        text += ",\n  " + textOf(ordered_json(name)) + ": " + (isList ? linesOf(member) : textOf(member));
    }
    return text + "\n}\n";
}

} // namespace retro::formats
