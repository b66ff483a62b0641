// SPDX-License-Identifier: Apache-2.0
// Models, graphs and nodes of the ONNX text form.
#include "core/formats/onnxtextreader.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

namespace retro::formats
{

using base::Result;
using onnxschema::AttributeProto;
using onnxschema::FunctionProto;
using onnxschema::GraphProto;
using onnxschema::ModelProto;
using onnxschema::NodeProto;

namespace
{

constexpr std::array<std::pair<std::string_view, AttributeProto::AttributeType>, 14> kAttributeTypes{{
    {"float", AttributeProto::FLOAT},
    {"int", AttributeProto::INT},
    {"string", AttributeProto::STRING},
    {"tensor", AttributeProto::TENSOR},
    {"graph", AttributeProto::GRAPH},
    {"floats", AttributeProto::FLOATS},
    {"ints", AttributeProto::INTS},
    {"strings", AttributeProto::STRINGS},
    {"tensors", AttributeProto::TENSORS},
    {"graphs", AttributeProto::GRAPHS},
    {"sparse_tensor", AttributeProto::SPARSE_TENSOR},
    {"sparse_tensors", AttributeProto::SPARSE_TENSORS},
    {"type_proto", AttributeProto::TYPE_PROTO},
    {"type_protos", AttributeProto::TYPE_PROTOS},
}};

/// The list type of single items.
AttributeProto::AttributeType listOf(AttributeProto::AttributeType item)
{
    switch (item) {
    case AttributeProto::FLOAT:
        return AttributeProto::FLOATS;
    case AttributeProto::INT:
        return AttributeProto::INTS;
    case AttributeProto::STRING:
        return AttributeProto::STRINGS;
    case AttributeProto::TENSOR:
        return AttributeProto::TENSORS;
    default:
        return AttributeProto::TYPE_PROTOS;
    }
}

/// What a list holds: its first item into the list; false when the item is of another kind.
bool moveToList(const AttributeProto& item, AttributeProto& list)
{
    if (list.type() == AttributeProto::FLOATS && item.type() == AttributeProto::INT) {
        list.add_floats(static_cast<float>(item.i()));
        return true;
    }
    if (list.type() != listOf(item.type())) {
        return false;
    }
    switch (item.type()) {
    case AttributeProto::FLOAT:
        list.add_floats(item.f());
        return true;
    case AttributeProto::INT:
        list.add_ints(item.i());
        return true;
    case AttributeProto::STRING:
        list.add_strings(item.s());
        return true;
    case AttributeProto::TENSOR:
        *list.add_tensors() = item.t();
        return true;
    default:
        *list.add_type_protos() = item.tp();
        return true;
    }
}

} // namespace

template <class Add>
Result<void> OnnxTextReader::names(std::string_view end, const Add& add)
{
    while (!m_lexer.isMark(end)) {
        if (m_lexer.accept(",")) {
            add(std::string()); // an operand that is left out
            continue;
        }
        RETRO_TRY(std::string each, name());
        add(std::move(each));
        if (!m_lexer.accept(",")) {
            break;
        }
        if (m_lexer.isMark(end)) {
            add(std::string());
        }
    }
    return m_lexer.expect(end);
}

Result<void> OnnxTextReader::opsets(google::protobuf::RepeatedPtrField<onnxschema::OperatorSetIdProto>& opsets)
{
    RETRO_CHECK(m_lexer.expect("["));
    while (!m_lexer.isMark("]")) {
        onnxschema::OperatorSetIdProto& opset = *opsets.Add();
        RETRO_TRY(*opset.mutable_domain(), text());
        RETRO_CHECK(m_lexer.expect(":"));
        RETRO_TRY(const std::int64_t version, whole());
        opset.set_version(version);
        if (!m_lexer.accept(",")) {
            break;
        }
    }
    return m_lexer.expect("]");
}

Result<void> OnnxTextReader::modelField(ModelProto& model)
{
    RETRO_TRY(const std::string field, name());
    RETRO_CHECK(m_lexer.expect(":"));
    if (field == "opset_import") {
        return opsets(*model.mutable_opset_import());
    }
    if (field == "metadata_props") {
        return entries(*model.mutable_metadata_props());
    }
    if (field == "ir_version" || field == "model_version") {
        RETRO_TRY(const std::int64_t number, whole());
        field == "ir_version" ? model.set_ir_version(number) : model.set_model_version(number);
        return {};
    }
    const std::map<std::string_view, std::string*> texts{{"producer_name", model.mutable_producer_name()},
                                                         {"producer_version", model.mutable_producer_version()},
                                                         {"domain", model.mutable_domain()},
                                                         {"doc_string", model.mutable_doc_string()}};
    const auto known = texts.find(field);
    if (known == texts.end()) {
        return m_lexer.error("a model has no field '" + field + "'");
    }
    RETRO_TRY(*known->second, text());
    return {};
}

Result<void> OnnxTextReader::model(ModelProto& model)
{
    if (m_lexer.accept("<")) {
        while (!m_lexer.isMark(">")) {
            RETRO_CHECK(modelField(model));
            if (!m_lexer.accept(",")) {
                break;
            }
        }
        RETRO_CHECK(m_lexer.expect(">"));
    }
    RETRO_CHECK(graph(*model.mutable_graph()));
    while (m_lexer.kind() != OnnxToken::End) {
        RETRO_CHECK(function(*model.add_functions()));
    }
    return {};
}

Result<void> OnnxTextReader::functionField(FunctionProto& function)
{
    RETRO_TRY(const std::string field, name());
    RETRO_CHECK(m_lexer.expect(":"));
    if (field == "opset_import") {
        return opsets(*function.mutable_opset_import());
    }
    const std::map<std::string_view, std::string*> texts{{"domain", function.mutable_domain()},
                                                         {"overload", function.mutable_overload()},
                                                         {"doc_string", function.mutable_doc_string()}};
    const auto known = texts.find(field);
    if (known == texts.end()) {
        return m_lexer.error("a function has no field '" + field + "'");
    }
    RETRO_TRY(*known->second, text());
    return {};
}

Result<void> OnnxTextReader::functionAttributes(FunctionProto& function)
{
    while (!m_lexer.isMark(">")) {
        AttributeProto declared;
        RETRO_TRY(*declared.mutable_name(), name());
        RETRO_CHECK(attributeType(declared));
        if (m_lexer.accept("=")) {
            RETRO_CHECK(attributeValue(declared));
            *function.add_attribute_proto() = declared;
        } else {
            function.add_attribute(declared.name());
        }
        if (!m_lexer.accept(",")) {
            break;
        }
    }
    return m_lexer.expect(">");
}

Result<void> OnnxTextReader::function(FunctionProto& function)
{
    if (m_lexer.accept("<")) {
        while (!m_lexer.isMark(">")) {
            RETRO_CHECK(functionField(function));
            if (!m_lexer.accept(",")) {
                break;
            }
        }
        RETRO_CHECK(m_lexer.expect(">"));
    }
    RETRO_TRY(*function.mutable_name(), name());
    if (m_lexer.accept("<")) {
        RETRO_CHECK(functionAttributes(function));
    }
    RETRO_CHECK(m_lexer.expect("("));
    GraphProto around; // types of a function's inputs and outputs are not kept
    RETRO_CHECK(inputs(around));
    RETRO_CHECK(m_lexer.expect("=>"));
    RETRO_CHECK(m_lexer.expect("("));
    RETRO_CHECK(outputs(around));
    for (const auto& input : around.input()) {
        function.add_input(input.name());
    }
    for (const auto& output : around.output()) {
        function.add_output(output.name());
    }
    if (m_lexer.accept("<")) {
        RETRO_CHECK(inner(around));
        *function.mutable_value_info() = around.value_info();
    }
    return nodes(*function.mutable_node());
}

/// Inputs up to the closing bracket; one with data is an initializer as well.
Result<void> OnnxTextReader::inputs(GraphProto& graph)
{
    while (!m_lexer.isMark(")")) {
        onnxschema::ValueInfoProto& info = *graph.add_input();
        RETRO_CHECK(valueInfo(info));
        if (m_lexer.accept("=")) {
            onnxschema::TensorProto& data = *graph.add_initializer();
            data.set_name(info.name());
            RETRO_CHECK(tensorOf(info.type(), data));
        }
        if (!m_lexer.accept(",")) {
            break;
        }
    }
    return m_lexer.expect(")");
}

Result<void> OnnxTextReader::outputs(GraphProto& graph)
{
    while (!m_lexer.isMark(")")) {
        RETRO_CHECK(valueInfo(*graph.add_output()));
        if (!m_lexer.accept(",")) {
            break;
        }
    }
    return m_lexer.expect(")");
}

/// Initializers and types of values in between, up to the closing bracket.
Result<void> OnnxTextReader::inner(GraphProto& graph)
{
    while (!m_lexer.isMark(">")) {
        onnxschema::ValueInfoProto info;
        RETRO_CHECK(valueInfo(info));
        if (m_lexer.accept("=")) {
            onnxschema::TensorProto& data = *graph.add_initializer();
            data.set_name(info.name());
            RETRO_CHECK(tensorOf(info.type(), data));
        } else {
            *graph.add_value_info() = std::move(info);
        }
        if (!m_lexer.accept(",")) {
            break;
        }
    }
    return m_lexer.expect(">");
}

Result<void> OnnxTextReader::graph(GraphProto& graph)
{
    RETRO_CHECK(deeper());
    ++m_depth;
    RETRO_TRY(*graph.mutable_name(), name());
    RETRO_CHECK(m_lexer.expect("("));
    RETRO_CHECK(inputs(graph));
    RETRO_CHECK(m_lexer.expect("=>"));
    RETRO_CHECK(m_lexer.expect("("));
    RETRO_CHECK(outputs(graph));
    if (m_lexer.accept("<")) {
        RETRO_CHECK(inner(graph));
    }
    RETRO_CHECK(nodes(*graph.mutable_node()));
    --m_depth;
    return {};
}

Result<void> OnnxTextReader::nodes(google::protobuf::RepeatedPtrField<NodeProto>& nodes)
{
    RETRO_CHECK(m_lexer.expect("{"));
    while (!m_lexer.isMark("}")) {
        RETRO_CHECK(node(*nodes.Add()));
    }
    return m_lexer.expect("}");
}

/// "ai.onnx.ml.LabelEncoder", with ":overload" behind it or not.
Result<void> OnnxTextReader::operatorName(NodeProto& node)
{
    RETRO_TRY(std::string op, name());
    while (m_lexer.accept(".")) {
        *node.mutable_domain() += (node.domain().empty() ? "" : ".") + op;
        RETRO_TRY(op, name());
    }
    node.set_op_type(op);
    if (m_lexer.accept(":")) {
        RETRO_TRY(*node.mutable_overload(), name());
    }
    return {};
}

Result<void> OnnxTextReader::node(NodeProto& node)
{
    if (m_lexer.accept("[")) {
        RETRO_TRY(*node.mutable_name(), name());
        RETRO_CHECK(m_lexer.expect("]"));
    }
    RETRO_CHECK(names("=", [&node](std::string each) { node.add_output(std::move(each)); }));
    RETRO_CHECK(operatorName(node));
    if (m_lexer.accept("<")) {
        RETRO_CHECK(attributes(node));
    }
    RETRO_CHECK(m_lexer.expect("("));
    RETRO_CHECK(names(")", [&node](std::string each) { node.add_input(std::move(each)); }));
    return m_lexer.accept("<") ? attributes(node) : Result<void>();
}

Result<void> OnnxTextReader::attributes(NodeProto& node)
{
    while (!m_lexer.isMark(">")) {
        RETRO_CHECK(attribute(*node.add_attribute()));
        if (!m_lexer.accept(",")) {
            break;
        }
    }
    return m_lexer.expect(">");
}

/// ": ints" behind the name; the type stays open without it.
Result<void> OnnxTextReader::attributeType(AttributeProto& attribute)
{
    if (!m_lexer.accept(":")) {
        return {};
    }
    for (const auto& [word, type] : kAttributeTypes) {
        if (m_lexer.isName(word)) {
            attribute.set_type(type);
            m_lexer.advance();
            return {};
        }
    }
    return m_lexer.error("the type of an attribute (int, floats, tensor, …) is expected here");
}

Result<void> OnnxTextReader::attribute(AttributeProto& attribute)
{
    RETRO_TRY(*attribute.mutable_name(), name());
    RETRO_CHECK(attributeType(attribute));
    RETRO_CHECK(m_lexer.expect("="));
    return attributeValue(attribute);
}

Result<void> OnnxTextReader::attributeValue(AttributeProto& attribute)
{
    if (m_lexer.accept("@")) {
        RETRO_TRY(*attribute.mutable_ref_attr_name(), name());
        return {};
    }
    if (m_lexer.isMark("[")) {
        return attributeList(attribute);
    }
    const auto asked = attribute.type();
    RETRO_CHECK(attributeItem(attribute));
    if (asked == AttributeProto::FLOAT && attribute.type() == AttributeProto::INT) {
        attribute.set_f(static_cast<float>(attribute.i()));
        attribute.clear_i();
        attribute.set_type(asked);
    }
    if (asked != AttributeProto::UNDEFINED && attribute.type() != asked) {
        return m_lexer.error("the value of the attribute '" + attribute.name() + "' is not of the type that it states");
    }
    return {};
}

Result<void> OnnxTextReader::attributeList(AttributeProto& attribute)
{
    RETRO_CHECK(m_lexer.expect("["));
    while (!m_lexer.isMark("]")) {
        AttributeProto item;
        RETRO_CHECK(attributeItem(item));
        if (item.type() == AttributeProto::GRAPH) {
            return m_lexer.error("lists of graphs are not supported");
        }
        if (attribute.type() == AttributeProto::UNDEFINED) {
            attribute.set_type(listOf(item.type()));
        }
        if (!moveToList(item, attribute)) {
            return m_lexer.error("the items of the list '" + attribute.name() +
                                 "' are not of one type, or not of the "
                                 "type that it states");
        }
        if (!m_lexer.accept(",")) {
            break;
        }
    }
    if (attribute.type() == AttributeProto::UNDEFINED) {
        return m_lexer.error("an empty list must state its type ('" + attribute.name() + ": ints = []')");
    }
    return m_lexer.expect("]");
}

Result<void> OnnxTextReader::attributeItem(AttributeProto& attribute)
{
    switch (m_lexer.kind()) {
    case OnnxToken::Whole: {
        RETRO_TRY(const std::int64_t value, whole());
        attribute.set_i(value);
        attribute.set_type(AttributeProto::INT);
        return {};
    }
    case OnnxToken::Float: {
        RETRO_TRY(const double value, number());
        attribute.set_f(static_cast<float>(value));
        attribute.set_type(AttributeProto::FLOAT);
        return {};
    }
    case OnnxToken::Text: {
        RETRO_TRY(*attribute.mutable_s(), text());
        attribute.set_type(AttributeProto::STRING);
        return {};
    }
    case OnnxToken::Name:
        return namedItem(attribute);
    default:
        return m_lexer.error("the value of an attribute is expected here");
    }
}

/// A tensor or type, which begin with an element type; inf or nan; or a graph.
Result<void> OnnxTextReader::namedItem(AttributeProto& attribute)
{
    const bool isType = attribute.type() == AttributeProto::TYPE_PROTO || m_lexer.isName("seq") ||
                        m_lexer.isName("optional") || m_lexer.isName("map") || m_lexer.isName("sparse_tensor");
    if (isType) {
        attribute.set_type(AttributeProto::TYPE_PROTO);
        return type(*attribute.mutable_tp());
    }
    if (isTypeNext()) {
        attribute.set_type(AttributeProto::TENSOR);
        return tensor(*attribute.mutable_t());
    }
    if (m_lexer.isName("inf") || m_lexer.isName("nan") || m_lexer.isName("infinity")) {
        RETRO_TRY(const double value, number());
        attribute.set_f(static_cast<float>(value));
        attribute.set_type(AttributeProto::FLOAT);
        return {};
    }
    attribute.set_type(AttributeProto::GRAPH);
    return graph(*attribute.mutable_g());
}

} // namespace retro::formats
