// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"
#include "core/base/jsonfields.h"
#include "core/formats/graphjson.h"
#include "core/formats/graphjsonnames.h"
#include "core/formats/opsetlimit.h"
#include "core/graph/graph.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

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

using graph::Attribute;
using tensor::Tensor;

using base::JsonFields;

Result<Tensor> readTensor(const JsonFields& fields);
/// The graph of an object, its own nested graphs included.
Result<Graph> readGraphObject(const JsonFields& fields);

/// A number, or "inf", "-inf", "nan".
std::optional<double> floatOf(const json& value)
{
    if (value.is_number()) {
        return value.get<double>();
    }
    const std::string text = value.is_string() ? value.get<std::string>() : std::string();
    const double infinity = std::numeric_limits<double>::infinity();
    if (text == "nan") {
        return std::numeric_limits<double>::quiet_NaN();
    }
    return text == "inf" ? std::optional(infinity) : text == "-inf" ? std::optional(-infinity) : std::nullopt;
}

Result<Attribute> readFloat(const JsonFields& fields)
{
    const std::optional<double> value = floatOf(*fields.find("float"));
    return value ? Result<Attribute>(*value)
                 : fields.error("float", "it must be a number, \"inf\", \"-inf\" or \"nan\"");
}

Result<Attribute> readFloats(const JsonFields& fields)
{
    RETRO_TRY(const json* items, fields.list("floats"));
    std::vector<double> values;
    for (const json& item : *items) {
        const std::optional<double> value = floatOf(item);
        if (!value) {
            return fields.error("floats", "it must be a list of numbers, \"inf\", \"-inf\" or \"nan\"");
        }
        values.push_back(*value);
    }
    return Attribute(std::move(values));
}

Result<Attribute> readInt(const JsonFields& fields)
{
    RETRO_TRY(const auto value, fields.whole("int", std::numeric_limits<std::int64_t>::min()));
    return Attribute(*value);
}

Result<Attribute> readInts(const JsonFields& fields)
{
    RETRO_TRY(const json* items, fields.list("ints"));
    std::vector<std::int64_t> values;
    for (const json& item : *items) {
        if (!item.is_number_integer()) {
            return fields.error("ints", "it must be a list of whole numbers");
        }
        values.push_back(item.get<std::int64_t>());
    }
    return Attribute(std::move(values));
}

Result<Attribute> readText(const JsonFields& fields)
{
    RETRO_TRY(std::string value, fields.text("text"));
    return Attribute(std::move(value));
}

Result<Attribute> readTexts(const JsonFields& fields)
{
    RETRO_TRY(const json* items, fields.list("texts"));
    std::vector<std::string> values;
    for (const json& item : *items) {
        if (!item.is_string()) {
            return fields.error("texts", "it must be a list of texts");
        }
        values.push_back(item.get<std::string>());
    }
    return Attribute(std::move(values));
}

Result<Attribute> readTensorAttribute(const JsonFields& fields)
{
    RETRO_TRY(const auto object, fields.object("tensor"));
    RETRO_TRY(Tensor value, readTensor(*object));
    if (!value.isValid()) {
        return fields.error("tensor", "its data is missing; write the graph with its data");
    }
    return Attribute(std::move(value));
}

Result<Attribute> readNested(const JsonFields& fields)
{
    RETRO_TRY(const auto object, fields.object("graph"));
    RETRO_TRY(graph::Graph nested, readGraphObject(*object));
    RETRO_TRY(const auto captured, fields.whole("captured", 0, static_cast<std::int64_t>(nested.inputs().size())));
    return Attribute(graph::Subgraph{std::make_shared<const graph::Graph>(std::move(nested)),
                                     static_cast<std::size_t>(captured.value_or(0))});
}

struct Kind
{
    const char* name;
    Result<Attribute> (*read)(const JsonFields&);
};

constexpr Kind kAttributeKinds[] = {
    {"int", readInt},   {"float", readFloat},   {"text", readText},   {"tensor", readTensorAttribute},
    {"ints", readInts}, {"floats", readFloats}, {"texts", readTexts}, {"graph", readNested}};

Result<Attribute> readAttribute(const JsonFields& fields, const std::string& name, const JsonFields& all)
{
    for (const Kind& kind : kAttributeKinds) {
        if (fields.find(kind.name) != nullptr) {
            return kind.read(fields);
        }
    }
    return all.error(name,
                     "it must have one member named after its type: int, float, text, tensor, ints, floats, texts "
                     "or graph");
}

