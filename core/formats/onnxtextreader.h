// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtextlexer.h"

#include <string>
#include <string_view>

namespace retro::formats
{

/// Deepest nesting of graphs and types that is read.
inline constexpr int kMaxOnnxTextNesting = 33;

/// Reads the ONNX text form (`onnx.parser`, files called .onnxtxt) into a message, by recursive descent. Used once.
class OnnxTextReader
{
public:
    explicit OnnxTextReader(std::string_view text) : m_lexer(text) {}

    /// The whole text. Errors (Input) name line and column, and what is expected there.
    [[nodiscard]] base::Result<void> model(onnxschema::ModelProto& model);

private:
    // Models, graphs, nodes (onnxtextparser.cpp).
    base::Result<void> modelField(onnxschema::ModelProto& model);
    base::Result<void> opsets(google::protobuf::RepeatedPtrField<onnxschema::OperatorSetIdProto>& opsets);
    base::Result<void> function(onnxschema::FunctionProto& function);
    base::Result<void> functionField(onnxschema::FunctionProto& function);
    base::Result<void> functionAttributes(onnxschema::FunctionProto& function);
    base::Result<void> graph(onnxschema::GraphProto& graph);
    base::Result<void> inputs(onnxschema::GraphProto& graph);
    base::Result<void> outputs(onnxschema::GraphProto& graph);
    base::Result<void> inner(onnxschema::GraphProto& graph);
    base::Result<void> nodes(google::protobuf::RepeatedPtrField<onnxschema::NodeProto>& nodes);
    base::Result<void> node(onnxschema::NodeProto& node);
    base::Result<void> operatorName(onnxschema::NodeProto& node);
    base::Result<void> attributes(onnxschema::NodeProto& node);
    base::Result<void> attribute(onnxschema::AttributeProto& attribute);
    base::Result<void> attributeType(onnxschema::AttributeProto& attribute);
    base::Result<void> attributeValue(onnxschema::AttributeProto& attribute);
    base::Result<void> attributeList(onnxschema::AttributeProto& attribute);
    base::Result<void> attributeItem(onnxschema::AttributeProto& attribute);
    base::Result<void> namedItem(onnxschema::AttributeProto& attribute);
    template <class Add>
    base::Result<void> names(std::string_view end, const Add& add);

    // Types and tensors (onnxtexttypes.cpp).
    base::Result<void> valueInfo(onnxschema::ValueInfoProto& info);
    base::Result<void> type(onnxschema::TypeProto& type);
    base::Result<void> tensorType(onnxschema::TypeProto::Tensor& type);
    base::Result<void> sparseType(onnxschema::TypeProto::SparseTensor& type);
    base::Result<void> mapType(onnxschema::TypeProto::Map& type);
    base::Result<void> elementType(int& number);
    base::Result<void> dimensions(onnxschema::TensorShapeProto& shape);
    base::Result<void> dimension(onnxschema::TensorShapeProto::Dimension& dimension);
    base::Result<void> tensor(onnxschema::TensorProto& tensor);
    base::Result<void> tensorOf(const onnxschema::TypeProto& type, onnxschema::TensorProto& tensor);
    base::Result<void> tensorData(onnxschema::TensorProto& tensor);
    base::Result<void> element(onnxschema::TensorProto& tensor);
    base::Result<void> entries(google::protobuf::RepeatedPtrField<onnxschema::StringStringEntryProto>& entries);
    [[nodiscard]] bool isTypeNext() const;

    // Tokens.
    base::Result<std::string> name();
    base::Result<std::string> text();
    base::Result<std::int64_t> whole();
    base::Result<double> number();
    base::Result<void> deeper();

    OnnxTextLexer m_lexer;
    int m_depth = 0;
};

} // namespace retro::formats
