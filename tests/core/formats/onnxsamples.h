// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/onnx.h"
#include "core/formats/onnxschema.pb.h"

#include <QString>

#include <string>
#include <vector>

namespace retro::formats::samples
{

inline std::vector<std::byte> bytesOf(const google::protobuf::MessageLite& message)
{
    const std::string text = message.SerializeAsString();
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    return {bytes.begin(), bytes.end()};
}

inline std::vector<std::byte> bytesOf(const std::string& text)
{
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    return {bytes.begin(), bytes.end()};
}

inline void addValueInfo(onnxschema::ValueInfoProto& info, const std::string& name)
{
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnxschema::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("N");
    type.mutable_shape()->add_dim()->set_dim_value(3);
}

inline onnxschema::NodeProto& addNode(onnxschema::ModelProto& model, const std::string& op, const std::string& name,
                                      const std::vector<std::string>& inputs, const std::vector<std::string>& outputs)
{
    onnxschema::NodeProto& node = *model.mutable_graph()->add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) {
        node.add_input(input);
    }
    for (const std::string& output : outputs) {
        node.add_output(output);
    }
    return node;
}

/// x[N,3] → Add w[3] → Relu → y.
inline onnxschema::ModelProto smallModel()
{
    onnxschema::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    onnxschema::GraphProto& graph = *model.mutable_graph();
    graph.set_name("small");
    addValueInfo(*graph.add_input(), "x");
    addValueInfo(*graph.add_output(), "y");
    onnxschema::TensorProto& w = *graph.add_initializer();
    w.set_name("w");
    w.set_data_type(onnxschema::TensorProto::FLOAT);
    w.add_dims(3);
    for (const float v : {1.0F, 2.0F, 3.0F}) {
        w.add_float_data(v);
    }
    addNode(model, "Add", "/block/fc/Add", {"x", "w"}, {"h"});
    addNode(model, "Relu", "relu", {"h"}, {"y"});
    return model;
}

/// The error's text, or nothing when the model is read.
inline QString problemOf(const std::vector<std::byte>& data, const std::filesystem::path& folder = {})
{
    const auto graph = parseOnnx(data, "m.onnx", folder);
    return graph.ok() ? QString() : QString::fromStdString(graph.error().text());
}

inline QString problemOf(const onnxschema::ModelProto& model, const std::filesystem::path& folder = {})
{
    return problemOf(bytesOf(model), folder);
}

} // namespace retro::formats::samples
