// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"
#include "core/formats/graphjson.h"
#include "core/formats/graphjsonattributes.h"
#include "core/formats/graphjsonnames.h"
#include "core/graph/graphbuilder.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace retro::formats
{

using base::JsonText;
using base::Result;
using graph::Dimension;
using graph::Graph;
using graph::ValueId;
using nlohmann::json;

namespace
{

using Shape = std::optional<std::vector<Dimension>>;

/// The graph of one object; graphs inside nodes are read by readers of their own.
class GraphObjectReader
{
public:
    explicit GraphObjectReader(JsonFields fields) : m_fields(std::move(fields)) {}

    Result<Graph> read()
    {
        RETRO_TRY(std::string name, m_fields.text("name"));
        m_builder = graph::GraphBuilder(std::move(name));
        RETRO_CHECK(readOpsets());
        RETRO_TRY(const std::vector<std::string> inputs, m_fields.names("inputs", false));
        RETRO_TRY(const std::vector<std::string> outputs, m_fields.names("outputs", false));
        RETRO_CHECK(indexValues());
        RETRO_CHECK(addInputs(inputs));
        RETRO_CHECK(addValues());
        RETRO_CHECK(addNodes());
        RETRO_CHECK(addOutputs(outputs));
        Result<Graph> graph = std::move(m_builder).build();
        return graph.ok() ? std::move(graph) : base::within(std::move(graph).error(), m_fields.source().where());
    }

private:
    Result<void> readOpsets()
    {
        RETRO_TRY(const auto opsets, m_fields.object("opsets"));
        if (!opsets) {
            return {};
        }
        for (const auto& [domain, version] : opsets->members().items()) {
            RETRO_TRY(const auto number, opsets->whole(domain, 1, 1'000'000));
            m_opsets[domain == "ai.onnx" ? "" : domain] = number.value_or(1);
            m_builder.setOpset(domain == "ai.onnx" ? "" : domain, number.value_or(1));
        }
        return {};
    }

    /// Position of each value in the list, by name.
    Result<void> indexValues()
    {
        RETRO_TRY(const json* values, m_fields.list("values"));
        for (std::size_t i = 0; values != nullptr && i < values->size(); ++i) {
            RETRO_TRY(JsonFields value, m_fields.item("values", i));
            RETRO_TRY(std::string name, value.text("name"));
            if (name.empty()) {
                return value.error("name", "a value must have a name");
            }
            if (!m_positions.emplace(std::move(name), i).second) {
                return value.error("name", "two values have this name; names of values must be unique in a graph");
            }
            m_values.push_back(std::move(value));
        }
        return {};
    }

    Result<void> addInputs(const std::vector<std::string>& inputs)
    {
        for (const std::string& name : inputs) {
            const auto at = m_positions.find(name);
            if (at == m_positions.end()) {
                m_builder.addInput(name, tensor::DType::Float32, Shape());
                continue;
            }
            const JsonFields& value = m_values[at->second];
            if (value.has("constant")) {
                return value.error("constant", "an input of the graph cannot be a constant");
            }
            RETRO_TRY(const tensor::DType dtype, readDType(value));
            RETRO_TRY(Shape shape, readShape(value));
            const ValueId id = m_builder.addInput(name, dtype, std::move(shape));
            RETRO_CHECK(addFacts(id, value));
        }
        return {};
    }

    Result<void> addValues()
    {
        for (const JsonFields& value : m_values) {
            RETRO_TRY(const std::string name, value.text("name"));
            if (m_builder.find(name)) {
                continue; // an input
            }
            RETRO_TRY(const ValueId id, addValue(value, name));
            RETRO_CHECK(addFacts(id, value));
        }
        return {};
    }

    Result<ValueId> addValue(const JsonFields& value, const std::string& name)
    {
        RETRO_TRY(const tensor::DType dtype, readDType(value));
        RETRO_TRY(Shape shape, readShape(value));
        RETRO_TRY(const auto constant, value.object("constant"));
        if (!constant) {
            const ValueId id = m_builder.addResult(name);
            m_builder.declare(id, dtype, std::move(shape));
            return id;
        }
        RETRO_TRY(tensor::Tensor data, readTensor(*constant));
        const ValueId id = m_builder.addConstant(name, std::move(data));
        m_builder.declare(id, dtype, std::move(shape));
        return id;
    }

    Result<void> addFacts(ValueId id, const JsonFields& value)
    {
        RETRO_TRY(const std::optional<graph::ValueFacts> facts, readValueFacts(value));
        if (facts) {
            m_builder.note(id, std::make_shared<const graph::ValueFacts>(*facts));
        }
        return {};
    }

    Result<void> addNodes()
    {
        RETRO_TRY(const json* nodes, m_fields.list("nodes"));
        for (std::size_t i = 0; nodes != nullptr && i < nodes->size(); ++i) {
            RETRO_TRY(const JsonFields fields, m_fields.item("nodes", i));
            RETRO_TRY(graph::Node node, readNode(fields));
            m_builder.addNode(std::move(node));
        }
        return {};
    }

    Result<graph::Node> readNode(const JsonFields& fields)
    {
        graph::Node node;
        RETRO_TRY(node.name, fields.text("name"));
        RETRO_TRY(node.op, fields.text("op"));
        RETRO_TRY(node.domain, fields.text("domain"));
        RETRO_TRY(node.scope, fields.text("scope"));
        RETRO_TRY(const auto opset, fields.whole("opset", 0, 1'000'000));
        if (node.op.empty()) {
            return fields.error("op", "the node does not say which operator it is");
        }
        node.domain = node.domain == "ai.onnx" ? std::string() : node.domain;
        const auto imported = m_opsets.find(node.domain);
        node.opset = opset.value_or(imported == m_opsets.end() ? 0 : imported->second);
        RETRO_TRY(const auto inputs, fields.names("inputs", true));
        RETRO_TRY(const auto outputs, fields.names("outputs", true));
        node.inputs = idsOf(inputs);
        node.outputs = idsOf(outputs);
        RETRO_TRY(node.attributes, readAttributes(fields));
        RETRO_TRY(node.metadata, readMetadata(fields));
        RETRO_TRY(const auto facts, readNodeFacts(fields));
        if (facts) {
            node.facts = std::make_shared<const graph::NodeFacts>(*facts);
        }
        return node;
    }

    /// A name that no value has is a result; one that nobody produces is found by the builder.
    std::vector<ValueId> idsOf(const std::vector<std::string>& names)
    {
        std::vector<ValueId> ids;
        for (const std::string& name : names) {
            const auto known = name.empty() ? std::optional(ValueId()) : m_builder.find(name);
            ids.push_back(known ? *known : m_builder.addResult(name));
        }
        return ids;
    }

    Result<void> addOutputs(const std::vector<std::string>& outputs)
    {
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const auto known = m_builder.find(outputs[i]);
            if (!known) {
                return m_fields.error(fmt::format("outputs[{}]", i),
                                      fmt::format("no value has the name '{}'", outputs[i]));
            }
            m_builder.addOutput(*known);
        }
        return {};
    }

    JsonFields m_fields;
    graph::GraphBuilder m_builder;
    std::map<std::string, std::int64_t> m_opsets;
    std::unordered_map<std::string, std::size_t> m_positions;
    std::vector<JsonFields> m_values;
};

Result<void> checkFormat(const JsonFields& fields)
{
    RETRO_TRY(const std::string format, fields.text("format"));
    if (format == kGraphJsonFormat) {
        return {};
    }
    if (format.starts_with(kGraphJsonName)) {
        return fields.error("format", fmt::format("the graph has the format '{}', which is newer than this program; it "
                                                  "reads '{}'",
                                                  format, kGraphJsonFormat));
    }
    return fields.error("format", fmt::format("this is not a graph: it must say \"format\": \"{}\"", kGraphJsonFormat));
}

/// Enough for some 800,000 nodes.
constexpr std::size_t kMaxGraphJsonMemory = std::size_t{768} << 20U;

} // namespace

Result<Graph> readGraphObject(const JsonFields& fields) { return GraphObjectReader(fields).read(); }

Result<std::shared_ptr<const Graph>> parseGraphJson(std::string text, const std::string& where)
{
    RETRO_TRY(const JsonText parsed,
              JsonText::parse(std::move(text), where, {kMaxGraphJsonBytes, kMaxGraphJsonDepth, kMaxGraphJsonMemory}));
    RETRO_TRY(const JsonFields root, JsonFields::of(parsed, parsed.root(), ""));
    RETRO_CHECK(checkFormat(root));
    RETRO_TRY(Graph graph, readGraphObject(root));
    return std::make_shared<const Graph>(std::move(graph));
}

Result<std::shared_ptr<const Graph>> readGraphJson(const std::filesystem::path& path)
{
    RETRO_TRY(std::string text, base::readTextFile(path, kMaxGraphJsonBytes));
    return parseGraphJson(std::move(text), path.string());
}

} // namespace retro::formats