Result<graph::Dimension> readDimension(const JsonFields& fields, const json& item)
{
    graph::Dimension dimension;
    if (item.is_string()) {
        dimension.symbol = item.get<std::string>();
    } else if (item.is_number_integer() && item.get<std::int64_t>() >= 0) {
        dimension.extent = item.get<std::int64_t>();
    } else if (!item.is_null()) {
        return fields.error("shape", "an extent must be a whole number from 0, a symbol as text, or null");
    }
    return dimension;
}

/// The bytes of a tensor, which must fit its shape.
Result<Tensor> withData(const JsonFields& fields, tensor::Shape shape, tensor::DType dtype)
{
    const Result<std::uint64_t> bytes = tensor::checkedBytes(shape, dtype, kMaxGraphJsonBytes);
    if (!bytes) {
        return fields.error("shape", bytes.error().message);
    }
    RETRO_TRY(const std::string text, fields.text("data"));
    const auto data = fromBase64(text);
    if (!data) {
        return fields.error("data", "it is not base64");
    }
    if (data->size() != *bytes) {
        return fields.error("data", fmt::format("it has {} bytes but the shape {} of {} needs {}", data->size(),
                                                tensor::toText(shape), tensor::nameOf(dtype), *bytes));
    }
    tensor::TensorBuffer buffer(dtype, std::move(shape));
    std::memcpy(buffer.rawData(), data->data(), data->size());
    return std::move(buffer).freeze();
}

/// The element type of a value or tensor; float32 when it says none.
Result<tensor::DType> readDType(const JsonFields& fields)
{
    RETRO_TRY(const std::string name, fields.text("dtype"));
    const auto dtype = name.empty() ? std::optional(tensor::DType::Float32) : dtypeOfName(name);
    if (!dtype) {
        return fields.error("dtype", fmt::format("'{}' is no element type; bool, integers of 8 to 64 bits, float16, "
                                                 "bfloat16, float32 and float64 are",
                                                 name));
    }
    return *dtype;
}

/// The declared shape; none when missing.
Result<std::optional<std::vector<graph::Dimension>>> readShape(const JsonFields& fields)
{
    RETRO_TRY(const json* items, fields.list("shape"));
    if (items == nullptr) {
        return std::optional<std::vector<graph::Dimension>>();
    }
    if (items->size() > tensor::kMaxRank) {
        return fields.error("shape",
                            fmt::format("it has {} axes; at most {} are read", items->size(), tensor::kMaxRank));
    }
    std::vector<graph::Dimension> shape;
    for (const json& item : *items) {
        RETRO_TRY(graph::Dimension dimension, readDimension(fields, item));
        shape.push_back(std::move(dimension));
    }
    return std::optional(std::move(shape));
}

/// A tensor; invalid when its data is left out.
Result<Tensor> readTensor(const JsonFields& fields)
{
    if (fields.find("data") == nullptr) {
        return Tensor();
    }
    RETRO_TRY(const tensor::DType dtype, readDType(fields));
    RETRO_TRY(const auto declared, readShape(fields));
    tensor::Shape shape;
    for (const graph::Dimension& dimension : declared.value_or(std::vector<graph::Dimension>())) {
        if (!dimension.extent) {
            return fields.error("shape", "data needs a shape of whole numbers");
        }
        shape.push_back(*dimension.extent);
    }
    return withData(fields, std::move(shape), dtype);
}

/// The attributes of a node.
Result<graph::Attributes> attributesOf(const JsonFields& node)
{
    graph::Attributes attributes;
    RETRO_TRY(const auto all, node.object("attributes"));
    if (!all) {
        return attributes;
    }
    for (const auto& [name, value] : all->members().items()) {
        RETRO_TRY(const JsonFields one, JsonFields::of(node.source(), value, all->pathOf(name)));
        RETRO_TRY(Attribute attribute, readAttribute(one, name, *all));
        attributes.emplace(name, std::move(attribute));
    }
    return attributes;
}

/// The notes of a node.
Result<std::map<std::string, std::string>> readMetadata(const JsonFields& node)
{
    std::map<std::string, std::string> notes;
    RETRO_TRY(const auto all, node.object("metadata"));
    if (!all) {
        return notes;
    }
    for (const auto& [name, value] : all->members().items()) {
        RETRO_TRY(notes[name], all->text(name));
    }
    return notes;
}

