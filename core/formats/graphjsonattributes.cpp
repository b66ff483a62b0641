// SPDX-License-Identifier: Apache-2.0
#include "core/formats/graphjsonattributes.h"

#include "core/formats/graphjson.h"
#include "core/formats/graphjsonnames.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <cstring>

namespace retro::formats
{

using base::Result;
using graph::Attribute;
using nlohmann::json;
using tensor::Tensor;

namespace
{

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

} // namespace

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

Result<graph::Attributes> readAttributes(const JsonFields& node)
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

Result<std::optional<graph::NodeFacts>> readNodeFacts(const JsonFields& node)
{
    graph::NodeFacts facts;
    RETRO_TRY(facts.flops, node.number("flops"));
    RETRO_TRY(facts.milliseconds, node.number("milliseconds"));
    RETRO_TRY(const auto workspace, node.whole("workspace", 0));
    RETRO_TRY(facts.phase, node.text("phase"));
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

} // namespace retro::formats