/// Positions of operands or outputs of a node that has `count` of them.
Result<void> checkSaved(const JsonFields& node, std::string_view name,
                        const std::optional<std::vector<std::uint32_t>>& positions, std::size_t count)
{
    for (const std::uint32_t position : positions.value_or(std::vector<std::uint32_t>())) {
        if (position >= count) {
            return node.error(name, fmt::format("position {} is not below {}, the number there are", position, count));
        }
    }
    return {};
}

/// What a capture measured; none when the object says nothing.
Result<std::optional<graph::NodeFacts>> readNodeFacts(const JsonFields& node)
{
    graph::NodeFacts facts;
    RETRO_TRY(facts.flops, node.number("flops"));
    RETRO_TRY(facts.milliseconds, node.number("milliseconds"));
    RETRO_TRY(const auto workspace, node.whole("workspace", 0));
    RETRO_TRY(facts.phase, node.text("phase"));
    if (!facts.phase.empty() && facts.phase != "forward" && facts.phase != "backward") {
        return node.error("phase", fmt::format("'{}' is no phase; it must be 'forward' or 'backward'", facts.phase));
    }
    RETRO_TRY(facts.savedOperands, node.positions("saves_inputs"));
    RETRO_TRY(facts.savedOutputs, node.positions("saves_outputs"));
    RETRO_TRY(facts.recomputable, node.flag("recomputable", true));
    RETRO_TRY(facts.stochastic, node.flag("stochastic", false));
    RETRO_TRY(facts.effectful, node.flag("effectful", false));
    if (workspace) {
        facts.workspace = static_cast<std::uint64_t>(*workspace);
    }
    return facts == graph::NodeFacts() ? std::optional<graph::NodeFacts>() : std::optional(std::move(facts));
}

Result<std::optional<graph::ValueFacts>> readValueFacts(const JsonFields& value)
{
    graph::ValueFacts facts;
    RETRO_TRY(const auto bytes, value.whole("bytes", 0));
    RETRO_TRY(const auto storage, value.whole("storage", 0, std::numeric_limits<std::uint32_t>::max()));
    RETRO_TRY(facts.isPinned, value.flag("pinned", false));
    RETRO_TRY(facts.requiresGradient, value.flag("requires_grad", false));
    if (bytes) {
        facts.bytes = static_cast<std::uint64_t>(*bytes);
    }
    if (storage) {
        facts.storage = static_cast<std::uint32_t>(*storage);
    }
    return facts == graph::ValueFacts() ? std::optional<graph::ValueFacts>() : std::optional(facts);
}

using Shape = std::optional<std::vector<Dimension>>;

/// A constant has the shape that its value declares.
Result<void> checkConstantShape(const JsonFields& value, const Shape& declared, const Tensor& data)
{
    if (!declared || !data.isValid()) {
        return {};
    }
    bool fits = declared->size() == data.rank();
    for (std::size_t axis = 0; fits && axis < data.rank(); ++axis) {
        fits = (*declared)[axis].extent.value_or(data.shape()[axis]) == data.shape()[axis];
    }
    return fits ? Result<void>()
                : value.error("shape", fmt::format("the value declares another shape than its constant, which has [{}]",
                                                   tensor::toText(data.shape())));
}

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
        if (opsets->members().size() > kMaxOpsets) {
            return m_fields.error("opsets", fmt::format("it names the operator sets of more than {} domains; keep "
                                                        "those that the nodes use",
                                                        kMaxOpsets));
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
        RETRO_CHECK(checkConstantShape(value, shape, data));
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
        RETRO_TRY(node.attributes, attributesOf(fields));
        RETRO_TRY(node.metadata, readMetadata(fields));
        RETRO_TRY(const auto facts, readNodeFacts(fields));
        if (facts) {
            RETRO_CHECK(checkSaved(fields, "saves_inputs", facts->savedOperands, node.inputs.size()));
            RETRO_CHECK(checkSaved(fields, "saves_outputs", facts->savedOutputs, node.outputs.size()));
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

Result<Graph> readGraphObject(const JsonFields& fields) { return GraphObjectReader(fields).read(); }

} // namespace

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
